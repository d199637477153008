"""Where new pods of a NodeSet on the host network may come: there a pod's slurmd registers as its Kubernetes node."""

from __future__ import annotations

from dataclasses import replace

from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.settings import GateSettings
from slinky_iac.errors import KubeForbidden
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.machines import names_for_new_pods


def with_free_machines(seen: Observation, kube: KubeClient, settings: GateSettings) -> Observation:
    """The look with the Kubernetes nodes on which new pods may come, where these get their names from them. Nodes are listed
    only where there are new pods."""
    state = seen.nodeset
    staying = sum(1 for pod in seen.pods if not pod.terminating)
    if state is None or not state.on_host_network or (settings.target <= staying and not seen.outdated):
        return seen
    try:
        return replace(seen, free_machines=names_for_new_pods(kube, settings.reach.namespace, state))
    except KubeForbidden:
        return seen
