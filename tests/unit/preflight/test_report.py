"""What is shown: 100 columns, lines to paste unbroken, no control characters of others, the same facts as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from slinky_iac.commands.preflight.cli import exit_code
from slinky_iac.commands.preflight.report import WIDTH, as_json, as_text, headline
from slinky_iac.preflight.check import Verdict
from slinky_iac.preflight.compare import checks
from tests.unit.preflight.made import FACTS, UNASKED, check, slurm, stack

LINE = "PartitionName=gpu Nodes=gpu " + "MaxTime=UNLIMITED " * 6 + "State=UP"
BAD = check(Verdict.PROBLEM, "partitions", "partition gpu", "slurmctld", "isn't there", "Add", LINE, at="in slurm.conf")


@pytest.mark.parametrize("width", [80, WIDTH, 140])
@pytest.mark.parametrize("facts", [FACTS, UNASKED, slurm(partitions=(), nodes=(), clusters=())])
def test_no_line_is_wider_than_the_screen_but_those_to_paste(facts: object, width: int) -> None:
    found = checks(stack(), facts)  # type: ignore[arg-type]
    pasted = {line for each in found for text in each.paste for line in text.split("\n")}
    wide = [
        line for line in as_text("lab", found, width=width).splitlines() if len(line) > width and line.strip() not in pasted
    ]
    assert wide == []


def test_a_line_to_paste_is_never_broken() -> None:
    assert LINE in [line.strip() for line in as_text("lab", [BAD]).splitlines()]


def test_the_headline_counts_the_worst_first() -> None:
    found = (BAD, BAD, check(Verdict.WARNING, "a", "b", "c", "d", "e"), check(Verdict.FINE, "a", "b", "c", "d"))
    assert headline("lab", found) == "preflight of lab: 2 problems, 1 warning, 1 fine"


def test_the_worst_comes_first() -> None:
    found = [each.verdict for each in checks(stack(), slurm(partitions=(), nodes=()))]
    assert found == sorted(found, key=list(Verdict).index)
    assert found[0] is Verdict.PROBLEM


def test_control_characters_of_others_reach_no_terminal() -> None:
    evil = check(Verdict.PROBLEM, "a", "node \x1b[2J", "pod on \x1b]0;x\x07", "said \r\nfine", "do \x1b[31m", "line \x1b[0m")
    text = as_text("lab\x1b[1m", [evil])
    assert "\x1b" not in text
    assert "\r" not in text
    assert "\x1b[31mproblem\x1b[0m" in as_text("lab", [evil], colour=True)


def test_a_snippet_of_several_lines_keeps_its_shape() -> None:
    lines = as_text("lab", [check(Verdict.UNKNOWN, "a", "b", "c", "d", "Add", "a:\n  b: 1")]).splitlines()
    first = next(line for line in lines if line.endswith("a:"))
    assert lines[lines.index(first) + 1] == first.replace("a:", "  b: 1")


def test_json_holds_every_check_whole() -> None:
    body = json.loads(as_json("dev", "lab", [BAD]))
    assert (body["schema"], body["stack"], body["cluster"]) == (1, "dev", "lab")
    assert body["counts"] == {"problem": 1, "warning": 0, "unknown": 0, "fine": 0}
    assert body["checks"] == [
        {
            "name": "partitions",
            "verdict": "problem",
            "subject": "partition gpu",
            "source": "slurmctld",
            "got": "isn't there",
            "change": "Add",
            "paste": [LINE],
            "at": "in slurm.conf",
            "of": "",
            "reason": "",
        }
    ]


def test_only_problems_fail_and_warnings_where_that_is_asked_for() -> None:
    unsure = (check(Verdict.UNKNOWN, "a", "b", "c", "d"), check(Verdict.FINE, "a", "b", "c", "d"))
    warned = (*unsure, check(Verdict.WARNING, "a", "b", "c", "d", "e"))
    assert [exit_code(unsure, strict=False), exit_code(unsure, strict=True)] == [0, 0]
    assert [exit_code(warned, strict=False), exit_code(warned, strict=True)] == [0, 6]
    assert exit_code((*warned, BAD), strict=False) == 6


def test_what_is_acknowledged_is_shown_with_its_reason_and_fails_nothing() -> None:
    found = (replace(check(Verdict.WARNING, "a", "b", "c", "it is so", "Change", "line"), reason="by a proxy"),)
    assert exit_code(found, strict=True) == 0
    text = as_text("lab", found)
    assert "Acknowledged: by a proxy" in text
    assert "Change" not in text
