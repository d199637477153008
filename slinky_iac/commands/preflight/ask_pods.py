"""The shell around the short-lived pods: make, await, read, and delete whatever happens, Ctrl-C and SIGTERM included."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from slinky_iac.blueprint.places import Place
from slinky_iac.commands.preflight.pod import LIFE_S, SELECTOR, Placement, placements, pod_body, report_of
from slinky_iac.commands.preflight.trial import LIFE_S as TRIAL_S
from slinky_iac.commands.preflight.trial import Trial, trial_of, trial_pod, trials
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeError, KubeForbidden, KubeNotFound
from slinky_iac.kube.objects import PodStatus
from slinky_iac.kube.pods import ShortMeta, ShortPod, ShortPodClient
from slinky_iac.kube.wire import Clock
from slinky_iac.preflight.facts import DaemonTrial, PodFacts, PodReport, TrialFacts

LOOK_EVERY_S: Final = 0.5
HOPELESS: Final = ("ErrImageNeverPull", "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "CreateContainerError")
"""What Kubernetes says of a pod that no waiting helps."""
ELSEWHERE: Final = "default"
"""Namespace of the pods while the cluster's own isn't there yet: every Kubernetes cluster has it."""


def ask_pods(
    kube: ShortPodClient,
    config: StackConfig,
    tried: Sequence[Place],
    *,
    clock: Clock,
    wait_s: float = LIFE_S,
    namespace: str | None = None,
) -> PodFacts:
    """What pods on the NodeSets' Kubernetes nodes see of ``tried``. What Kubernetes refuses is in the facts, not raised.

    Every pod made here is gone afterwards. Where Kubernetes can't be asked to delete it, it ends within seconds, and the
    next run removes it. ``namespace``: where they are made; None: in the cluster's own.
    """
    try:
        if namespace is None:
            namespace = config.cluster.namespace if kube.namespace_exists(config.cluster.namespace) else ELSEWHERE
        _sweep(kube, namespace)
        wanted = placements(config)
        with _pods(kube, namespace, config, wanted, tried) as made:
            began = clock.wall()
            reports, troubles = _await(kube, namespace, made, tried, clock=clock, began=began, wait_s=wait_s)
    except KubeForbidden as error:
        return PodFacts(trouble=f"no pod could be made: {error}")
    except KubeError as error:
        return PodFacts(trouble=f"no pod could look: {error}")
    return PodFacts(reports=tuple(reports), trouble="; ".join(troubles))


def ask_trials(
    kube: ShortPodClient, config: StackConfig, *, clock: Clock, wait_s: float = TRIAL_S, namespace: str | None = None
) -> TrialFacts:
    """What daemons of the stack's images say of its files, each in a pod of its own; likewise gone afterwards."""
    made: dict[str, Trial] = {}
    found: list[DaemonTrial] = []
    trouble = ""
    try:
        if namespace is None:
            namespace = config.cluster.namespace if kube.namespace_exists(config.cluster.namespace) else ELSEWHERE
        _sweep(kube, namespace)
        try:
            for each in trials(config):
                name = f"slinky-trial-{secrets.token_hex(4)}"
                made[name] = each
                kube.make_pod(namespace, trial_pod(config, each, name))
            deadline = clock.monotonic() + wait_s
            for name, each in made.items():
                pod = _read_pod(kube, namespace, name)
                while not (pod.ended or any(word in pod.trouble for word in HOPELESS) or clock.monotonic() >= deadline):
                    clock.sleep(LOOK_EVERY_S)
                    pod = _read_pod(kube, namespace, name)
                said = trial_of(pod.message, each.daemon)
                why = (pod.trouble or "the pod wrote nothing",) if not pod.message else said.said
                found.append(replace(said, said=why))
        finally:
            _delete(kube, namespace, list(made))
    except (KubeError, ValueError) as error:
        trouble = str(error)
    return TrialFacts(tuple(found), trouble)


@contextmanager
def _pods(
    kube: ShortPodClient, namespace: str, config: StackConfig, wanted: Sequence[Placement], tried: Sequence[Place]
) -> Iterator[dict[str, Placement]]:
    """The pods, made; deleted at the end. A name is noted before its pod is asked for: an answer may be lost."""
    made: dict[str, Placement] = {}
    try:
        for place in wanted:
            name = f"slinky-preflight-{secrets.token_hex(4)}"
            made[name] = place
            kube.make_pod(namespace, pod_body(config, place, name, tried))
        yield made
    finally:
        _delete(kube, namespace, list(made))


def _delete(kube: ShortPodClient, namespace: str, pods: list[str]) -> None:
    """Delete all, also when somebody presses Ctrl-C once more meanwhile; what can't be deleted ends within seconds."""
    interrupted: BaseException | None = None
    for pod in pods:
        try:
            kube.delete_pod(namespace, pod)
        except KubeError:
            continue
        except BaseException as error:
            interrupted = error
            kube.delete_pod(namespace, pod)
    if interrupted is not None:
        raise interrupted


def _sweep(kube: ShortPodClient, namespace: str) -> None:
    """Remove pods that a killed run left: they have ended. One that still runs is another run's."""
    for pod in kube.short_pods(namespace, SELECTOR):
        if pod.ended:
            kube.delete_pod(namespace, pod.metadata.name)


def _await(
    kube: ShortPodClient,
    namespace: str,
    made: dict[str, Placement],
    tried: Sequence[Place],
    *,
    clock: Clock,
    began: float,
    wait_s: float,
) -> tuple[list[PodReport], list[str]]:
    """What each pod said, and why others said nothing."""
    reports: list[PodReport] = []
    troubles: list[str] = []
    left = dict(made)
    deadline = clock.monotonic() + wait_s
    while left:
        for name in list(left):
            pod = _read_pod(kube, namespace, name)
            place = left[name]
            if pod.ended and pod.message:
                after = clock.wall()
                said = report_of(pod.message, place, tried, pod=name, node=pod.spec.node_name, before=began, after=after)
                reports.append(said)
            elif pod.ended or any(word in pod.trouble for word in HOPELESS):
                troubles.append(_why(place, pod))
            elif clock.monotonic() >= deadline:
                troubles.append(f"{_why(place, pod)} (after {wait_s:.0f} s)")
            else:
                continue
            del left[name]
        if left:
            clock.sleep(LOOK_EVERY_S)
    return reports, troubles


def _read_pod(kube: ShortPodClient, namespace: str, name: str) -> ShortPod:
    try:
        return kube.short_pod(namespace, name)
    except KubeNotFound:
        return ShortPod(ShortMeta(name), status=PodStatus(phase="Failed", message="somebody deleted it"))


def _why(place: Placement, pod: ShortPod) -> str:
    whose = f"as for NodeSet {place.nodeset}" if place.nodeset else "as for slurmrestd"
    return f"a pod {whose} ({place.image}) could not look: {pod.trouble or pod.status.phase or 'no word from Kubernetes'}"
