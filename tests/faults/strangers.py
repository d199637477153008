"""Pods that belong to no part of a cluster, where NetworkPolicies are enforced: kube-router's firewall on every node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lab import enforcer
from lab.kubernetes import layout
from lab.kubernetes.cluster import LAB as KUBERNETES
from slinky_iac.names import LABEL_NAME
from tests.e2e.test_two_stacks import IMAGE
from tests.e2e.world import World

ELSEWHERE = "somebody-else"
API_SERVER = [{"cidr": str(layout.GATEWAY)}]
PORTS = {"slurmctld": 6817, "slurmdbd": 6819, "slurmrestd": 6820, "slurmd": 6818}


@pytest.fixture(scope="module", autouse=True)
def network(ground: None) -> Iterator[None]:
    with enforcer.enforced(KUBERNETES):
        yield


class Stranger:
    """A pod without labels of ours."""

    def __init__(self, world: World, namespace: str) -> None:
        self.world, self.namespace, self.name = world, namespace, "stranger"

    def up(self) -> None:
        container = {"name": "sh", "image": IMAGE, "imagePullPolicy": "Never", "command": ["sleep", "infinity"]}
        spec = {"containers": [container], "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False}
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.name, "labels": {"app": "notebook"}},
            "spec": spec,
        }
        self.world.kubectl("create", "-n", self.namespace, "-f", "-", stdin=json.dumps(body))
        self.world.kubectl("wait", "-n", self.namespace, f"pod/{self.name}", "--for=condition=Ready", "--timeout=60s")

    def reaches(self, address: str, port: int) -> bool:
        return reaches(self.world, self.namespace, self.name, address, port)

    def open_of(self, world: World, namespace: str, ports: dict[str, int]) -> set[str]:
        """The daemons that it can connect to."""
        return {name for name, port in ports.items() if self.reaches(address_of(world, namespace, name), port)}


def reaches(world: World, namespace: str, pod: str, address: str, port: int) -> bool:
    """Whether a pod can connect."""
    said = world.kubectl(
        *("exec", "-n", namespace, pod, "--"),
        *("timeout", "3", "bash", "-c", f"exec 3<>/dev/tcp/{address}/{port} && echo open"),
        check=False,
    )
    return said.stdout == "open\n"


def address_of(world: World, namespace: str, name: str) -> str:
    """Address of a pod of a daemon."""
    return str(_pod(world, namespace, name)["status"]["podIP"])


def pod_of(world: World, namespace: str, name: str) -> str:
    """A pod of a daemon."""
    return str(_pod(world, namespace, name)["metadata"]["name"])


def _pod(world: World, namespace: str, name: str) -> dict[str, Any]:
    listed = world.objects("pods", namespace)
    return next(pod for pod in listed if pod["metadata"].get("labels", {}).get(LABEL_NAME) == name)


@pytest.fixture(scope="module")
def elsewhere(world: World) -> Iterator[Stranger]:
    """A stranger in a namespace of its own."""
    world.kubectl("create", "namespace", ELSEWHERE)
    stranger = Stranger(world, ELSEWHERE)
    stranger.up()
    yield stranger
    world.kubectl("delete", "namespace", ELSEWHERE)
