"""Where a key can't be replaced under jobs, the plan names every step of the stop, and nothing of it is carried out."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.config.load import load
from slinky_iac.key_lifecycle import cli
from slinky_iac.key_lifecycle.hosts import hosts_of
from slinky_iac.key_lifecycle.model import State, Turn
from slinky_iac.key_lifecycle.planned_stop import planned_stop
from tests.stacks import merged, minimal
from tests.unit.key_lifecycle.test_report import arguments
from tests.unit.key_lifecycle.world import CONFIG, World, rotating


@pytest.mark.parametrize(
    ("data", "steps", "words"),
    [
        (minimal(), ["drain", "remove", "key", "secrets", "start"], "its generator is kept"),
        (CONFIG, ["drain", "remove", "hosts", "key", "secrets", "start"], "keys import slurm --replace"),
        (
            merged(CONFIG, {"keys": {"source": "existing", "jwks": False}}),
            ["drain", "remove", "hosts", "key", "secrets", "start"],
            "under its name",
        ),
    ],
)
def test_the_steps_of_a_stop_are_in_their_order(data: dict[str, Any], steps: list[str], words: str) -> None:
    config = load(data)
    plan = planned_stop(config, "slurm", hosts_of(config), "since it must be")
    assert [step.name for step in plan.steps] == steps
    assert {step.turn for step in plan.steps} == {Turn.PERSON}
    assert (plan.due, plan.under_way) == (None, False)
    assert {step.state for step in plan.steps} == {State.LATER}
    text = cli._words(plan, arguments("slurm", "--plan"))
    assert words in text
    assert text.endswith("shown, not carried out")


def test_a_queue_that_would_be_lost_is_told() -> None:
    lost = load(minimal(controller={"persistence": {"enabled": False}}))
    assert "the queue is lost" in planned_stop(lost, "jwt", (), "").steps[1].why
    assert "the queue is lost" not in planned_stop(load(minimal()), "jwt", (), "").steps[1].why


def test_a_stack_that_cannot_rotate_is_shown_its_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    config = load(merged(CONFIG, {"keys": {"jwks": False}}))
    monkeypatch.setattr("tests.unit.key_lifecycle.world.LOADED", config)
    plan = rotating(world, monkeypatch, "slurm").plan()
    assert {step.turn for step in plan.steps} == {Turn.PERSON}
    assert "keys.jwks is false" in plan.notes[0]
    assert world.operations == 0
