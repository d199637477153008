"""The planner's rival chooses what it is meant to choose, and all readings give the same values."""

from __future__ import annotations

import json

import pytest

from tests import figures
from tests.bench import plan


def test_no_plan_is_dearer_than_its_rivals_choice() -> None:
    for _, given in plan.cases(60, 600):
        plan.check(given)


def test_the_cases_are_what_their_names_say() -> None:
    half, one, small, queue, _ = (given for _, given in plan.cases(60, 600))
    assert [len(each.selected) for each in (*plan.ours(half), *plan.ours(one), *plan.ours(small))] == [30, 1, *[2] * 6]
    assert [len(each) for each in small.nodesets] == [10] * 6
    assert sum(job.waits and bool(job.required_nodes) for job in queue.jobs) == 30
    assert any("nodelist" in each for each in plan.ours(queue)[0].warnings)


def test_the_same_seed_gives_the_same_cluster() -> None:
    assert plan.fleet(20, 100) == plan.fleet(20, 100)
    assert plan.fleet(20, 100) != plan.fleet(20, 100, seed=2)


def test_every_job_runs_and_some_on_several_nodes() -> None:
    given = plan.fleet(20, 100)
    assert all(job.active for job in given.jobs)
    assert {len(job.node_names) for job in given.jobs} == {1, 4}


@pytest.mark.parametrize("kind", plan.READERS)
@pytest.mark.parametrize("rows", [1, 3])
def test_rows_are_those_of_a_real_slurmrestd_and_read_the_same_both_ways(kind: str, rows: int) -> None:
    content = plan.body(kind, rows)
    assert len(json.loads(content)[kind]) == rows
    ours, whole = (plan.READERS[kind][way](content) for way in ("ours", "whole"))
    assert ours == whole
    assert not any(each.unreadable for each in ours)  # type: ignore[attr-defined]


def test_memory_is_measured_for_every_reader() -> None:
    assert set(plan.read_memory("nodes", plan.body("nodes", 5))) == set(plan.READERS["nodes"])


def test_a_report_names_every_way() -> None:
    row, samples = plan.planned(plan.fleet(8, 20), rounds=1)
    text = plan.report("plan", row, samples)
    assert all(name in text for name in ("ours", "ends only", "MiB", figures.told(row["ours"])))
