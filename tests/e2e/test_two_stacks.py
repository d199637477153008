"""Two environments side by side: one hybrid, one wholly in Kubernetes, made at the same time, each blind to the other."""

from __future__ import annotations

import base64
import hashlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from lab import engine, paths
from lab import slurm as outside
from lab.slurm import conf
from lab.stacks import Stack
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import Settings, World, dev_settings
from tests.integration import leaks

HYBRID, INSIDE = "slurm", "slurm-b"
IMAGE = "slinky-lab/slurm:26.05"
GRACE = {"terminationGrace": "2s"}


def hybrid(settings: Settings) -> None:
    """The dev stack, with one pod."""
    settings["slinky-iac:nodesets"] = {"gpu": {"replicas": 1, "pod": GRACE}}
    settings["slinky-iac:partitions"] = {}


def inside(settings: Settings) -> None:
    """All in Kubernetes in another namespace, keys made by the stack."""
    # A resource name of its own: slurm-operator 1.0.1 takes Controllers of one name in two namespaces for one.
    settings["slinky-iac:cluster"] |= {"name": "inside", "namespace": INSIDE, "resourceName": "inside"}
    settings["slinky-iac:cluster"]["images"]["slurmctld"] = IMAGE
    settings["slinky-iac:keys"] = {"source": "generated", "protect": False}
    settings["slinky-iac:controller"] = {
        "persistence": {"enabled": False},
        "pod": GRACE,
        "configFiles": {"cgroup.conf": conf.cgroup_conf()},  # nodes in network namespaces have no cgroup v2 of their own
        "extraConf": {"ProctrackType": "proctrack/linuxproc", "TaskPlugin": "task/none"},
    }
    settings["slinky-iac:accounting"] = {"enabled": False}
    settings["slinky-iac:nodesets"] = {"solo": {"replicas": 1, "pod": GRACE, "drain": {"registerDeadline": "90s"}}}
    settings["slinky-iac:partitions"] = {"main": {"nodesets": ["ALL"], "config": {"Default": True}}}
    settings["slinky-iac:external"] = {}
    settings["slinky-iac:restapi"] = {"pod": GRACE}


def beside(settings: Settings) -> None:
    """The operator is the other stack's."""
    settings["slinky-iac:operator"] = {"install": False, "version": "1.0.1"}


@dataclass(frozen=True)
class Pair:
    """Both stacks, up."""

    a: Stack
    b: Stack


def started(stack: Stack, *command: str, group: bool = False) -> subprocess.Popen[str]:
    """`pulumi` of a stack in the background. ``group``: in a process group of its own, which a test can kill as a whole."""
    return subprocess.Popen(
        ["pulumi", *command, "--yes", "--non-interactive", "--stack", stack.name],
        cwd=stack.folder,
        env=stack.environment(*command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=group,
    )


@pytest.fixture(scope="module")
def pair(world: World, slurm: Slurm) -> Iterator[Pair]:
    world.vacate()
    outside.apply_nodesets_conf(conf.DEFAULT_NODESETS)
    a, b = world.stack("side-a", dev_settings(hybrid)), world.stack("side-b", dev_settings(inside, beside))
    runs = [started(a, "up", "--skip-preview")]
    try:
        # The first stack brings the operator; `rights` says that the second one needs its CRDs.
        await_true(
            "the operator's CRDs are there", lambda: not world.kubectl("get", "nodesets", "-A", check=False).returncode, 60
        )
        runs.append(started(b, "up", "--skip-preview"))
        for run in runs:
            out, _ = run.communicate(timeout=150)
            assert run.returncode == 0, out[-6000:]
    finally:
        for run in runs:
            run.kill()
            run.communicate()
    yield Pair(a, b)
    slurm.cancel_all()
    if any(stack.name == b.name for stack in world.stacks()):
        b.destroy()
    world.vacate()


def exec_in(world: World, *argv: str) -> str:
    """A command in the slurmctld container of the stack that has its own."""
    return world.kubectl("exec", "-n", INSIDE, "inside-controller-0", "-c", "slurmctld", "--", *argv).stdout


def fingers(world: World, namespace: str) -> dict[str, Any]:
    """UID and generation of every lasting object of a namespace: each change of one changes these."""
    passing = ("Lease", "EndpointSlice", "Endpoints", "PodMetrics")
    return {
        f"{item['kind']}/{item['metadata']['name']}": (item["metadata"]["uid"], item["metadata"].get("generation"))
        for item in world.everything()
        if item["metadata"].get("namespace") == namespace and item["kind"] not in passing
    }


def test_both_come_up_at_once_and_both_run_jobs(pair: Pair, world: World, slurm: Slurm) -> None:
    assert pair.a.outputs()["nodesets"] == {"gpu": 1}
    assert pair.b.outputs()["nodesets"] == {"solo": 1}
    assert slurm.user("srun", "-w", "gpu-0", "-t1", "hostname") == "gpu-0\n"
    assert exec_in(world, "srun", "-t1", "hostname") == "solo-0\n"
    assert exec_in(world, "sinfo", "-h", "-o", "%P %N").splitlines() == ["solo solo-0", "main* solo-0"]


def test_each_slurm_knows_its_own_nodes_only(pair: Pair, world: World, slurm: Slurm) -> None:
    assert set(slurm.nodes()) == {"gpu-0", "metal-1", "metal-2"}
    shown = exec_in(world, "scontrol", "-o", "show", "nodes")
    assert [line.split()[0] for line in shown.splitlines()] == ["NodeName=solo-0"]
    assert "ClusterName             = inside" in exec_in(world, "scontrol", "show", "config")
    assert pair.b.outputs()["slurmdJoin"] == f"/usr/sbin/slurmd --conf-server inside-controller.{INSIDE}:6817"


def test_neither_has_anything_to_do_after_the_other(pair: Pair, world: World) -> None:
    before = fingers(world, HYBRID), fingers(world, INSIDE)
    for stack in (pair.a, pair.b):
        stack.pulumi("preview", "--expect-no-changes")
        stack.pulumi("refresh", "--preview-only", "--expect-no-changes")
    assert (fingers(world, HYBRID), fingers(world, INSIDE)) == before


def test_generated_keys_differ_match_their_fingerprints_and_stand_in_no_file(pair: Pair, world: World) -> None:
    outputs = pair.b.outputs()
    kept = {item["metadata"]["name"]: item["data"] for item in world.objects("secrets", INSIDE)}
    keys = {
        "slurmKeyFingerprint": base64.b64decode(kept["inside-auth-slurm"]["slurm.key"]),
        "jwtKeyFingerprint": base64.b64decode(kept["inside-auth-jwths256"]["jwt_hs256.key"]),
    }
    assert len(set(keys.values())) == 2
    for name, raw in keys.items():
        assert len(raw) == 1024
        digest = base64.b64encode(hashlib.sha256(raw).digest()).decode().rstrip("=")
        assert outputs[name] == f"SHA256:{digest}"
        assert outputs[name] != pair.a.outputs()[name]
        assert leaks.find(raw.decode(), engine.BACKEND, paths.LOGS, pair.b.folder) == []


def test_destroying_one_leaves_the_other_and_its_running_job_alone(pair: Pair, world: World, slurm: Slurm) -> None:
    job = slurm.submit("-w", "gpu-0", "-t", "5", seconds=25)
    slurm.await_running(job)
    before = fingers(world, HYBRID)
    pair.b.destroy()
    await_true("its namespace is gone", lambda: f"Namespace /{INSIDE}" not in world.identities(), 60)
    assert fingers(world, HYBRID) == before
    rows = slurm.await_completed(job)
    assert [(row.state, row.nodes, row.exit_code) for row in rows] == [("COMPLETED", "gpu-0", "0:0")]
    pair.a.pulumi("preview", "--expect-no-changes")
