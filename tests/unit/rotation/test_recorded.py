"""A rotation that earlier code began and left at any operation is carried on by this code.

``recorded/cuts_at_afdef8d.json`` is what that code, with three run loops, left in the configuration, in Secrets, on hosts
and in daemons' memories when it was cut before each of its operations. Values are named by their place in the list.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from slinky_iac.keys.registry import BY_NAME
from tests.stacks import ROOT
from tests.unit.rotation.test_rotate import ended
from tests.unit.rotation.world import OLD, OLD_JWT, World

RECORDED = json.loads((ROOT / "tests/unit/rotation/recorded/cuts_at_afdef8d.json").read_text())
VALUES = [base64.b64decode(each) for each in RECORDED["values"]]
CASES = [(which, state) for which, states in RECORDED["states"].items() for state in states]


def named(found: dict[str, int]) -> dict[str, bytes]:
    return {name: VALUES[each] for name, each in found.items()}


def left(state: dict[str, Any]) -> World:
    """The cluster as the earlier code left it."""
    world = World(set=named(state["set"]), made=1)
    entries = (world.jwt.entry, f"{world.jwt.entry}.next")
    world.secrets = {
        world.jwt.name: {entry: VALUES[each] for entry, each in zip(entries, state["jwt"], strict=False)},
        world.slurm.name: {world.slurm.entry: VALUES[state["slurm"]]},
        world.jwks: {"slurm.jwks": VALUES[state["jwks"]]},
    }
    world.files = {host: named(files) for host, files in state["files"].items()}
    world.read = {host: named(files) for host, files in state["read"].items()}
    world.known, world.jwt_of = named(state["known"]), named(state["jwt_of"])
    return world


@pytest.mark.parametrize(("which", "state"), CASES, ids=[f"{which}-{at}" for at, (which, _) in enumerate(CASES)])
def test_a_rotation_that_earlier_code_left_is_carried_to_its_end(which: str, state: dict[str, Any]) -> None:
    world = left(state)
    begun = world.set != {"slurmKey": OLD, "jwtKey": OLD_JWT}
    world.runner(BY_NAME[which]).run(start=False)
    world.check()
    assert ended(world, which) == begun
    assert world.made == 1, "no other key was made"


def test_the_recording_has_every_step() -> None:
    """Else the cases above could all be of the beginning."""
    secrets = {frozenset(state["set"]) - {"slurmKey", "jwtKey"} for _, state in CASES}
    assert {frozenset(), frozenset({"jwtKeyNext"}), frozenset({"slurmKeyNext"}), frozenset({"slurmKeyPrevious"})} <= secrets
    assert frozenset({"slurmKeyNext", "slurmKeyPrevious"}) in secrets, "cut between two settings"
