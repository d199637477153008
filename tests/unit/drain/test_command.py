"""What `drain status`, `plan` and `cancel` print for people: whose drain it is, and a word where there is nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from slinky_iac.commands.drain import Told, cancel_told, plans_told, status_told, tell
from slinky_iac.drain.status import NodeStatus

ROW = NodeStatus(
    nodeset="gpu",
    node="gpu-2",
    states="ALLOCATED+DRAIN",
    reason="slinky-iac:prod/gpu: scale-in 3->2",
    owner="ours",
    returns="2027-01-15T12:00:00Z",
    marked=True,
    jobs=("7 alice",),
)


@pytest.mark.parametrize(
    ("owner", "said"),
    [
        ("ours", "drained by this stack, "),
        ("operator", "drained by slurm-operator, "),
        ("somebody else", "drained by somebody else, "),
        ("", "marked, not drained, "),
    ],
)
def test_status_says_whose_drain_it_is(capsys: pytest.CaptureFixture[str], owner: str, said: str) -> None:
    assert tell(status_told([replace(ROW, owner=owner)], []), for_programs=False) == 0
    shown = capsys.readouterr().out
    assert said in shown
    assert "    job 7 alice" in shown


@pytest.mark.parametrize(
    ("taken", "said"), [(0, "nothing of this stack's was left"), (2, "given back, in 2 steps"), (1, "in 1 step\n")]
)
def test_cancel_says_whether_there_was_anything(capsys: pytest.CaptureFixture[str], taken: int, said: str) -> None:
    assert tell(cancel_told(taken), for_programs=False) == 0
    assert said in capsys.readouterr().out


def test_a_plan_of_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert tell(plans_told([]), for_programs=False) == 0
    assert "no NodeSet" in capsys.readouterr().out


@pytest.mark.parametrize("for_programs", [False, True])
def test_a_status_that_could_not_be_asked_is_never_nothing(capsys: pytest.CaptureFixture[str], for_programs: bool) -> None:
    assert tell(status_told([], ["prod/gpu: Slurm could not be asked"]), for_programs=for_programs) == 1
    said = capsys.readouterr()
    assert "nothing is drained" not in said.out
    assert "prod/gpu: Slurm could not be asked" in said.err


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (status_told([], []), {"drains": [], "unknown": []}),
        (plans_told([]), {"plans": []}),
        (cancel_told(0), {"steps": 0}),
    ],
)
def test_json_is_an_object_of_a_stated_schema(
    capsys: pytest.CaptureFixture[str], told: Told, found: dict[str, object]
) -> None:
    assert tell(told, for_programs=True) == 0
    assert json.loads(capsys.readouterr().out) == {"schema": 1, **found}
