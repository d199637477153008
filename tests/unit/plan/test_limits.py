"""Limits stop what is too much, and what isn't known is never within them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.commands import cli
from slinky_iac.commands.plan.build import change_order
from slinky_iac.commands.plan.limits import Exit, Limits, judge
from slinky_iac.commands.plan.model import Change, ChangeOrder, Drain, Job, Node
from tests.unit.plan.made import HOUR, MINUTE, NOW, digest, job, plan, scale_in

PLAN = plan({"gpu-2": [job("7", "alice", -2 * HOUR, 30 * MINUTE)], "gpu-1": []}, before=4, after=2)
ORDER = change_order(digest(scale_in(PLAN, before=4, after=2)), now=NOW)


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(), Exit.OK),
        (Limits(max_share=0.5), Exit.OK),
        (Limits(max_share=0.49), Exit.EXCEEDED),
        (Limits(max_jobs=1), Exit.OK),
        (Limits(max_jobs=0), Exit.EXCEEDED),
        (Limits(max_job_age_s=2 * HOUR), Exit.OK),
        (Limits(max_job_age_s=2 * HOUR - 1), Exit.EXCEEDED),
    ],
)
def test_each_limit_stops_exactly_what_is_over_it(limits: Limits, code: Exit) -> None:
    assert judge(ORDER, limits).code is code


def test_a_job_whose_start_is_unknown_is_older_than_any_limit() -> None:
    planned = plan({"gpu-2": [{**job("7", "alice", 0, HOUR), "started": "unknown"}]}, before=4, after=3)
    order = change_order(digest(scale_in(planned, before=4, after=3)), now=NOW)
    assert judge(order, Limits(max_job_age_s=10**8)).code is Exit.EXCEEDED


def test_jobs_that_are_counted_and_not_listed_have_no_known_age() -> None:
    order = change_order(digest(scale_in({**PLAN, "jobs_total": 900}, before=4, after=2)), now=NOW)
    assert judge(order, Limits(max_job_age_s=10 * HOUR)).code is Exit.UNKNOWN
    assert judge(order, Limits(max_jobs=899)).code is Exit.EXCEEDED
    assert judge(order, Limits()).code is Exit.OK


JOBS = st.builds(
    Job, st.text(max_size=3), st.text(max_size=3), st.just("p"), st.just("RUNNING"),
    st.none() | st.integers(NOW - 10**6, NOW), st.none() | st.integers(NOW, NOW + 10**6),
)  # fmt: skip
DRAINS = st.builds(
    Drain, st.sampled_from(["scale-in", "rollout", "removal"]), st.just("gpu"), st.booleans(),
    st.integers(0, 9), st.integers(0, 9),
    st.lists(st.builds(Node, st.text(max_size=3), st.just(""), st.just("busy"), st.none()), max_size=3).map(tuple),
    st.lists(JOBS, max_size=4).map(tuple), st.integers(0, 9),
)  # fmt: skip
LIMITS = st.builds(Limits, st.none() | st.floats(0.01, 1), st.none() | st.integers(0, 9), st.none() | st.integers(0, 10**6))


@given(st.lists(DRAINS, max_size=3).map(tuple), LIMITS, st.booleans())
def test_nothing_unknown_or_failed_ever_passes(drains: tuple[Drain, ...], limits: Limits, failed: bool) -> None:
    order = ChangeOrder("p", "s", NOW, drains=drains, failed=failed)
    verdict = judge(order, limits)
    if failed or not all(each.known for each in drains):
        assert verdict.code is not Exit.OK
    assert (verdict.code is Exit.OK) == (verdict.reasons == ())


@given(st.lists(DRAINS, max_size=3).map(tuple), LIMITS)
def test_a_tighter_limit_never_lets_more_through(drains: tuple[Drain, ...], limits: Limits) -> None:
    order = ChangeOrder("p", "s", NOW, changes=(Change("update", "x", "y"),), drains=drains)
    if judge(order, Limits()).code is not Exit.OK:
        assert judge(order, limits).code is not Exit.OK


def run(tmp_path: Path, *arguments: str, text: str | None = None) -> int:
    file = tmp_path / "preview.json"
    file.write_text(text if text is not None else digest(scale_in(PLAN, before=4, after=2)))
    return cli.main(["plan", str(file), *arguments])


def test_exit_codes_are_those_that_the_help_promises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path) == 0
    assert run(tmp_path, "--max-share", "25%") == 3
    assert run(tmp_path, text=digest(scale_in({}, before=4, after=2))) == 4
    assert run(tmp_path, text="nonsense") == 1
    assert "isn't a JSON event" in capsys.readouterr().err
    for wrong in (["--max-share", "0"], ["--max-share", "150%"], ["--max-jobs", "-1"], ["--max-job-age", "soon"]):
        with pytest.raises(SystemExit) as ended:
            run(tmp_path, *wrong)
        assert ended.value.code == 2


def test_the_answer_goes_where_it_is_asked_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form, begin in (("json", "{"), ("markdown", "<!--"), ("html", "<!doctype html>"), ("table", "2 nodes drain")):
        assert run(tmp_path, "--format", form, "--out", str(tmp_path / form)) == 0
        assert (tmp_path / form).read_text().startswith(begin)
    assert capsys.readouterr().out == ""
    found = json.loads((tmp_path / "json").read_text())
    assert (found["schema"], found["verdict"]["exit_code"]) == (1, 0)
    assert found["drains"][0]["jobs"][0]["ends_by"].endswith("Z")


def test_a_file_that_can_not_be_read_is_a_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["plan", str(tmp_path / "none.json")]) == 1
    assert "can't be read" in capsys.readouterr().err
