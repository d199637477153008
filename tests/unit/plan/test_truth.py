"""What stands at the head is what the timeline shows: never green on what is foretold to fail, nor where no limit is set."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest

from slinky_iac.commands.plan import words
from slinky_iac.commands.plan.build import change_order, read_removals
from slinky_iac.commands.plan.cli import as_json
from slinky_iac.commands.plan.limits import Exit, Limits, Verdict, judge
from slinky_iac.commands.plan.model import ChangeOrder
from slinky_iac.commands.plan.render_html import axis, chart, page
from slinky_iac.commands.plan.render_markdown import markdown
from slinky_iac.commands.plan.render_table import table
from slinky_iac.errors import PreviewError
from slinky_iac.names import UNASKED
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
    scale_in,
    step,
    teardown,
    worked_example,
)

ERROR = {"severity": "error", "message": "48102_7 of chandra would be ended"}
LIMITED = Limits(max_jobs=100)
NAMESPACE = "kubernetes:core/v1:Namespace"


def order_of(planned: dict[str, Any], **more: Any) -> ChangeOrder:
    return change_order(digest(scale_in(planned, before=planned["from"], after=planned["to"], **more)), now=NOW)


def one(end: int | None, **more: Any) -> ChangeOrder:
    """One job that ends then; the deadline is in an hour."""
    return order_of(plan({"gpu-2": [job("48102_7", "chandra", -HOUR, end)]}, before=3, after=2), **more)


def all_forms(order: ChangeOrder, verdict: Verdict) -> tuple[str, ...]:
    return (table(order, verdict), markdown(order, verdict).replace("\\", ""), page(order, verdict))


@pytest.mark.parametrize("act", ["keep", "undo", "requeue", "cancel"])
@pytest.mark.parametrize(("end", "code"), [(HOUR, Exit.OK), (HOUR + 1, Exit.LATE), (None, Exit.LATE)])
def test_a_job_past_the_deadline_is_never_green(act: str, end: int | None, code: Exit) -> None:
    order = one(end, act=act)
    verdict = judge(order, LIMITED)
    assert verdict.code is code
    assert (words.face(order, verdict) == "ok") == (code is Exit.OK)
    if code is Exit.LATE:
        for shown in all_forms(order, verdict):
            assert "Would pass its deadline" in shown
            assert "48102_7 of chandra" in shown
    assert judge(order, Limits(max_jobs=100, allow_late=True)).code is Exit.OK


def test_jobs_that_are_not_listed_can_be_late_by_their_node() -> None:
    planned = plan({"gpu-2": [job("7", "alice", -HOUR, 9 * HOUR)]}, before=3, after=2) | {"jobs": [], "jobs_total": 900}
    verdict = judge(order_of(planned), Limits(max_jobs=1000))
    assert (verdict.code, verdict.reasons[0][:5]) == (Exit.LATE, "gpu: ")


def test_what_stands_in_the_way_is_never_green() -> None:
    order = order_of(plan({"gpu-2": []}, before=3, after=2, blocks=["somebody else drained gpu-2"]))
    for limits in (LIMITED, Limits(allow_late=True)):
        verdict = judge(order, limits)
        assert verdict.code is Exit.LATE
        assert "somebody else drained gpu-2" in verdict.reasons[0]
        assert "Would be stopped" in table(order, verdict)


def test_worse_codes_come_first_and_hide_no_reason() -> None:
    verdict = judge(one(9 * HOUR), Limits(max_jobs=0))
    assert verdict.code is Exit.EXCEEDED
    assert len(verdict.reasons) == 2


@pytest.mark.parametrize(
    ("order", "limits", "word", "face"),
    [
        (one(MINUTE), LIMITED, "Within the limits", "ok"),
        (one(MINUTE), Limits(), "No limits set", "none"),
        (change_order(digest(), now=NOW), LIMITED, "Nothing to judge", "none"),
        (change_order(digest(custom("update", "RestApi", "r", {}, {"a": 1})), now=NOW), LIMITED, "Nothing to judge", "none"),
        (one(9 * HOUR), Limits(), "Would pass its deadline", "ask"),
    ],
)
def test_green_needs_a_limit_and_something_to_judge(order: ChangeOrder, limits: Limits, word: str, face: str) -> None:
    verdict = judge(order, limits)
    assert (words.verdict_line(order, verdict), words.face(order, verdict)) == (word, face)
    assert f'class="verdict {face}"' in page(order, verdict)
    assert ("✅" in markdown(order, verdict)) == (face == "ok")
    assert json.loads(as_json(order, verdict))["verdict"]["limited"] == limits.given


@pytest.mark.parametrize(
    ("order", "users"),
    [
        (change_order(digest(), now=NOW), "no users"),
        (one(MINUTE), "1"),
        (order_of(plan({"gpu-1": []}, before=3, after=2)), "none"),
        (order_of(plan({}, before=3, after=2, known=False)), "unknown"),
        (order_of(plan({"gpu-2": [job("7", "alice", 0, HOUR)]}, before=3, after=2, known=False)), "unknown, at least 1"),
        (order_of(plan({"gpu-2": [job("7", "alice", 0, HOUR)]}, before=3, after=2) | {"jobs_total": 300}), "at least 1"),
        (change_order(digest(teardown()), now=NOW), "unknown"),
    ],
)
def test_users_that_are_not_known_are_not_none(order: ChangeOrder, users: str) -> None:
    assert words.users(order) == users
    assert f"<dt>Users waited for</dt><dd>{users}</dd>" in page(order, judge(order, Limits()))


WARNED = {"severity": "warning", "message": "warning: `pulumi up` will stop at the first resource"}
NOTED = {"severity": "info", "message": "info: all is well"}


@pytest.mark.parametrize(
    "preview",
    [
        digest(diagnostics=[ERROR]),
        events(said=[{"diagnosticEvent": ERROR}], summary=False),
        digest(
            scale_in(plan({"gpu-2": []}, before=3, after=2), before=3, after=2),
            diagnostics=[ERROR],
        ),
    ],
)
def test_a_failed_preview_knows_nothing_and_says_its_own_error(preview: str) -> None:
    order = change_order(preview, now=NOW)
    verdict = judge(order, LIMITED)
    assert (words.last_free(order), words.users(order), order.known) == ("unknown", "unknown", False)
    assert json.loads(as_json(order, verdict))["known"] is False
    for shown in all_forms(order, verdict):
        assert "nothing to wait for" not in shown
        assert "No policy pack was applied" not in shown
        assert "48102_7 of chandra would be ended" in shown


@pytest.mark.parametrize("target", [3, 4])
def test_a_gate_whose_preview_got_no_answer_is_unknown(target: int) -> None:
    made = scale_in(None, before=3, after=target)
    made["newState"]["inputs"]["due"] = f"{UNASKED}slurmrestd gave no answer"
    order = change_order(digest(made), now=NOW)
    assert [(drain.known, drain.warnings) for drain in order.drains] == [(False, ("not known: slurmrestd gave no answer",))]
    assert (words.headline(order), words.last_free(order)) == ("Which nodes drain is not known", "unknown")
    assert judge(order, Limits()).code is Exit.UNKNOWN


@pytest.mark.parametrize("steps", [(), (scale_in(plan({"gpu-1": []}, before=3, after=2), before=3, after=2),)])
def test_warnings_stand_under_the_headline_and_not_among_policies(steps: tuple[dict[str, Any], ...]) -> None:
    order = change_order(digest(*steps, diagnostics=[WARNED, NOTED]), now=NOW)
    verdict = judge(order, LIMITED)
    for shown, below in zip(all_forms(order, verdict), ("\nPolicies", "**Policies.**", "<h2>Policies"), strict=True):
        assert shown.count("will stop at the first resource") == 1
        assert shown.index("will stop at the first resource") < shown.index(below)
        if steps:
            assert shown.index("will stop at the first resource") < shown.index("gpu: 3 → 2 nodes")
    assert "<details" not in markdown(order, verdict).partition("will stop")[0]


def test_a_failed_preview_says_how_far_it_came_and_counts_nothing_that_it_did_not_see() -> None:
    early = change_order(digest(diagnostics=[ERROR]), now=NOW)
    late = change_order(digest(step("create", NAMESPACE, "slurm-ns", None), diagnostics=[ERROR]), now=NOW)
    assert (early.failed, late.failed) == (True, True)
    assert words.counts(early) == "the preview failed before its first resource"
    assert words.counts(late) == "1 to create, 0 unchanged when the preview failed"
    for shown in all_forms(early, judge(early, Limits())):
        assert "unchanged" not in shown


def test_a_preview_without_steps_has_no_stack_and_says_so() -> None:
    order = change_order(digest(), now=NOW)
    for shown in all_forms(order, judge(order, Limits())):
        assert "a stack that the preview doesn't name" in html.unescape(shown)
        assert re.search(r"(^|[ >])/[, <]", shown, re.MULTILINE) is None


@pytest.mark.parametrize("op", ["delete", "replace", "delete-replaced"])
def test_a_namespace_that_goes_is_unknown_jobs_and_never_green(op: str) -> None:
    gone = step(op, NAMESPACE, "slurm-ns", {"metadata": {"name": "slurm"}}, None)
    order = change_order(digest(gone), now=NOW)
    verdict = judge(order, LIMITED)
    assert verdict.code is Exit.UNKNOWN
    for shown in all_forms(order, verdict):
        assert "Namespace slurm is deleted" in shown
        assert "namespace slurm: deleted with everything in it" in shown


def test_a_namespace_is_unknown_although_every_nodeset_in_it_is_drained() -> None:
    removals = read_removals(json.dumps({"plans": [plan({"gpu-1": []}, before=1, after=0)]}))
    gone = step("delete", NAMESPACE, "slurm-ns", {"metadata": {"name": "slurm"}})
    order = change_order(digest(teardown(replicas=1), gone), now=NOW, removals=removals)
    assert judge(order, LIMITED).code is Exit.UNKNOWN


def test_a_namespace_that_stays_in_kubernetes_drains_nothing() -> None:
    kept = step("delete", NAMESPACE, "slurm-ns", {"metadata": {"name": "slurm"}}, retainOnDelete=True)
    assert change_order(digest(kept), now=NOW).drains == ()


@pytest.mark.parametrize("op", ["same", "update", "delete"])
def test_a_gate_that_pulumi_drops_without_a_call_blocks(op: str) -> None:
    """Policies don't see the option; a preview and a state do."""
    sides = {"old": gate_inputs(2, None)} | ({} if op == "delete" else {"new": gate_inputs(2, None)})
    gate = step(op, "pulumi-python:dynamic/slurm:NodeSetScale", "prod-gpu-scale", **sides, retainOnDelete=True)
    order = change_order(digest(gate), now=NOW)
    (found,) = order.drains
    assert "retainOnDelete" in found.blocks[0]
    assert judge(order, Limits()).code is Exit.UNKNOWN


def test_the_table_is_sorted_like_the_page() -> None:
    order = change_order(worked_example(), now=NOW)
    verdict = judge(order, Limits())
    rows = [line.split()[0] for line in table(order, verdict).splitlines() if line.startswith("  gpu-")]
    bars = [row.node.name for row in chart(order.drains[0], axis(order)).rows]
    assert rows == bars
    assert bars[0] == "gpu-3"


@pytest.mark.parametrize("width", [80, 100, 140])
def test_a_table_is_no_wider_than_the_terminal(width: int) -> None:
    order = change_order(worked_example(), now=NOW)
    verdict = judge(order, Limits(max_jobs=1))
    shown = table(order, verdict, width=width)
    assert max(len(line) for line in shown.splitlines()) <= width
    mark = "after the deadline" if width > 80 else "late"
    (row,) = (line for line in shown.splitlines() if "48102_7" in line and "chandra" in line and "in 3 h" in line)
    assert row.endswith(f"  {mark}")
    assert f"\x1b[31m{mark}\x1b[0m" in table(order, verdict, colour=True, width=width)


def many(late: int, timely: int) -> ChangeOrder:
    nodes = {f"late-{at}": [job(f"9{at}", "alice", -HOUR, 2 * HOUR + at)] for at in range(late)}
    nodes |= {f"fine-{at}": [job(f"1{at}", "bob", -HOUR, 5 * MINUTE + at)] for at in range(timely - 4)}
    nodes |= {f"idle-{at}": [] for at in range(4)}
    return order_of(plan(nodes, before=late + timely + 9, after=9))


def test_many_nodes_are_summed_up_and_those_on_time_are_folded() -> None:
    order = many(16, 28)
    verdict = judge(order, LIMITED)
    for shown in all_forms(order, verdict):
        assert "28 free by the deadline (4 of them idle), 16 late" in shown
    drawn = chart(order.drains[0], axis(order))
    assert {row.node.name[:4] for row in drawn.rows} == {"late"}
    assert (len(drawn.rows), len(drawn.folded), drawn.hidden) == (16, 28, 0)
    assert "<summary>28 nodes more that are free by the deadline</summary>" in page(order, verdict)


def test_a_few_nodes_are_all_shown() -> None:
    drawn = chart(many(4, 16).drains[0], axis(many(4, 16)))
    assert (len(drawn.rows), len(drawn.folded)) == (20, 0)


def test_nothing_late_still_shows_who_is_waited_for() -> None:
    order = many(0, 40)
    drawn = chart(order.drains[0], axis(order))
    assert (len(drawn.rows), len(drawn.folded)) == (6, 34)


def test_who_is_waited_for_comes_before_the_chart() -> None:
    shown = page(change_order(worked_example(), now=NOW), Verdict(Exit.OK, ()))
    assert shown.index("<h2>Who is waited for") < shown.index('class="chart"')


def test_a_short_bar_has_its_words_beside_it_where_there_is_room() -> None:
    order = order_of(
        plan({"a": [job("1", "alice", -MINUTE, 9 * HOUR)], "b": [job("2", "bob", 0, MINUTE)]}, before=3, after=1)
    )
    long, short = (row.bars[0] for row in chart(order.drains[0], axis(order)).rows)
    assert (long.label, short.label) == ("in", "after")
    assert short.left + short.width + short.room <= 100
    assert 'class="bar c' in page(order, judge(order, Limits()))


def test_deep_json_is_an_error_that_says_so() -> None:
    for text in ("[" * 100_000, '{"steps":' + "[" * 100_000, '{"a":' * 100_000, digest() + "\n" + "[" * 100_000):
        with pytest.raises(PreviewError):
            change_order(text, now=NOW)
        with pytest.raises(PreviewError):
            read_removals(text)
    nested: dict[str, Any] = {"replicas": 1}
    other: dict[str, Any] = {"replicas": 2}
    for _ in range(400):
        nested, other = {"a": nested}, {"a": other}
    deep = digest(custom("update", "NodeSet", "x", nested, other))
    assert change_order(deep, now=NOW).changes[0].fields[0].endswith("replicas: 1 → 2")


@pytest.mark.parametrize("char", ["\x85", "\u2028", "\u2029", "\x1c", "\x0b"])
def test_a_line_break_of_unicode_in_a_message_is_no_end_of_an_event(char: str) -> None:
    """Go escapes no U+0085 in JSON."""
    said = {"diagnosticEvent": {"severity": "warning", "message": f"a{char}b"}}
    text = "\n".join(json.dumps(json.loads(row), ensure_ascii=False) for row in events(said=[said]).splitlines())
    order = change_order(text, now=NOW)
    assert [each.text for each in order.messages] == [f"a{char}b"]


HARMFUL = "\x1b[2J\u202eb\ud800\x85c\u2028"


def test_no_text_of_a_preview_reaches_the_terminal_raw() -> None:
    """Every text that a plan has, the deadline's policy too."""
    bad = dict.fromkeys(("job", "user", "partition", "state"), HARMFUL) | {"started": HARMFUL, "ends_by": HARMFUL}
    node = {"node": HARMFUL, "pod": HARMFUL, "kind": HARMFUL, "free_at": HARMFUL, "jobs": [HARMFUL], "jobs_total": 1}
    planned = plan({}, before=3, after=1, nodeset=HARMFUL, blocks=[HARMFUL], warnings=[HARMFUL]) | {
        "nodes": [node],
        "jobs": [bad],
    }
    hosts = {"policy": {"deadline_s": 60, "on_deadline": HARMFUL}, "hosts": {HARMFUL: "drained"}}
    hosts["plan"] = {"drains": [HARMFUL], "returns": [HARMFUL], "jobs": [bad], "refused": [HARMFUL], "notices": [HARMFUL]}
    text = digest(
        scale_in(planned, before=3, after=1, act=HARMFUL, nodeset=HARMFUL),
        step("update", "pulumi-python:dynamic/slurm:OutsideHosts", HARMFUL, {}, hosts),
        step("delete", NAMESPACE, HARMFUL, {"metadata": {"name": HARMFUL}}),
        diagnostics=[{"severity": "warning", "message": HARMFUL}, {"severity": HARMFUL, "message": HARMFUL}],
    )
    order = change_order(text, now=NOW)
    for limits in (Limits(), Limits(0.1, 0, 0)):
        verdict = judge(order, limits)
        for shown in (table(order, verdict), table(order, verdict, width=80), *all_forms(order, verdict)):
            assert (
                re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown) is None
            )
            shown.encode()


def test_local_time_stands_beside_utc_on_hover_and_nowhere_else() -> None:
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    order = change_order(worked_example(), now=NOW)
    verdict = judge(order, Limits())
    shown = page(order, verdict, zone=ZoneInfo("America/Chicago"))
    assert "that is 21 Nov 02:46 CST" in shown
    assert 'title="21 Nov 02:46 CST"' in shown
    assert page(order, verdict, zone=ZoneInfo("UTC")) == page(order, verdict)
