"""Kubernetes nodes without a machine, for kwok's fake kubelets, and what a measurement asks the API server itself.

kwok keeps the nodes that have its annotation (https://kwok.sigs.k8s.io/docs/user/kwok-manage-nodes-and-pods/). Needs the
rights ``create``, ``list`` and ``delete`` on nodes, and ``patch`` on the status of pods.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from slinky_iac.errors import KubeError, KubeNotFound
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.objects import Condition, Listed, ObjectMeta, Pod, Wire
from slinky_iac.kube.requests import label_of, place
from slinky_iac.text import stamp

NODES: Final = "/api/v1/nodes"
ANNOTATION: Final = "kwok.x-k8s.io/node"
FAKE: Final = "fake"
"""Value of :data:`ANNOTATION`, and of the taint of the same name that keeps other pods away."""
SELECTOR: Final = f"{ANNOTATION}={FAKE}"
"""Nodes that kwok keeps."""
_KEPT: Final = ("Initialized", "Ready", "ContainersReady")
_NUMBER: Final = rb"([0-9]+(?:\.[0-9]+)?(?:e\+?[0-9]+)?)"
_SERVED: Final = re.compile(rb"^apiserver_request_total\{[^}]*\} " + _NUMBER + rb"$", re.MULTILINE)
_SINCE: Final = re.compile(rb"^process_start_time_seconds " + _NUMBER + rb"$", re.MULTILINE)


class _Taint(Wire, frozen=True):
    key: str
    effect: str = ""


class _Spec(Wire, frozen=True):
    unschedulable: bool = False
    taints: tuple[_Taint, ...] = ()


class _Status(Wire, frozen=True):
    conditions: tuple[Condition, ...] = ()


class KubeNode(Wire, frozen=True):
    """A Kubernetes node."""

    metadata: ObjectMeta
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def ready(self) -> bool:
        """Its kubelet, or kwok, says so."""
        return any(condition.type == "Ready" and condition.status == "True" for condition in self.status.conditions)

    @property
    def fake(self) -> bool:
        """No machine is behind it."""
        return ANNOTATION in self.metadata.annotations

    @property
    def takes_pods(self) -> bool:
        """A pod without tolerations can come to it and run."""
        held = any(taint.effect in ("NoSchedule", "NoExecute") for taint in self.spec.taints)
        return self.ready and not self.fake and not held and not self.spec.unschedulable


@dataclass(frozen=True)
class Served:
    """What one API server has served since it began."""

    requests: int
    since: float
    """When it began, in seconds since 1970: of several behind one address each counts its own, and so does a new one."""


def node(name: str, label: str, value: str, annotations: Mapping[str, str]) -> dict[str, object]:
    """A fake node with one label, tainted for who doesn't tolerate kwok's nodes."""
    room = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {label: value, "type": "kwok"},
            "annotations": {**annotations, ANNOTATION: FAKE},
        },
        "spec": {"taints": [{"key": ANNOTATION, "value": FAKE, "effect": "NoSchedule"}]},
        "status": {"allocatable": room, "capacity": room},
    }


class FakeNodesClient(KubeClient):
    """Makes, lists and deletes nodes."""

    def make_node(self, name: str, label: str, value: str, annotations: Mapping[str, str]) -> None:
        """Make a fake node; never repeated. :raises KubeConflict: there is a node of this name."""
        self._answer("POST", NODES, f"Kubernetes node {name}", json=node(name, label, value, annotations))

    def kube_nodes(self, selector: str = "") -> tuple[KubeNode, ...]:
        """All nodes, or those that a selector names."""
        params = {"labelSelector": selector} if selector else None
        return self.listed(NODES, Listed[KubeNode], "the list of Kubernetes nodes", params)

    def delete_node(self, kube_node: KubeNode) -> None:
        """Delete exactly the node that was looked at; one that is gone already is as good."""
        body = {"preconditions": {"uid": kube_node.metadata.uid}}
        try:
            path = f"{NODES}/{label_of(kube_node.metadata.name)}"
            self._answer("DELETE", path, f"Kubernetes node {kube_node.metadata.name}", json=body)
        except KubeNotFound:
            return

    def requests_served(self) -> Served | None:
        """Requests of all its clients that the answering API server has served so far (``apiserver_request_total``); None
        where this user may not read /metrics, or where they don't say it."""
        try:
            answer = self._answer("GET", "/metrics", "the API server's metrics", headers={"accept": "text/plain"})
        except KubeError:
            return None
        return served(answer.content)


def restore_readiness(kube: KubeClient, namespace: str, pod: Pod, now: int) -> None:
    """Put back the conditions of exactly this pod that a kubelet keeps, as of ``now``, seconds since 1970.

    slurm-operator writes a pod's whole list of conditions, as it was in its cache (1.2.1: ``StatusPatchObject``, a merge
    patch): what a kubelet wrote in that moment is lost. A kubelet compares and writes it again; kwok does not.
    :raises KubeConflict: another pod has the name now. :raises KubeNotFound: the pod is gone.
    """
    held = [{"type": kept, "status": "True", "lastTransitionTime": stamp(now)} for kept in _KEPT]
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod.name, "uid": pod.metadata.uid},
        "status": {"conditions": held},
    }
    kube.apply(
        f"{place('Pod', namespace, pod.name)}/status", body, "slinky-qualify", f"status of pod {namespace}/{pod.name}"
    )


def served(metrics: bytes) -> Served | None:
    """The sum of ``apiserver_request_total`` over its labels; None where the text has none, or not when the server began."""
    counts = [float(number) for number in _SERVED.findall(metrics)]
    since = _SINCE.search(metrics)
    if since is None or not counts or not math.isfinite(sum(counts)):
        return None
    return Served(int(sum(counts)), float(since[1]))


def between(before: Served | None, after: Served | None) -> int | None:
    """Requests from one moment to another; None where they weren't counted by the same server."""
    if before is None or after is None or before.since != after.since or after.requests < before.requests:
        return None
    return after.requests - before.requests
