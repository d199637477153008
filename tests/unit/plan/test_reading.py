"""What a preview says becomes a change order; what it doesn't say is unknown; what isn't a preview is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from slinky_iac.commands.plan import words
from slinky_iac.commands.plan.build import change_order, read_removals
from slinky_iac.commands.plan.limits import Exit, Limits, judge
from slinky_iac.drain.plan import unknown_plan
from slinky_iac.errors import PreviewError
from tests.unit.plan.made import (
    HOUR,
    MINUTE,
    NOW,
    custom,
    digest,
    events,
    gate_inputs,
    job,
    plan,
    policy,
    scale_in,
    step,
    teardown,
    worked_example,
)

ALICE = job("7", "alice", -HOUR, 30 * MINUTE)
PLAN = plan({"gpu-2": [ALICE], "gpu-1": []}, before=3, after=1)
HOSTS = "pulumi-python:dynamic/slurm:OutsideHosts"
ERROR = {"diagnosticEvent": {"severity": "error", "message": "no"}}


def order(*steps: dict[str, object], **more: object):
    return change_order(digest(*steps, **more), now=NOW)


def test_a_scale_in_says_nodes_jobs_ends_and_deadline() -> None:
    (drain,) = order(scale_in(PLAN, before=3, after=1)).drains
    assert (drain.kind, drain.what, drain.known, drain.before, drain.after) == ("scale-in", "gpu", True, 3, 1)
    assert [(each.name, each.free_at) for each in drain.nodes] == [("gpu-2", NOW + 30 * MINUTE), ("gpu-1", NOW)]
    assert [(each.label, each.user, each.ends_by) for each in drain.jobs] == [("7", "alice", NOW + 30 * MINUTE)]
    assert (drain.deadline_at, drain.free_at, drain.late) == (NOW + HOUR, NOW + 30 * MINUTE, ())


ROLLOUT = plan(
    {"gpu-2": [ALICE], "gpu-1": [], "gpu-0": []}, before=3, after=3, rolls={"pods": ["a", "b", "c"], "of": 3, "at_once": 1}
)


def test_a_rollout_says_how_many_are_away_at_once() -> None:
    (drain,) = order(scale_in(ROLLOUT, before=3, after=3)).drains
    assert (drain.kind, drain.at_once, len(drain.nodes), drain.jobs_total) == ("rollout", 1, 3, 1)
    assert drain.share == pytest.approx(1 / 3)
    assert words.drain_title(drain) == "gpu: 3 of 3 pods replaced, 1 at once"


def test_a_rollout_like_the_last_one_is_one_all_the_same() -> None:
    """Nodes without jobs have the same plan each time; the template is another one."""
    old = {**gate_inputs(3, ROLLOUT), "template": "a"}
    (drain,) = order(step("update", *_gate(), old, {**old, "template": "b"})).drains
    assert drain.kind == "rollout"
    assert order(step("update", *_gate(), old, {**old, "policy": {"deadline_s": 60}})).drains == ()


def test_both_forms_say_the_same() -> None:
    steps = (scale_in(PLAN, before=3, after=1), custom("delete", "LoginSet", "login", {"spec": {}}))
    one, two = change_order(digest(*steps), now=NOW), change_order(events(*steps), now=0)
    assert (one.changes, one.drains, one.taken_at) == (two.changes, two.drains, two.taken_at)
    assert one.policies is None
    assert two.policies is not None


def test_a_plan_kept_from_an_earlier_scale_in_drains_nobody() -> None:
    """Gates keep their last plan so that a second preview is empty; a change of a deadline alone must not show it."""
    old = gate_inputs(1, PLAN)
    assert order(step("update", *_gate(), old, {**old, "policy": {"deadline_s": 60}})).drains == ()
    assert order(step("same", *_gate(), old, old)).drains == ()
    grown = {**old, "replicas": 4, "maxReplicas": 4}
    assert order(step("update", *_gate(), old, grown)).drains == ()


def test_the_same_plan_again_after_an_interruption_still_drains() -> None:
    (drain,) = order(scale_in(PLAN, before=3, after=1, old=PLAN)).drains
    assert len(drain.nodes) == 2


def test_a_scale_in_without_a_plan_is_unknown() -> None:
    for planned in ({}, None):
        (drain,) = order(scale_in(planned, before=3, after=1)).drains
        assert not drain.known
    unasked = {**PLAN, "known": False, "nodes": [], "jobs": [], "free_at": "unknown"}
    assert judge(order(scale_in(unasked, before=3, after=1)), Limits()).code is Exit.UNKNOWN


@pytest.mark.parametrize("part", [{"jobs": [{"job": 7}]}, {"nodes": "all"}, {"jobs_total": 1e300}, {"known": "?"}])
def test_a_plan_of_which_a_part_can_not_be_read_is_unknown(part: dict[str, object]) -> None:
    (drain,) = order(scale_in({**PLAN, **part}, before=3, after=1)).drains
    assert (drain.known, drain.before, drain.after, drain.deadline_at) == (False, 3, 1, None)


def test_hosts_whose_plan_can_not_be_read_are_unknown() -> None:
    old = {"hosts": {"metal-1": "active"}, "plan": {}}
    new = {"hosts": {"metal-1": "drained"}, "plan": {"drains": ["metal-1"], "jobs": [{"job": 7}]}}
    (drain,) = order(step("update", HOSTS, "hosts", old, new)).drains
    assert (drain.known, [node.name for node in drain.nodes]) == (False, ["metal-1"])


def test_an_input_that_is_not_known_yet_is_absent_alone() -> None:
    unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
    new = {**gate_inputs(1, PLAN), "policy": unknown, "template": unknown}
    (drain,) = order(step("update", *_gate(), gate_inputs(3, None), new)).drains
    assert (drain.known, drain.deadline_at, len(drain.nodes)) == (True, None, 2)


@pytest.mark.parametrize("state", ["x", [], {"inputs": []}, {"protect": 1}])
def test_a_step_that_pulumi_does_not_write_is_refused_with_its_place_and_no_value(state: object) -> None:
    with pytest.raises(PreviewError, match=r"isn't as Pulumi writes it .*\$\.steps\[0\]\.newState"):
        order({"op": "update", "urn": "urn:pulumi:a::b::c::d", "newState": state})


def test_a_new_gate_drains_nobody() -> None:
    assert order(step("create", *_gate(), None, gate_inputs(3, None))).drains == ()


def test_a_new_gate_over_a_nodeset_that_is_there_drains_what_is_too_much() -> None:
    (drain,) = order(step("create", *_gate(), None, gate_inputs(1, PLAN))).drains
    assert (drain.known, drain.before, drain.after, len(drain.nodes)) == (True, 3, 1, 2)


def test_a_new_gate_that_nobody_could_look_for_is_unknown_and_not_free() -> None:
    written = unknown_plan("gpu", 3, 3, "no route").written.props
    found = order(step("create", *_gate(), None, gate_inputs(3, written)))
    assert not found.known
    assert (words.headline(found), words.last_free(found)) == ("Which nodes drain is not known", "unknown")


@pytest.mark.parametrize("op", ["delete", "delete-replaced", "replace"])
def test_a_removal_is_unknown_until_its_plan_is_given(op: str) -> None:
    text = digest(teardown(op))
    (unknown,) = change_order(text, now=NOW).drains
    assert (unknown.kind, unknown.known, unknown.before) == ("removal", False, 2)
    removals = read_removals(json.dumps({"schema": 1, "plans": [plan({"gpu-0": [ALICE]}, before=1, after=0)]}))
    (known,) = change_order(text, now=NOW, removals=removals).drains
    assert (known.kind, known.known, [job.label for job in known.jobs]) == ("removal", True, ["7"])


REMOVALS = "pulumi-python:dynamic/slurm:Removals"
SESSIONS = "pulumi-python:dynamic/slurm:SessionsGate"


def test_what_leaves_the_program_has_its_plan_in_the_preview() -> None:
    gone = [plan({"gpu-0": [ALICE]}, before=1, after=0), plan({}, before=0, after=0, nodeset="logins.main", jobs=[ALICE])]
    listed = step("update", REMOVALS, "removals", {"stands": {"gpu": {}}}, {"stands": {}, "plan": {"removals": gone}})
    login = step("delete", SESSIONS, "login", {"host": "logins.main", "policy": {"deadline_s": HOUR}})
    found = {each.what: each for each in order(listed, teardown(), login).drains}
    assert {name: (each.kind, each.known) for name, each in found.items()} == {
        "gpu": ("removal", True),
        "logins.main": ("sessions", True),
    }
    assert [job.label for job in found["logins.main"].jobs] == ["7"]
    assert found["logins.main"].deadline_at == NOW + HOUR
    assert words.drain_title(found["logins.main"]).startswith("logins.main: removed once")


def test_login_pods_that_a_destroy_removes_are_unknown_unless_they_may_be_interrupted() -> None:
    (unknown,) = order(step("delete", SESSIONS, "login", {"host": "logins.main"})).drains
    assert (unknown.kind, unknown.known) == ("sessions", False)
    assert order(step("delete", SESSIONS, "login", {"host": "logins.main", "interrupts": True})).drains == ()


def test_a_nodeset_that_goes_without_its_gate_is_named() -> None:
    lone = custom("delete", "NodeSet", "gpu", {"metadata": {"name": "slurm-worker-gpu"}})
    (drain,) = order(lone).drains
    assert not drain.known
    assert "no NodeSetScale" in drain.blocks[0]
    assert [each.blocks for each in order(teardown(), lone).drains] == [()]


def test_the_gate_of_a_nodeset_is_no_gate_of_one_whose_name_ends_like_its_own() -> None:
    lone = custom("delete", "NodeSet", "big-gpu", {"metadata": {"name": "slurm-worker-big-gpu"}})
    gated, ungated = order(teardown(), lone).drains
    assert (gated.what, ungated.what) == ("gpu", "slurm-worker-big-gpu")
    assert "their jobs die" in ungated.blocks[0]


def test_bare_metal_hosts_that_are_held_are_drains_too() -> None:
    old = {"hosts": {"metal-1": "active"}, "policy": {"deadline_s": HOUR}, "plan": {}}
    planned = {"drains": ["metal-1"], "returns": ["metal-2"], "jobs": [ALICE], "refused": ["no"], "notices": ["so"]}
    (drain,) = order(step("update", HOSTS, "hosts", old, {**old, "plan": planned})).drains
    assert ([node.name for node in drain.nodes], drain.returns, drain.blocks) == (["metal-1"], ("metal-2",), ("no",))
    held = {**old, "hosts": {"metal-1": "drained"}}
    assert [each.known for each in order(step("update", HOSTS, "hosts", old, held)).drains] == [False]
    assert order(step("update", HOSTS, "hosts", held, {**held, "policy": {}})).drains == ()


def test_a_job_without_an_end_is_late_and_its_node_never_known_free() -> None:
    endless = plan({"gpu-2": [job("9", "bob", -HOUR, None)]}, before=2, after=1)
    (drain,) = order(scale_in(endless, before=2, after=1)).drains
    assert (drain.nodes[0].free_at, [each.label for each in drain.late]) == (None, ["9"])


@pytest.mark.parametrize("act", ["cancel", "requeue"])
def test_jobs_that_the_deadline_ends_are_what_can_not_be_undone(act: str) -> None:
    long = plan({"gpu-2": [job("9", "bob", -HOUR, 5 * HOUR)]}, before=2, after=1)
    harmed = order(scale_in(long, before=2, after=1, act=act)).undo
    assert len(harmed) == 1
    assert "9 of bob" in harmed[0][1]
    assert order(scale_in(long, before=2, after=1, act="keep")).undo == ()


@pytest.mark.parametrize("kind", ["Controller", "Accounting", "RestApi", "NodeSet", "LoginSet"])
@pytest.mark.parametrize("op", ["delete", "replace"])
def test_what_goes_can_not_be_undone(kind: str, op: str) -> None:
    assert [what for what, _ in order(custom(op, kind, "x", {"spec": {}})).undo] == [f"{op} {kind} x"]
    protected = order(custom(op, kind, "x", {"spec": {}}, protect=True)).undo
    assert "protected" in protected[0][1]
    assert order(custom("update", kind, "x", {"spec": {}}, {"spec": {"a": 1}})).undo == ()


def test_a_replacement_is_one_change() -> None:
    steps = [
        custom(op, "Controller", "x", {"spec": {"a": 1}}, {"spec": {"a": 2}}) for op in ("create-replacement", "replace")
    ]
    steps.append(custom("delete-replaced", "Controller", "x", {"spec": {"a": 1}}))
    (change,) = order(*steps).changes
    assert (change.op, change.fields) == ("replace", ("spec.a: 1 → 2",))


def test_values_are_shown_only_where_they_are_no_secret() -> None:
    old = {"stringData": {"slurm.key": "AAAA-old"}, "spec": {"image": "slurm:1", "replicas": 3.0, "env": [{"v": "tok-old"}]}}
    new = {"stringData": {"slurm.key": "BBBB-new"}, "spec": {"image": "slurm:2", "replicas": 1.0, "env": [{"v": "tok-new"}]}}
    (change,) = order(custom("update", "NodeSet", "x", old, new)).changes
    assert set(change.fields) == {
        "stringData.slurm.key",
        "spec.env",
        "spec.image: slurm:1 → slurm:2",
        "spec.replicas: 3 → 1",
    }


def test_policies_are_told_with_level_resource_and_message() -> None:
    text = events(
        said=[
            policy("images-pinned", "advisory", "no digest", "nodes"),
            {"policyAnalyzeSummaryEvent": {"passed": ["a", "images-pinned"], "failed": ["b"]}},
            {"policyAnalyzeStackSummaryEvent": {"passed": ["c", "b"]}},
        ]
    )
    found = change_order(text, now=NOW)
    assert found.policies is not None
    assert [(p.level, p.name, p.resource, p.message) for p in found.policies.violations] == [
        ("advisory", "images-pinned", "nodes", "no digest")
    ]
    assert (found.policies.passed, found.failed) == (2, False)


@pytest.mark.parametrize(
    "text",
    [
        digest(diagnostics=[{"severity": "error", "message": "no"}]),
        events(said=[policy("x", "mandatory", "no")]),
        events(result="failed"),
        events(said=[ERROR], summary=False),
        events(said=[ERROR]),
        f"{events(result='')}\n{json.dumps(ERROR)}",
    ],
)
def test_a_preview_that_failed_is_nothing_to_approve(text: str) -> None:
    assert judge(change_order(text, now=NOW), Limits()).code is Exit.FAULT


def test_an_error_after_a_summary_of_success_is_told_and_fails_nothing() -> None:
    found = change_order(f"{events()}\n{json.dumps(ERROR)}", now=NOW)
    assert (found.failed, [(each.severity, each.text) for each in found.messages]) == (False, [("error", "no")])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version": 3, "deployment": {}}',
        "Previewing update (dev)",
        worked_example()[:900],
        "\n".join(worked_example().splitlines()[:-1]),
        digest({"op": "update", "urn": "x"}),
        json.dumps({"steps": []}),
        '{"sequence": 0}\nnull',
    ],
)
def test_what_is_no_whole_preview_is_refused(text: str) -> None:
    with pytest.raises(PreviewError):
        change_order(text, now=NOW)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"plans": [1]}', '{"plans": [{"x": 1}]}', '{"plans": null}', "null"])
def test_plans_of_removals_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(PreviewError, match="drain plan"):
        read_removals(text)


def test_what_an_interrupted_run_left_is_given_back_and_told() -> None:
    found = order(scale_in({"gives_back": ["gpu-1"], "why": "cut short"}, before=3, after=3))
    assert (found.gives_back, found.drains) == (("gpu-1",), ())


def _gate() -> tuple[str, str]:
    return "pulumi-python:dynamic/slurm:NodeSetScale", "gate"


def test_a_preview_of_no_year_that_calendars_have_is_taken_now() -> None:
    hostile = events(scale_in(None, before=2, after=1)).replace(f'"timestamp": {NOW}', f'"timestamp": {10**400}')
    assert hostile != events(scale_in(None, before=2, after=1))
    assert change_order(hostile, now=NOW).taken_at == NOW


@pytest.mark.parametrize(
    "harm", [{"jobs_total": "[secret]"}, {"known": None}, {"nodes": None, "jobs": None}, {"warnings": "x"}]
)
@pytest.mark.parametrize("kind", ["NodeSetScale", "OutsideHosts", "ControllerGate"])
def test_a_new_plan_that_cannot_be_read_is_no_update_without_a_drain(kind: str, harm: dict[str, Any]) -> None:
    """A rollout lowers no number, and a host may be drained again that the file had drained: only the plan says so."""
    same = gate_inputs(3, plan({"gpu-2": [job("41", "alice", 0, HOUR)]}, before=3, after=3))
    given = {**same, "hosts": {"metal-1": "drained"}, "plan": {**same["plan"], "drains": [], "partitions": [], **harm}}
    update = step("update", f"pulumi-python:dynamic/slurm:{kind}", "gate", {**given, "plan": {}}, given)
    (drain,) = order(update).drains
    assert not drain.known


def test_a_plan_of_a_raised_number_is_no_drain() -> None:
    assert order(scale_in({"raises": {"from": 3, "to": 4}}, before=4, after=4)).drains == ()
    assert order(scale_in({"gives_back": ["gpu-1"], "why": "an earlier run"}, before=4, after=4)).drains == ()
