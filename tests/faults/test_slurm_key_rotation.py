"""slurm.key is replaced while jobs run on pods and metal: no step fails, no pod is replaced, the old key is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.stacks import imported_keys
from tests.e2e.rotating import NAMESPACE, NODES, Rotated, joins, leaked, lived, verify
from tests.e2e.slurm import Slurm
from tests.e2e.world import World


@pytest.fixture(scope="module")
def rotated(world: World, slurm: Slurm) -> Iterator[Rotated]:
    yield from lived(world, slurm)


def test_slurm_key_is_replaced_under_running_jobs(rotated: Rotated, tmp_path: Path) -> None:
    old, before = imported_keys(), rotated.unharmed()
    pods = {name: pod["metadata"]["uid"] for name, pod in rotated.world.pods(NAMESPACE, "gpu").items()}
    done = rotated.rotate("slurm", "--start")
    assert done.returncode == 0, done.stdout + done.stderr
    new = rotated.now()
    assert new["jwtKey"] == old["jwtKey"]
    assert (joins(old["slurmKey"]), joins(new["slurmKey"])) == (False, True)
    after = rotated.unharmed()
    assert all(after[node] > before[node] + 10 for node in NODES), (before, after)
    assert {name: pod["metadata"]["uid"] for name, pod in rotated.world.pods(NAMESPACE, "gpu").items()} == pods
    assert sorted(rotated.slurm.user("srun", "-N4", "-t1", "hostname").split()) == sorted(NODES)
    verify(rotated)
    assert "slurmKeyPrevious" not in rotated.stack.config_file.read_text()
    assert leaked(rotated, tmp_path, *old.values(), *new.values()) == []
