"""A plan as a stack's output has it: short enough to be read in a preview, and no node that goes is unsaid."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac import hostlist
from slinky_iac.drain.written_plan import ROWS, Plan, PlannedJob, PlannedNode, overview


def written(nodes: int, jobs: int) -> dict[str, Any]:
    """The plan of so many nodes and jobs."""
    return Plan(
        current=nodes,
        target=0,
        nodes=tuple(PlannedNode(node=f"gpu-{number}") for number in range(nodes)),
        jobs=tuple(PlannedJob(job=str(number)) for number in range(jobs)),
        jobs_total=jobs,
    ).props


@pytest.mark.parametrize(("nodes", "jobs"), [(0, 0), (1, ROWS), (ROWS, 3)])
def test_a_plan_of_few_rows_is_shown_whole(nodes: int, jobs: int) -> None:
    assert overview(written(nodes, jobs)) == written(nodes, jobs)


@pytest.mark.parametrize("nodes", [ROWS + 1, 1152, 5000])
def test_of_many_nodes_each_is_named_once_and_all_are_counted(nodes: int) -> None:
    shown = overview(written(nodes, 200))
    named = [each["node"] for each in shown["nodes"]]
    assert [*named, *hostlist.expand(shown["more_nodes"], nodes)] == [f"gpu-{number}" for number in range(nodes)]
    assert (len(named), shown["nodes_total"], len(shown["jobs"]), shown["jobs_total"]) == (ROWS, nodes, ROWS, 200)


def test_a_name_that_no_host_can_have_is_named_all_the_same() -> None:
    plan = written(ROWS + 2, 0)
    plan["nodes"][-1]["node"] = "a b"
    assert overview(plan)["more_nodes"] == f"gpu-{ROWS},a b"


@pytest.mark.parametrize("plan", [{}, {"nodes": None, "jobs": None}, {"blocks": ["why"]}])
def test_a_plan_without_rows_stays_as_it_is(plan: dict[str, Any]) -> None:
    assert overview(plan) == plan
