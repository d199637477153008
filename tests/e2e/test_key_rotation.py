"""The JWT key is replaced while jobs run: gates and operator go on with the new one, and the old one is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.stacks import imported_keys
from slinky_iac.keys.raw import fingerprint
from tests.e2e.rotating import NAMESPACE, NODES, Rotated, accepted, leaked, lived, verify
from tests.e2e.slurm import Slurm
from tests.e2e.world import World


@pytest.fixture(scope="module")
def rotated(world: World, slurm: Slurm) -> Iterator[Rotated]:
    yield from lived(world, slurm)


def test_the_jwt_key_is_replaced_under_running_jobs(rotated: Rotated, tmp_path: Path) -> None:
    old, before = imported_keys(), rotated.unharmed()
    done = rotated.rotate("jwt", "--start")
    assert done.returncode == 0, done.stdout + done.stderr
    new = rotated.now()
    assert new["slurmKey"] == old["slurmKey"]
    assert (accepted(old["jwtKey"]), accepted(new["jwtKey"])) == (False, True)
    after = rotated.unharmed()
    assert all(after[node] > before[node] for node in NODES), (before, after)
    verify(rotated)
    shown = json.loads(rotated.keys("show", "--json").stdout)["keys"]
    assert {row["fingerprint"] for row in shown if row["key"] == "JWT key"} == {fingerprint(new["jwtKey"])}
    assert leaked(rotated, tmp_path, *old.values(), *new.values()) == []


def test_afterwards_gate_and_operator_drain_with_the_new_key(rotated: Rotated) -> None:
    """The operator would never delete a pod with a token that slurmctld refuses, nor would the gate let it."""
    for job in rotated.jobs.values():
        rotated.slurm.user("scancel", str(job))
    rotated.slurm.await_completed(*rotated.jobs.values())
    rotated.stack.pulumi("config", "set", "--path", "slinky-iac:nodesets.gpu.replicas", "1")
    rotated.stack.up()
    rotated.world.await_pods(NAMESPACE, "gpu", 1)
