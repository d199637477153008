"""What `drain status`, `plan` and `cancel` print for people: whose drain it is, and a word where there is nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from slinky_iac.commands import cli
from slinky_iac.commands import drain as asking
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
def test_status_says_whose_drain_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], owner: str, said: str
) -> None:
    monkeypatch.setattr(asking, "status", lambda *_: ([replace(ROW, owner=owner)], []))
    assert cli.main(["drain", "status"]) == 0
    shown = capsys.readouterr().out
    assert said in shown
    assert "    job 7 alice" in shown


@pytest.mark.parametrize(
    ("taken", "said"), [(0, "nothing of this stack's was left"), (2, "given back, in 2 steps"), (1, "in 1 step\n")]
)
def test_cancel_says_whether_there_was_anything(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], taken: int, said: str
) -> None:
    monkeypatch.setattr(asking, "cancel", lambda *_: taken)
    assert cli.main(["drain", "cancel"]) == 0
    assert said in capsys.readouterr().out


def test_a_plan_of_nothing_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(asking, "plans", lambda *_: [])
    assert cli.main(["drain", "plan"]) == 0
    assert "no NodeSet" in capsys.readouterr().out


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_status_that_could_not_be_asked_is_never_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    monkeypatch.setattr(asking, "status", lambda *_: ([], ["prod/gpu: Slurm could not be asked"]))
    assert cli.main(["drain", "status", *more]) == 1
    said = capsys.readouterr()
    assert "nothing is drained" not in said.out
    assert "prod/gpu: Slurm could not be asked" in said.err


@pytest.mark.parametrize(
    ("act", "found"), [("status", {"drains": [], "unknown": []}), ("plan", {"plans": []}), ("cancel", {"steps": 0})]
)
def test_json_is_an_object_of_a_stated_schema(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], act: str, found: dict[str, object]
) -> None:
    monkeypatch.setattr(asking, "status", lambda *_: ([], []))
    monkeypatch.setattr(asking, "plans", lambda *_: [])
    monkeypatch.setattr(asking, "cancel", lambda *_: 0)
    assert cli.main(["drain", act, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"schema": 1, **found}
