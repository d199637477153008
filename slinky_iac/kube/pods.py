"""Pods that are no NodeSet's: those of login sets, those that mount a Secret, and short-lived ones.

Client pods are made by hubs, charts and people, and no label of ours is on them. Short-lived pods are made to look at the
cluster's network from inside, read once, deleted whatever happened. What such a pod has to say it writes to its termination
message, which is part of its status: no right to read logs is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import field

from slinky_iac.errors import KubeError, KubeNotFound
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.objects import Listed, Pod, PodSpec, PodStatus, Wire
from slinky_iac.kube.requests import label_of, place


def hosts_of(kube: KubeClient, namespace: str, selector: str) -> frozenset[str]:
    """Host names of all pods of a selector, ending ones included: what Slurm calls the host where a job was asked for."""
    return frozenset(
        pod.spec.host_name(pod.name)
        for pod in kube.pods_by(namespace, selector, f"pods of {namespace} with the labels {selector}")
    )


class _AddressedStatus(PodStatus, frozen=True):
    host_ip: str = field(default="", name="hostIP")
    pod_ip: str = field(default="", name="podIP")


class AddressedPod(Pod, frozen=True, dict=True):
    """A pod with its address, and that of its node."""

    status: _AddressedStatus = _AddressedStatus()


def addresses_of(kube: KubeClient, namespace: str, selector: str) -> frozenset[str]:
    """Addresses of all pods of a selector and of the nodes that they are on: from one of these they connect to a host
    outside, unless a NAT further on changes it."""
    query = {"labelSelector": selector}
    pods = kube.listed(place("Pod", namespace), Listed[AddressedPod], f"pods of {namespace} with {selector}", query)
    return frozenset(address for pod in pods for address in (pod.status.pod_ip, pod.status.host_ip) if address)


class _SecretVolume(Wire, frozen=True):
    secret_name: str = ""


class _Volume(Wire, frozen=True):
    """A volume of a pod; of any kind but a Secret nothing is read."""

    secret: _SecretVolume | None = None


class _MountingSpec(PodSpec, frozen=True):
    volumes: tuple[_Volume, ...] = ()


class MountingPod(Pod, frozen=True, dict=True):
    """A pod with its volumes."""

    spec: _MountingSpec


def pods_with_secret(kube: KubeClient, namespace: str, secret: str) -> tuple[MountingPod, ...]:
    """All pods of a namespace that mount a Secret by a volume, by name."""
    pods = kube.listed(place("Pod", namespace), Listed[MountingPod], f"pods of {namespace}")
    own = (pod for pod in pods if any(volume.secret and volume.secret.secret_name == secret for volume in pod.spec.volumes))
    return tuple(sorted(own, key=lambda pod: pod.name))


JUDGED: Final = frozenset({400, 403, 422})
"""Statuses of an answer about the pod itself: it can't be read, an admission plugin or a webhook refuses it, it is wrong."""
UNJUDGED: Final = ("pods is forbidden: User ",)
"""How the answer begins where the user may make no pod: no plugin looked at this one."""
NO_DRY_RUN: Final = "does not support dry run"
"""What the API server says where a webhook can't be asked without effect."""
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
        ended = (container.state.terminated for container in self.status.container_statuses)
        return "\n".join(state.message for state in ended if state is not None)

    @property
    def trouble(self) -> str:
        """Why it doesn't run or ended in error, in Kubernetes' words; empty where nothing was said."""
        status, states = self.status, [container.state for container in self.status.container_statuses]
        words = [f"{status.reason} {status.message}".strip()] if status.phase != "Succeeded" else []
        waiting = (state.waiting for state in states if state.waiting is not None)
        words += [
            f"{state.reason} {state.message}".strip() for state in waiting if state.reason not in ("", "ContainerCreating")
        ]
        ended = (state.terminated for state in states if state.terminated is not None)
        words += [f"{state.reason or 'ended'} with exit code {state.exit_code}" for state in ended if state.exit_code]
        words += [
            condition.message
            for condition in status.conditions
            if condition.type == "PodScheduled" and condition.status == "False"
        ]
        return "; ".join(word[:300] for word in words if word)


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
        self._answer("POST", place("Pod", namespace), what, json=dict(body))

    def refusal(self, namespace: str, body: Mapping[str, Any]) -> str:
        """Kubernetes' own words against a pod; empty where it would make it. It makes none: ``dryRun=All`` stops behind
        validation, quotas, Pod Security and admission webhooks. :raises KubeError: nothing was judged."""
        what = f"dry run of pod {namespace}/{body['metadata']['name']}"
        try:
            self._answer("POST", place("Pod", namespace), what, params={"dryRun": "All"}, json=dict(body))
        except KubeError as error:
            if (
                error.status in JUDGED
                and error.said
                and not error.said.startswith(UNJUDGED)
                and NO_DRY_RUN not in error.said
            ):
                return error.said
            raise
        return ""

    def short_pod(self, namespace: str, name: str) -> ShortPod:
        """How far a pod is. :raises KubeNotFound: it isn't there (any more)."""
        return self.asked(place("Pod", namespace, name), ShortPod, f"pod {namespace}/{name}")

    def short_pods(self, namespace: str, label: str) -> tuple[ShortPod, ...]:
        """All pods with a label (``name=value``)."""
        what = f"pods of {namespace} with label {label}"
        return self.listed(place("Pod", namespace), Listed[ShortPod], what, {"labelSelector": label})

    def delete_pod(self, namespace: str, name: str) -> None:
        """Delete a pod without a grace period; one that is gone already is as good."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        try:
            self._answer("DELETE", place("Pod", namespace, name), f"pod {namespace}/{name}", json=body)
        except KubeNotFound:
            return
