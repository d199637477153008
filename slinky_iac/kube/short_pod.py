"""Pods that live for seconds: made to look at the cluster's network from inside, read once, deleted whatever happened.

What a pod has to say it writes to its termination message, which is part of its status: no right to read logs is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slinky_iac.errors import KubeNotFound
from slinky_iac.kube.client import KubeClient, label_of
from slinky_iac.kube.objects import PodSpec, PodStatus, Wire

ENDED = frozenset({"Succeeded", "Failed"})


class ShortMeta(Wire, frozen=True):
    """Which pod it is."""

    name: str


class ShortPod(Wire, frozen=True):
    """One look at a short-lived pod."""

    metadata: ShortMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus(phase="")

    @property
    def ended(self) -> bool:
        """It won't write any more."""
        return self.status.phase in ENDED

    @property
    def message(self) -> str:
        """What it wrote before it ended."""
        ended = (each.state.terminated for each in self.status.container_statuses)
        return "\n".join(each.message for each in ended if each is not None)

    @property
    def trouble(self) -> str:
        """Why it doesn't run or ended in error, in Kubernetes' words; empty where nothing was said."""
        status, states = self.status, [each.state for each in self.status.container_statuses]
        words = [f"{status.reason} {status.message}".strip()] if status.phase != "Succeeded" else []
        waiting = (each.waiting for each in states if each.waiting is not None)
        words += [
            f"{each.reason} {each.message}".strip() for each in waiting if each.reason not in ("", "ContainerCreating")
        ]
        ended = (each.terminated for each in states if each.terminated is not None)
        words += [f"{each.reason or 'ended'} with exit code {each.exit_code}" for each in ended if each.exit_code]
        words += [each.message for each in status.conditions if each.type == "PodScheduled" and each.status == "False"]
        return "; ".join(word[:300] for word in words if word)


class ShortPodList(Wire, frozen=True):
    """Short-lived pods."""

    items: tuple[ShortPod, ...]


class ShortPodClient(KubeClient):
    """Makes, reads and deletes pods. Needs the rights ``create``, ``get``, ``list`` and ``delete`` on pods."""

    def namespace_exists(self, namespace: str) -> bool:
        """Whether the namespace is there. :raises KubeForbidden: this user may not look."""
        try:
            self._answer("GET", f"/api/v1/namespaces/{label_of(namespace)}", f"namespace {namespace}")
        except KubeNotFound:
            return False
        return True

    def make_pod(self, namespace: str, body: Mapping[str, Any]) -> None:
        """Make a pod. :raises KubeUnreachable: no answer: it may be there or not, so delete it in any case."""
        what = f"pod {namespace}/{body['metadata']['name']}"
        self._answer("POST", _pods(namespace), what, json=dict(body))

    def short_pod(self, namespace: str, name: str) -> ShortPod:
        """How far a pod is. :raises KubeNotFound: it isn't there (any more)."""
        return self.asked(f"{_pods(namespace)}/{label_of(name)}", ShortPod, f"pod {namespace}/{name}")

    def short_pods(self, namespace: str, label: str) -> tuple[ShortPod, ...]:
        """All pods with a label (``name=value``)."""
        what = f"pods of {namespace} with label {label}"
        return self.asked(_pods(namespace), ShortPodList, what, {"labelSelector": label}).items

    def delete_pod(self, namespace: str, name: str) -> None:
        """Delete a pod without a grace period; one that is gone already is as good."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        try:
            self._answer("DELETE", f"{_pods(namespace)}/{label_of(name)}", f"pod {namespace}/{name}", json=body)
        except KubeNotFound:
            return


def _pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{label_of(namespace)}/pods"
