"""The shell around the pods of a trial: make, await, read, and delete whatever happens; and what a run tries first."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Protocol

from slinky_iac import names
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeError, KubeNotFound, SlinkyError
from slinky_iac.kube.pods import ShortPodClient
from slinky_iac.kube.wire import Clock, Retry, Timeouts
from slinky_iac.preflight.facts import DaemonTrial, TrialFacts
from slinky_iac.preflight.short_pods import LOOK_EVERY_S, delete, has_no_hope, look, swept
from slinky_iac.preflight.trial import LIFE_S, trial_of, trial_pod
from slinky_iac.preflight.untried import Outcome, Untried, outcome, unasked, untried
from slinky_iac.specs.trial import Trial, trials

BUDGET_S: Final = 20.0
"""Longest wait for one answer of Kubernetes, tries together."""


class Way(Protocol):
    """The way to the stack's Kubernetes cluster."""

    @property
    def clock(self) -> Clock:
        """The clock of what is asked there."""

    def client(self, kind: type[ShortPodClient], *, budget_s: float, retry: Retry, timeouts: Timeouts) -> ShortPodClient:
        """A client of its API server."""


def try_first(config: StackConfig, way: Way) -> Outcome:
    """Try what is new of the stack's files, before a preview or an update goes on. Makes no pod where nothing is new."""
    new: Untried | None = None
    try:
        kube = way.client(ShortPodClient, budget_s=BUDGET_S, timeouts=Timeouts(connect_s=3), retry=Retry(tries=3))
        new = untried(config, recorded(kube, config))
        if not new:
            return Outcome()
        facts = ask_trials(kube, config, clock=way.clock, namespace=config.slurmctld.trial_namespace)
    except SlinkyError as error:
        return unasked(new, str(error))
    return outcome(config, new, facts)


def recorded(kube: ShortPodClient, config: StackConfig) -> Mapping[str, str]:
    """What the last trial was of; nothing where there was none. Raises :class:`KubeError` where that isn't known."""
    try:
        return kube.config_map_data(config.cluster.namespace, names.trial_record(config.cluster.resource_name))
    except KubeNotFound:
        return {}


def ask_trials(
    kube: ShortPodClient, config: StackConfig, *, clock: Clock, wait_s: float = LIFE_S, namespace: str | None = None
) -> TrialFacts:
    """What daemons of the stack's images say of its files, each in a pod of its own. What Kubernetes refuses is in the
    facts, not raised. Every pod made here is gone afterwards. ``namespace``: where they are made; None: in the cluster's
    own."""
    made: dict[str, Trial] = {}
    daemons: list[DaemonTrial] = []
    trouble = ""
    try:
        namespace = swept(kube, config, namespace)
        try:
            for trial in trials(config):
                name = f"slinky-trial-{secrets.token_hex(4)}"
                made[name] = trial
                kube.make_pod(namespace, trial_pod(config, trial, name))
            deadline = clock.monotonic() + wait_s
            for name, trial in made.items():
                pod = look(kube, namespace, name)
                while not (pod.ended or has_no_hope(pod) or clock.monotonic() >= deadline):
                    clock.sleep(LOOK_EVERY_S)
                    pod = look(kube, namespace, name)
                said = trial_of(pod.message, trial.daemon)
                why = (pod.trouble or "the pod wrote nothing",) if not pod.message else said.said
                daemons.append(replace(said, said=why))
        finally:
            delete(kube, namespace, made)
    except (KubeError, ValueError) as error:
        trouble = str(error)
    return TrialFacts(tuple(daemons), trouble)
