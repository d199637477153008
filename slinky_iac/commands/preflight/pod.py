"""The short-lived pod that looks at the outside from where slurmd pods run: what it is, does and says. Pure.

It runs the NodeSet's own image, which the Kubernetes nodes have or need anyway, on nodes that the NodeSet may use. It has no
rights, no token, no key and no volume, ends within seconds, and leaves its words in its termination message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from slinky_iac import names
from slinky_iac.blueprint.places import Place, service_places
from slinky_iac.config.sections import PodSettings
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.registry import asks_slurmctld
from slinky_iac.preflight.facts import Clock, PodReport, Tried
from slinky_iac.specs.endpoints import metrics_url
from slinky_iac.specs.shared import image_of, labels, placement, requests

CONNECT_S: Final = 5
"""Longest wait for one connection, name resolution included; all are tried at once."""
LIFE_S: Final = 120
"""After so many seconds Kubernetes ends the pod whatever became of us: an image may have to be pulled first."""
MOST_PODS: Final = 4
"""Distinct placements that are looked at; more than four kinds of Kubernetes nodes tell little more."""

SCRIPT: Final = Path(__file__).with_name("pod.sh").read_text()
"""Hosts and ports come as arguments, never as text of the script."""
_TRY: Final = re.compile(r"try (\S+) (\d+) (\d{1,5}) (\S+) ?(.*)")
LONGEST_NUMBER: Final = 12
"""Digits of a time in seconds, or of a uid; Python reads no number of thousands."""
_METRICS: Final = re.compile(r"(\d{1,3}) (\d{1,6})")
_RELEASE: Final = re.compile(r"slurm(?:-wlm)? (\d+\.\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class Placement:
    """Where one pod is to run, and as what."""

    nodeset: str
    image: str
    settings: PodSettings


def placements(config: StackConfig) -> tuple[Placement, ...]:
    """One for each distinct place that NodeSets run in; slurmrestd's where there is no NodeSet, and munged's image anywhere
    where there is neither."""
    by_place: dict[str, Placement] = {}
    for name, nodeset in config.nodesets.items():
        pod = nodeset.pod
        image = nodeset.image or image_of(config, "slurmd")
        where = repr((image, sorted(pod.node_selector.items()), pod.tolerations, pod.affinity, pod.host_network))
        by_place.setdefault(where, Placement(name, image, pod))
    if not by_place and config.auth.client_image:
        return (Placement("", config.auth.client_image, PodSettings()),)
    if not by_place:
        image = image_of(config, "slurmrestd")
        by_place[""] = Placement("", image, config.restapi.pod)
    return tuple(by_place.values())[:MOST_PODS]


def inside_places(config: StackConfig, external: Iterable[Place], *, made: bool) -> tuple[Place, ...]:
    """What a pod has to reach: outside daemons and, where the stack is up (``made``), the Services that lead to daemons."""
    targets = [*external, *(service_places(config) if made else ())]
    return tuple({(target.host, target.port): target for target in reversed(targets)}.values())[::-1]


def pod_body(config: StackConfig, place: Placement, name: str, tried: Sequence[Place]) -> dict[str, Any]:
    """The pod as the API server takes it; it fits the strictest Pod Security Standard, but for host network."""
    arguments = [part for target in tried for part in (target.host, str(target.port))]
    container = {
        "name": "look",
        "image": place.image,
        "imagePullPolicy": config.cluster.images.pull_policy,
        "command": ["bash", "-c", SCRIPT, "look", *arguments],
        "env": [{"name": "LIMIT", "value": str(CONNECT_S)}, *_metrics(config)],
        "resources": requests("10m", "32Mi", "256Mi"),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "runAsNonRoot": True,
            "runAsUser": 65534,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    spec: dict[str, Any] = {
        "containers": [container],
        "restartPolicy": "Never",
        "activeDeadlineSeconds": LIFE_S,
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
    } | placement(place.settings)
    if config.cluster.images.pull_secrets:
        spec["imagePullSecrets"] = [{"name": secret} for secret in config.cluster.images.pull_secrets]
    own = {"app.kubernetes.io/managed-by": labels(config)["app.kubernetes.io/managed-by"], names.LABEL_SHORT_POD: "look"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": own}, "spec": spec}


def _metrics(config: StackConfig) -> list[dict[str, str]]:
    """Host, port and path of slurmctld's metrics, where an autoscaler asks for them."""
    if not asks_slurmctld(config):
        return []
    parts = urlsplit(metrics_url(config))
    return [{"name": "METRICS", "value": f"{parts.hostname} {parts.port} {parts.path}"}]


def report_of(
    message: str, place: Placement, tried: Sequence[Place], *, pod: str, node: str, before: float, after: float
) -> PodReport:
    """What a pod wrote, read. ``before`` and ``after``: our clock when it was made and when it was seen to have ended.

    A place that it wrote nothing about is unknown, and says so.
    """
    said: dict[tuple[str, int], Tried] = {}
    clock, uid, release, metrics = None, None, "", None
    for line in message.splitlines():
        word, _, rest = line.partition(" ")
        few = len(rest) <= LONGEST_NUMBER
        if word == "date" and rest.isdecimal() and few:
            clock = Clock(f"pod on {node}", int(rest), before, after)
        elif word == "uid" and rest.isdecimal() and few:
            uid = int(rest)
        elif word == "slurmd" and (version := _RELEASE.search(rest)):
            release = version[1]
        elif word == "metrics" and (counted := _METRICS.fullmatch(rest)):
            metrics = int(counted[1]), int(counted[2])
        elif match := _TRY.fullmatch(line):
            host, port, code, address, words = match.groups()
            for target in tried:
                if (target.host, str(target.port)) == (host, port):
                    seen = "" if address == "-" else address
                    said[host, target.port] = Tried(target, _trouble(int(code), seen, words), seen)
    silent = "the pod ended and did not report it"
    return PodReport(
        pod=pod,
        node=node,
        image=place.image,
        tried=tuple(said.get((target.host, target.port), Tried(target, silent)) for target in tried),
        clock=clock,
        slurm_uid=uid,
        slurmd=release,
        metrics=metrics,
    )


def _trouble(code: int, address: str, words: str) -> str:
    """What stood in the way, in the words of :mod:`slinky_iac.preflight.connectivity`; empty where a connection was made."""
    if code == 0:
        return ""
    if not address:
        return "the name is not known there"
    if code == 124:
        return f"no answer in {CONNECT_S} s"
    return words.strip().lower()[:100] or f"the connection ended with code {code}"
