"""Rules judge resources of the stack: what it makes of a cluster by other ways, none of them sees."""

from __future__ import annotations

from collections.abc import Iterator

from slurm_rules.cluster import HELM_RELEASE, chart_name
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, rule

CLUSTER_CHART = "slurm"
"""Slinky's chart of a whole cluster (helm/slurm)."""


def _is_patch(resource: Resource) -> bool:
    return resource.is_slinky and resource.kind.endswith("Patch")


@rule("cluster-in-sight", lambda resource: _is_patch(resource) or resource.type == HELM_RELEASE, scope="resource")
def cluster_in_sight(resource: Resource, _: Stack, __: Options) -> Iterator[str]:
    """A Slurm cluster is made of resources of its own in the stack, by no Helm release and no patch.

    Why: rules judge what the stack declares. What a release of the chart slurm makes they don't see, and a patch changes a
    NodeSet that another declares: its replicas go down past every gate, and pods with running jobs are deleted.

    Source: pulumi-kubernetes, helm.sh/v3 Release (its objects are no resources) and CustomResourcePatch (server-side apply
    of some fields); slurm-operator internal/controller/nodeset/nodeset_sync.go (doPodScale).

    Do: declare Controller, Accounting, RestApi, NodeSets and LoginSets each (this program does; a Chart's objects are
    resources, too), and change what is declared instead of patching it.

    Level: mandatory, since running jobs are lost.
    """
    if _is_patch(resource):
        yield f"{resource.label} patches what is declared elsewhere, past gates and rules; change it where it is declared"
    elif chart_name(resource) == CLUSTER_CHART:
        yield f"{resource.label}: a release of the chart {CLUSTER_CHART} holds a cluster that no rule sees into; declare it"
