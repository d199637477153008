"""What policies could not judge is unknown, and with --strict unknown is an exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from slinky_iac.commands import cli
from slinky_iac.commands.plan.build import change_order
from slinky_iac.commands.plan.limits import Exit, Limits, judge
from tests.unit.plan.made import NOW, digest, events, policy

PASSED = {"policyAnalyzeStackSummaryEvent": {"passed": ["cluster-complete"]}}
ADVICE = policy("images-pinned", "advisory", "slurmd:26.05 has no digest")
SAID = (
    "can't run policy 'cluster-complete' from policy pack 'slinky-iac@v0.1.0' during preview: not judged, since NodeSet x: y"
)
UNJUDGED = policy("cluster-complete", "advisory", SAID)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ([PASSED], Exit.OK),
        ([PASSED, ADVICE], Exit.OK),
        ([PASSED, UNJUDGED], Exit.UNKNOWN),
        ([PASSED, ADVICE, UNJUDGED], Exit.UNKNOWN),
        ([], Exit.UNKNOWN),
        ([PASSED, policy("cluster-complete", "mandatory", "no gate"), UNJUDGED], Exit.FAULT),
    ],
    ids=["all judged", "advice", "not judged", "advice and not judged", "no pack", "refused"],
)
def test_a_rule_that_did_not_judge_is_never_within_strict_limits(said: list[dict[str, object]], code: Exit) -> None:
    assert judge(change_order(events(said=said), now=NOW), Limits(strict=True)).code is code


def test_the_reason_names_the_rule_and_what_it_could_not_see() -> None:
    verdict = judge(change_order(events(said=[PASSED, UNJUDGED]), now=NOW), Limits(strict=True))
    assert verdict.reasons == ("policy cluster-complete: not judged, since NodeSet x: y",)


def test_a_form_of_the_preview_that_does_not_tell_of_policies_is_unknown() -> None:
    assert judge(change_order(digest(), now=NOW), Limits(strict=True)).code is Exit.UNKNOWN
    assert judge(change_order(digest(), now=NOW), Limits()).code is Exit.OK


@pytest.mark.parametrize(("arguments", "code"), [([], 0), (["--strict"], 4)])
def test_the_command_ends_with_4(tmp_path: Path, arguments: list[str], code: int) -> None:
    file = tmp_path / "preview.json"
    file.write_text(events(said=[PASSED, UNJUDGED]))
    assert cli.main(["plan", str(file), *arguments, "--out", str(tmp_path / "order.txt")]) == code
