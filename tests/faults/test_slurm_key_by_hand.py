"""slurm.key is replaced under running jobs without any way from here to the hosts: by the lines that the plan prints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.stacks import imported_keys
from tests.e2e import by_hand
from tests.e2e.rotating import NODES, Rotated, joins, leaked, lived, verify
from tests.e2e.slurm import Slurm
from tests.e2e.world import World

WAITS = 3


@pytest.fixture(scope="module")
def rotated(world: World, slurm: Slurm) -> Iterator[Rotated]:
    yield from lived(world, slurm)


def due(rotated: Rotated, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit code of `keys rotate slurm`, and the step that is due afterwards."""
    done = rotated.keys("rotate", "slurm", "--json", *arguments)
    assert done.returncode in (0, WAITS), done.stdout + done.stderr
    steps: list[dict[str, Any]] = json.loads(done.stdout)["rotation"]["steps"]
    return done.returncode, next(step for step in steps if step["state"] == "now")


def test_slurm_key_is_replaced_by_the_printed_lines(rotated: Rotated, tmp_path: Path) -> None:
    old, before = imported_keys(), rotated.unharmed()
    code, step = due(rotated, "--start")
    for name in ("learn-hosts", "change-hosts", "forget-hosts"):
        assert (code, step["name"], step["turn"]) == (WAITS, name, "outside hosts")
        assert [host["name"] for host in step["hosts"]][-1] == "ctl"
        for line in step["commands"]:
            by_hand.run(rotated.stack, line, tmp_path)
        code, step = due(rotated, "--confirm", name)
    assert (code, step["name"]) == (0, "make"), "nothing is under way any more"
    new = rotated.now()
    assert (joins(old["slurmKey"]), joins(new["slurmKey"])) == (False, True)
    after = rotated.unharmed()
    assert all(after[node] > before[node] for node in NODES), (before, after)
    assert sorted(rotated.slurm.user("srun", "-N4", "-t1", "hostname").split()) == sorted(NODES)
    verify(rotated)
    (tmp_path / "said").mkdir()
    assert leaked(rotated, tmp_path / "said", *old.values(), *new.values()) == []
