"""Unmanaged nodes, which no step of a rotation of slurm.key reaches: neither pods nor hosts of this stack."""

from __future__ import annotations

import json
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from slinky_iac.commands.rotation.cluster import Cluster
from slinky_iac.config.reading.load import load
from slinky_iac.errors import KubeNotFound, SlurmrestUnreachable
from slinky_iac.kube import objects
from tests.made.pods import pod as made_pod
from tests.stacks import merged
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

    pod = made_pod("gpu-0")
    world = SimpleNamespace(kube=SimpleNamespace(nodeset=lambda *_: object(), pods_of=lambda *_: (pod,)))
    assert Cluster(STACK, world, run).pod_files() == {"gpu-0": "abc"}  # type: ignore[arg-type]
    assert not any(name.startswith("PULUMI_") for env in seen for name in env)


def client_pod(name: str, secret: str, phase: str = "Running") -> dict[str, Any]:
    meta = {"name": name, "uid": name, "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"metadata": meta, "spec": {"volumes": [{"secret": {"secretName": secret}}, {}]}, "status": {"phase": phase}}


def test_a_rotation_awaits_the_sackd_of_every_pod_that_mounts_a_clients_secret() -> None:
    """Hubs, charts and people make them, so nothing but the Secret tells which they are."""
    stack = load(merged(CONFIG, {"clients": {"nb": {"namespace": "notebooks"}}}))
    own, other = client_pod("jupyter-alice", "slurm-client-nb"), client_pod("portal", "its-own")
    listed = {"items": [own, other, client_pod("ended", "slurm-client-nb", "Succeeded")]}
    annotated: list[tuple[str, str]] = []
    kube = SimpleNamespace(
        nodeset=lambda *_: None,
        pods_of=lambda *_: (),
        listed=lambda _path, page, what, *_: objects.read(json.dumps(listed).encode(), page, what).items,
        annotate_pod=lambda space, pod, _: annotated.append((space, pod.name)),
    )
    ran: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        return subprocess.CompletedProcess(command, 0, "abc  /sackd-own/slurm.jwks", "")

    cluster = Cluster(stack, SimpleNamespace(kube=kube), run)  # type: ignore[arg-type]
    assert cluster.pod_files() == {"notebooks/jupyter-alice": "abc"}
    assert ran[0][-8:] == ["-n", "notebooks", "jupyter-alice", "-c", "sackd", "--", "sha256sum", "/sackd-own/slurm.jwks"]
    cluster.trigger_sync({"notebooks/jupyter-alice": "abc"}, "def")
    assert annotated == [("notebooks", "jupyter-alice")]
