"""Pods that live for seconds: made to look at the cluster's network from inside, read once, deleted whatever happened.

What a pod has to say it writes to its termination message, which is part of its status: no right to read logs is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from slinky_iac.errors import KubeNotFound
from slinky_iac.kube import raw
from slinky_iac.kube.client import KubeClient, label_of

ENDED = frozenset({"Succeeded", "Failed"})


class _Loose(BaseModel):
    model_config = ConfigDict(
        extra="ignore", hide_input_in_errors=True, strict=True, populate_by_name=True, defer_build=True
    )


class _Ended(_Loose):
    message: str = ""
    reason: str = ""
    exit_code: int = Field(0, alias="exitCode")


class _Waiting(_Loose):
    message: str = ""
    reason: str = ""


class _State(_Loose):
    terminated: _Ended | None = None
    waiting: _Waiting | None = None


class _Container(_Loose):
    state: _State = _State()


class _Condition(_Loose):
    type: str
    status: str
    message: str = ""


class _Status(_Loose):
    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: list[_Condition] = []
    containers: list[_Container] = Field([], alias="containerStatuses")


class _Spec(_Loose):
    node: str = Field("", alias="nodeName")


class _Meta(_Loose):
    name: str


class _Body(_Loose):
    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _List(_Loose):
    items: list[_Body]


@dataclass(frozen=True)
class ShortPod:
    """One look at a short-lived pod."""

    name: str
    node: str
    """Kubernetes node; empty while unscheduled."""
    phase: str
    message: str
    """What it wrote before it ended."""
    trouble: str
    """Why it doesn't run or ended in error, in Kubernetes' words; empty where nothing was said."""

    @property
    def ended(self) -> bool:
        """It won't write any more."""
        return self.phase in ENDED


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
        what = f"pod {namespace}/{name}"
        answer = self._answer("GET", f"{_pods(namespace)}/{label_of(name)}", what)
        return _short(raw.read(answer.content, _Body, what))

    def short_pods(self, namespace: str, label: str) -> tuple[ShortPod, ...]:
        """All pods with a label (``name=value``)."""
        what = f"pods of {namespace} with label {label}"
        answer = self._answer("GET", _pods(namespace), what, params={"labelSelector": label})
        return tuple(_short(each) for each in raw.read(answer.content, _List, what).items)

    def delete_pod(self, namespace: str, name: str) -> None:
        """Delete a pod without a grace period; one that is gone already is as good."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        try:
            self._answer("DELETE", f"{_pods(namespace)}/{label_of(name)}", f"pod {namespace}/{name}", json=body)
        except KubeNotFound:
            return


def _pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{label_of(namespace)}/pods"


def _short(body: _Body) -> ShortPod:
    status = body.status
    ended = [each.state.terminated for each in status.containers if each.state.terminated is not None]
    waiting = [each.state.waiting for each in status.containers if each.state.waiting is not None]
    words = [f"{status.reason} {status.message}".strip()] if status.phase != "Succeeded" else []
    words += [f"{each.reason} {each.message}".strip() for each in waiting if each.reason not in ("", "ContainerCreating")]
    words += [f"{each.reason or 'ended'} with exit code {each.exit_code}" for each in ended if each.exit_code]
    words += [each.message for each in status.conditions if each.type == "PodScheduled" and each.status == "False"]
    return ShortPod(
        name=body.metadata.name,
        node=body.spec.node,
        phase=status.phase,
        message="\n".join(each.message for each in ended),
        trouble="; ".join(word[:300] for word in words if word),
    )
