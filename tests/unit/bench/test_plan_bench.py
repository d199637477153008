"""The planner's rivals choose what they are meant to choose, and both readings give the same jobs."""

from __future__ import annotations

import json

import pytest

from tests.bench import plan


def test_the_plan_is_no_dearer_than_its_rivals_choice() -> None:
    given = plan.fleet(60, 600)
    plan.check(given)
    assert plan.rescan(given, given.pods)[: len(given.pods) - given.target] == plan.sort_only(given)


def test_the_same_seed_gives_the_same_cluster() -> None:
    assert plan.fleet(20, 100) == plan.fleet(20, 100)
    assert plan.fleet(20, 100) != plan.fleet(20, 100, seed=2)


def test_every_job_runs_and_some_on_several_nodes() -> None:
    given = plan.fleet(20, 100)
    assert all(job.active for job in given.jobs)
    assert {len(job.node_names) for job in given.jobs} == {1, 4}


@pytest.mark.parametrize("rows", [1, 3])
def test_a_body_is_json_as_wide_as_slurmrestds_and_reads_the_same_both_ways(rows: int) -> None:
    content = plan.body(rows)
    assert len(json.loads(content)["jobs"]) == rows
    assert 8_000 < len(content) / rows < 13_000
    assert plan.read_ours(content) == plan.read_whole(content)


def test_memory_is_measured_for_every_reader() -> None:
    assert set(plan.read_memory(plan.body(5))) == set(plan.READERS)


def test_a_report_names_every_way() -> None:
    text = plan.report_planning(plan.fleet(8, 20), rounds=1, sample=5)
    assert all(name in text for name in ("ours", "sort only", "rescan", "MiB", "aim at most 0.5 s"))
