"""Unmanaged nodes, which no step of a rotation of slurm.key reaches: neither pods nor hosts of this stack."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from slinky_iac.commands.rotation.cluster import Cluster
from slinky_iac.config.load import load
from slinky_iac.errors import KubeNotFound, SlurmrestUnreachable
from tests.stacks import merged
from tests.unit import builders
from tests.unit.rotation.world import CONFIG

STACK = load(merged(CONFIG, {"nodesets": {"gpu": {"replicas": 1}}}))


def session(*nodes: tuple[str, str], pods: tuple[str, ...] = ("gpu-0",), fails: Exception | None = None) -> Any:
    """slurmctld has ``nodes`` (name and state), Kubernetes has ``pods``."""

    def asked(**_: object) -> SimpleNamespace:
        if fails is not None:
            raise fails
        return SimpleNamespace(
            nodes=[SimpleNamespace(name=name, state=frozenset(state.split("+"))) for name, state in nodes]
        )

    found = tuple(SimpleNamespace(slurm_node=name) for name in pods)
    kube = SimpleNamespace(nodeset=lambda *_: object(), pods_of=lambda *_: found)
    return SimpleNamespace(slurm=SimpleNamespace(nodes=asked), kube=kube)


def test_a_node_that_answers_and_is_nobody_s_is_unmanaged() -> None:
    world = session(("gpu-0", "IDLE"), ("metal-1", "ALLOCATED"), ("metal-2", "MIXED"), ("other-0", "IDLE+DRAIN"))
    assert Cluster(STACK, world).unmanaged_nodes() == ("metal-2", "other-0")


@pytest.mark.parametrize("state", ["DOWN", "IDLE+NOT_RESPONDING", "FUTURE", "IDLE+CLOUD+POWERED_DOWN"])
def test_a_node_without_a_slurmd_is_none(state: str) -> None:
    assert Cluster(STACK, session(("gpu-0", "IDLE"), ("metal-9", state))).unmanaged_nodes() == ()


def test_a_pod_in_the_host_s_network_is_known_by_its_short_name() -> None:
    assert Cluster(STACK, session(("node-1", "IDLE"), pods=("node-1.example.org",))).unmanaged_nodes() == ()


@pytest.mark.parametrize("fails", [SlurmrestUnreachable("none"), KubeNotFound("no key yet")])
def test_a_slurmctld_that_cannot_be_asked_is_not_taken_for_one_without_unmanaged_nodes(fails: Exception) -> None:
    assert Cluster(STACK, session(fails=fails)).unmanaged_nodes() is None


def test_kubectl_in_a_pod_gets_no_passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "hunter2")
    seen: list[dict[str, str]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        seen.append(options["env"])
        return subprocess.CompletedProcess(command, 0, "abc  /etc/slurm-jwks/slurm.jwks", "")

    pod = builders.pod("gpu-0")
    world = SimpleNamespace(kube=SimpleNamespace(nodeset=lambda *_: object(), pods_of=lambda *_: (pod,)))
    assert Cluster(STACK, world, run).pod_files() == {"gpu-0": "abc"}  # type: ignore[arg-type]
    assert not any(name.startswith("PULUMI_") for env in seen for name in env)
