"""The shell around the short-lived pods: make, await, read, and delete whatever happens, Ctrl-C and SIGTERM included."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from slinky_iac.blueprint.places import Place
from slinky_iac.commands.preflight.pod import LIFE_S, Placement, placements, pod_body, report_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeError, KubeForbidden
from slinky_iac.kube.pods import ShortPod, ShortPodClient
from slinky_iac.kube.wire import Clock
from slinky_iac.preflight.facts import PodFacts, PodReport
from slinky_iac.preflight.short_pods import LOOK_EVERY_S, delete, has_no_hope, look, swept


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
        namespace = swept(kube, config, namespace)
        wanted = placements(config)
        with _pods(kube, namespace, config, wanted, tried) as made:
            began = clock.wall()
            reports, troubles = _await(kube, namespace, made, tried, clock=clock, began=began, wait_s=wait_s)
    except KubeForbidden as error:
        return PodFacts(trouble=f"no pod could be made: {error}")
    except KubeError as error:
        return PodFacts(trouble=f"no pod could look: {error}")
    return PodFacts(reports=tuple(reports), trouble="; ".join(troubles))


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
        delete(kube, namespace, made)


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
            pod = look(kube, namespace, name)
            place = left[name]
            if pod.ended and pod.message:
                after = clock.wall()
                said = report_of(pod.message, place, tried, pod=name, node=pod.spec.node_name, before=began, after=after)
                reports.append(said)
            elif pod.ended or has_no_hope(pod):
                troubles.append(_why(place, pod))
            elif clock.monotonic() >= deadline:
                troubles.append(f"{_why(place, pod)} (after {wait_s:.0f} s)")
            else:
                continue
            del left[name]
        if left:
            clock.sleep(LOOK_EVERY_S)
    return reports, troubles


def _why(place: Placement, pod: ShortPod) -> str:
    whose = f"as for NodeSet {place.nodeset}" if place.nodeset else "as for slurmrestd"
    return f"a pod {whose} ({place.image}) could not look: {pod.trouble or pod.status.phase or 'no word from Kubernetes'}"
