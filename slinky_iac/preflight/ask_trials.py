"""The shell around the pods of a trial: make, await, read, and delete whatever happens."""

from __future__ import annotations

import secrets
from dataclasses import replace

from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeError
from slinky_iac.kube.pods import ShortPodClient
from slinky_iac.kube.wire import Clock
from slinky_iac.preflight.facts import DaemonTrial, TrialFacts
from slinky_iac.preflight.short_pods import LOOK_EVERY_S, delete, has_no_hope, look, swept
from slinky_iac.preflight.trial import LIFE_S, Trial, trial_of, trial_pod, trials


def ask_trials(
    kube: ShortPodClient, config: StackConfig, *, clock: Clock, wait_s: float = LIFE_S, namespace: str | None = None
) -> TrialFacts:
    """What daemons of the stack's images say of its files, each in a pod of its own. What Kubernetes refuses is in the
    facts, not raised. Every pod made here is gone afterwards. ``namespace``: where they are made; None: in the cluster's
    own."""
    made: dict[str, Trial] = {}
    found: list[DaemonTrial] = []
    trouble = ""
    try:
        namespace = swept(kube, config, namespace)
        try:
            for each in trials(config):
                name = f"slinky-trial-{secrets.token_hex(4)}"
                made[name] = each
                kube.make_pod(namespace, trial_pod(config, each, name))
            deadline = clock.monotonic() + wait_s
            for name, each in made.items():
                pod = look(kube, namespace, name)
                while not (pod.ended or has_no_hope(pod) or clock.monotonic() >= deadline):
                    clock.sleep(LOOK_EVERY_S)
                    pod = look(kube, namespace, name)
                said = trial_of(pod.message, each.daemon)
                why = (pod.trouble or "the pod wrote nothing",) if not pod.message else said.said
                found.append(replace(said, said=why))
        finally:
            delete(kube, namespace, made)
    except (KubeError, ValueError) as error:
        trouble = str(error)
    return TrialFacts(tuple(found), trouble)
