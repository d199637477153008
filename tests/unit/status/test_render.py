"""The screen: fits its width, plain where there are no colours, harmless whatever others wrote, and JSON with a number."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from slinky_iac.commands.output import wants_colour
from slinky_iac.commands.status.build import status
from slinky_iac.commands.status.model import Answer, Drained, Endpoint, Group, Guarded, Seen, Status
from slinky_iac.commands.status.next_step import next_step
from slinky_iac.commands.status.render import BAR_CELLS, WIDTH, as_json, screen
from tests.unit.status.made import NOW, PRINTS, answers, facts, known_facts

ESCAPE = re.compile(r"\x1b\[\d+m")


def example() -> Status:
    return status(known_facts(), answers())


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("colour", [False, True])
def test_no_line_is_wider_than_the_screen(width: int, colour: bool) -> None:
    lines = ESCAPE.sub("", screen(example(), colour=colour, width=width)).splitlines()
    assert max(map(len, lines)) <= width


def test_colours_change_no_word_but_add_bars() -> None:
    plain, shown = screen(example()), screen(example(), colour=True)
    assert "\x1b" not in plain
    assert "\x1b[32mup\x1b[0m" in shown
    wide, wide_shown = screen(example(), width=300), screen(example(), colour=True, width=300)
    assert ESCAPE.sub("", wide_shown).replace("█", "").split() == wide.split()
    assert plain.replace("\n", "").isprintable()


def test_every_part_is_on_the_screen() -> None:
    text = screen(example())
    for title in ("Endpoints", "Versions", "Nodes", "Drains", "Keys", "Last up"):
        assert f"\n{title}\n" in text
    assert "Not known" not in text
    for fingerprint in PRINTS:
        assert fingerprint in text
    assert text.splitlines()[1] == "5 of 5 endpoints up, 10 nodes, 5 drained"


def test_what_is_unknown_is_said_at_the_end_and_at_its_place() -> None:
    text = screen(status(known_facts(), answers(history=Answer(trouble="no list"), nodes=Answer(trouble="nodes: late"))))
    assert "Drains\n  unknown\n" in text
    assert "Last up\n  unknown\n" in text
    assert text.rpartition("\n\nNext: ")[0].endswith("Not known\n  ! Slurm's nodes: nodes: late\n  ! history: no list")
    assert "nodes unknown" in text.splitlines()[1]


def test_a_stack_that_holds_nothing_says_so() -> None:
    text = screen(status(facts("prod", []), Seen(now=NOW, history=Answer((), 1))))
    assert "holds nothing" in text
    assert text.rpartition("\n\nNext: ")[0].endswith("Last up\n  none yet")


def test_nobodys_words_reach_the_terminal_as_control_characters() -> None:
    evil = replace(example().drains[0], reason="a\x1b[2Jb\nc\u202ed", owner="\x1b]0;x\x07")  # type: ignore[index]
    text = screen(replace(example(), drains=(evil,), unknown=("x\x1b[31m",)))
    assert not {"\x1b", "\u202e", "\x07"} & set(text)


@pytest.mark.parametrize("counts", [{"idle": 1}, {"idle": 5000, "down": 1}, {f"s{n}": 1 for n in range(40)}])
def test_a_bar_is_as_wide_as_its_place_whatever_the_counts(counts: dict[str, int]) -> None:
    group = Group("gpu", "nodeset", 1, 1, 1, counts)
    shown = ESCAPE.sub("", screen(replace(example(), groups=(group,)), colour=True, width=200))
    line = next(line for line in shown.splitlines() if "█" in line)
    assert line[2 : BAR_CELLS + 2].count("█") >= 1
    assert line[BAR_CELLS + 2 :].lstrip().startswith("gpu")
    if "down" in counts:
        assert "\x1b[31m█" in screen(replace(example(), groups=(group,)), colour=True), "one bad node of thousands is seen"


def test_a_broken_fence_is_told_with_what_to_do_and_its_absence_is_told_too() -> None:
    faults = ("ValidatingAdmissionPolicyBinding x is gone: " + "long " * 40 + "`pulumi up --refresh` makes it again",)
    text = screen(replace(example(), guards={"fence": Guarded("broken", faults)}))
    assert "the fence is broken" in text.splitlines()[1] + text.splitlines()[2]
    assert "\nFence\n  broken: it lets through what it should refuse\n" in text
    assert "`pulumi up --refresh` makes it again" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "\nFence\n  off: kubectl and others can delete NodeSets" in screen(example())
    assert "\nFence\n  stands: " in screen(replace(example(), guards={"fence": Guarded("stands")}))


def test_json_has_a_number_and_everything() -> None:
    found = json.loads(as_json(example()))
    assert found["schema"] == 1
    assert {"endpoints", "versions", "groups", "drains", "keys", "last", "unknown", "taken_at"} <= set(found)
    assert found["drains"][0].keys() == {"node", "group", "state", "owner", "reason", "returns", "jobs", "since"}


@pytest.mark.parametrize(
    ("env", "tty", "wanted"),
    [({}, True, True), ({}, False, False), ({"NO_COLOR": "1"}, True, False), ({"TERM": "dumb"}, True, False)],
)
def test_colours_are_for_terminals_that_want_them(env: dict[str, str], tty: bool, wanted: bool) -> None:
    assert wants_colour(env, tty=tty) is wanted


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"endpoints": ()}, "`slinky preflight`; when it finds no problem, `pulumi up` makes the cluster"),
        ({"guards": {"fence": Guarded("broken", ("gone",))}}, "`pulumi up --refresh` makes the fence again"),
        ({"endpoints": (Endpoint("slurmctld", "x", "down"),)}, "A daemon is down'`: slurmctld doesn't answer"),
        ({"unknown": ("Slurm's nodes: no answer",)}, "`slinky preflight` says why"),
        ({"drains": (Drained("gpu-1", "gpu", "drained", "this stack", "r"),)}, "`pulumi up` continues"),
        ({}, "nothing has to be done"),
    ],
)
def test_the_screen_ends_with_the_one_next_step(changed: dict[str, Any], said: str) -> None:
    quiet = Status(NOW, "dev", "lab", 3, (Endpoint("slurmctld", "x", "up"),), (), (), (), (), None)
    last = screen(replace(quiet, **changed)).rstrip("\n").rsplit("\n\n", 1)[1]
    assert last.startswith("Next: ")
    assert said in " ".join(last.split())
    assert json.loads(as_json(replace(quiet, **changed)))["next"] == next_step(replace(quiet, **changed))
