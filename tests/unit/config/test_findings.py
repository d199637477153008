"""Findings have ids, the ids are documented, and a stack can accept what has one with a reason: never an error without."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest

from slinky_iac.config.findings import NOT_OF_RULES, OF_ONE_PLACE, Level
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules import slurm_reach as rules_slurm_reach
from slinky_iac.config.rules.sections import findings, require_sound
from slinky_iac.config.stack import KINDS
from slinky_iac.errors import ConfigError
from tests.parts import of_a_look
from tests.stacks import ROOT, merged, minimal
from tests.unit.config.rule_cases import Case
from tests.unit.config.rule_cases_reach import REACH
from tests.unit.config.test_rules import HINTS, ids

REASON = "decided by the operators on call, HPC-1234"


SAYS = {"warning", "info", "refused"}


def used() -> set[str]:
    """Ids that the calls of library and components give."""
    calls = (
        keyword.value
        for path in sorted(each for folder in ("slinky_iac", "components") for each in (ROOT / folder).rglob("*.py"))
        if 'id="' in (text := path.read_text())
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in SAYS
        for keyword in call.keywords
        if keyword.arg == "id"
    )
    said = {value.value for value in calls if isinstance(value, ast.Constant) and isinstance(value.value, str)}
    return said | {rules_slurm_reach.RUNS, rules_slurm_reach.SENDS, rules_slurm_reach.WRITES, rules_slurm_reach.BOUNDS}


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
    kinds = {f"{kind}@nodesets.gpu.replicas" if kind in OF_ONE_PLACE else kind for kind in KINDS}
    accepting = merged(data, {"acknowledged": dict.fromkeys(kinds, REASON)})
    assert [each for each in findings(load(accepting)) if each.level is Level.ERROR and not each.reason] == errors


@pytest.mark.parametrize("case", REACH, ids=ids)
def test_what_is_refused_with_an_id_warns_once_it_is_accepted_with_a_reason(case: Case) -> None:
    here = [each for each in findings(load(case.bad), case.secrets) if each.path == case.path]
    (one,) = (each for each in here if each.level is Level.ERROR)
    key = f"{one.id}@{one.path}"
    with pytest.raises(ConfigError, match=f"acknowledged:` the line `{re.escape(key)}: "):
        require_sound((one,))
    after = require_sound(findings(load(merged(case.bad, {"acknowledged": {key: REASON}})), case.secrets))
    assert [(each.level, each.reason) for each in after if (each.id, each.path) == (one.id, one.path)] == [
        (Level.WARNING, REASON)
    ]


def test_what_refuses_is_accepted_for_one_setting_and_for_no_other() -> None:
    conf = {"extraConf": {"KillWait": "1", "SlurmdTimeout": "5"}}
    with pytest.raises(ConfigError, match="slurm-bounds@PATH"):
        load(minimal(controller=conf, acknowledged={"slurm-bounds": REASON}))
    accepting = minimal(controller=conf, acknowledged={"slurm-bounds@controller.extraConf.KillWait": REASON})
    with pytest.raises(ConfigError) as caught:
        require_sound(findings(load(accepting)))
    assert [fault.split(":")[0] for fault in caught.value.faults] == ["controller.extraConf.SlurmdTimeout"]


@pytest.mark.parametrize(("settings", "kind"), of_a_look())
def test_what_a_look_at_the_cluster_may_find_can_be_accepted(settings: dict[str, Any], kind: str) -> None:
    accepting = minimal(**settings, acknowledged={kind: REASON})
    assert [each for each in findings(load(accepting)) if each.id == "nothing-to-acknowledge"] == []


@pytest.mark.parametrize("kind", sorted(set(KINDS) - NOT_OF_RULES))
def test_what_accepts_nothing_is_said(kind: str) -> None:
    sound = minimal(nodesets={"gpu": {"replicas": 1}})
    kind = f"{kind}@controller.extraConf.KillWait" if kind in OF_ONE_PLACE else kind
    assert kind not in {each.id for each in findings(load(sound))}
    after = findings(load(merged(sound, {"acknowledged": {kind: REASON}})))
    said = [(each.path[:17], each.id) for each in after if each.path.startswith("acknowledged")]
    assert said == [(f"acknowledged.{kind}"[:17], "nothing-to-acknowledge")]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mixed-cgroup": REASON}, "did you mean mixed-cgroups?"),
        ({"preflight.": REASON}, "isn't the id of a finding"),
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


def test_nothing_is_said_of_what_is_in_a_setting_that_is_not_taken() -> None:
    down = ["scontrol", "update", "nodename=$HOSTNAME", "state=down", "reason=x"]
    hook = {"container": {"lifecycle": {"preStop": {"exec": {"command": down}}}}}
    sizes = {"resources": {"cpus": 4, "memory": "8Gi"}}
    (only,) = [
        each
        for each in findings(load(minimal(nodesets={"cpu": {"replicas": 1, **sizes, "raw": hook}})))
        if each.level is Level.ERROR
    ]
    assert "isn't taken here" in only.message
