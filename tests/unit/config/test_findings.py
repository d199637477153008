"""Findings have ids, the ids are documented, and a stack can accept a warning with a reason: never an error."""

from __future__ import annotations

import ast

import pytest

from slinky_iac.config.findings import KINDS, NOT_OF_RULES, Level
from slinky_iac.config.load import load
from slinky_iac.config.rules import findings
from slinky_iac.errors import ConfigError
from tests.stacks import ROOT, merged, minimal
from tests.unit.config.rule_cases import Case
from tests.unit.config.test_rules import HINTS, ids

REASON = "decided by the operators on call, HPC-1234"


def used() -> set[str]:
    """Ids that the library's own calls give."""
    calls = (
        keyword.value
        for path in sorted((ROOT / "slinky_iac").rglob("*.py"))
        if 'id="' in (text := path.read_text())
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in {"warning", "info"}
        for keyword in call.keywords
        if keyword.arg == "id"
    )
    return {value.value for value in calls if isinstance(value, ast.Constant) and isinstance(value.value, str)}


def test_every_id_is_documented_and_every_documented_id_is_used() -> None:
    assert used() == set(KINDS)


@pytest.mark.parametrize("case", HINTS, ids=ids)
def test_a_warning_can_be_accepted_with_a_reason(case: Case) -> None:
    before = findings(load(case.bad), case.secrets)
    (one,) = {each.id for each in before if each.path == case.path and all(word in each.message for word in case.words)}
    after = findings(load(merged(case.bad, {"acknowledged": {one: REASON}})), case.secrets)
    assert [str(each) for each in after] == [str(each) for each in before], "nothing is hidden"
    assert {each.id for each in after if each.reason == REASON} == {one}


def test_an_error_has_no_id_and_nothing_accepts_it() -> None:
    data = minimal(nodesets={"gpu": {"replicas": 2, "maxReplicas": 3}})
    errors = [each for each in findings(load(data)) if each.level is Level.ERROR]
    assert errors
    assert {each.id for each in errors} == {""}
    accepting = merged(data, {"acknowledged": dict.fromkeys(set(KINDS), REASON)})
    assert [each for each in findings(load(accepting)) if each.level is Level.ERROR and not each.reason] == errors


@pytest.mark.parametrize("kind", sorted(set(KINDS) - NOT_OF_RULES))
def test_what_accepts_nothing_is_said(kind: str) -> None:
    sound = minimal(nodesets={"gpu": {"replicas": 1}})
    assert kind not in {each.id for each in findings(load(sound))}
    after = findings(load(merged(sound, {"acknowledged": {kind: REASON}})))
    assert [(each.path, each.id) for each in after if each.path.startswith("acknowledged")] == [
        (f"acknowledged.{kind}", "nothing-to-acknowledge")
    ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mixed-cgroup": REASON}, "did you mean mixed-cgroups?"),
        ({"preflight.": REASON}, "no id of a finding"),
        ({"mixed-cgroups": "ok"}, "10 to 300 characters"),
        ({"mixed-cgroups": "two\nlines of reasons"}, "one line"),
        ({"mixed-cgroups": f"the key is {'aB3+' * 11}="}, "looks like a key"),
    ],
)
def test_an_unknown_id_and_an_empty_reason_are_errors(given: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(minimal(acknowledged=given))
    (fault,) = caught.value.faults
    assert words in fault
    assert "aB3+" not in fault


def test_a_check_of_preflight_can_be_accepted() -> None:
    assert load(minimal(acknowledged={"preflight.max-node-count": REASON})).acknowledged
