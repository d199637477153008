"""The change order has what slurm.conf loses, with the jobs it waits for."""

from __future__ import annotations

from typing import Any

from slinky_iac.commands.plan.drains import slurm_conf
from slinky_iac.commands.plan.limits import Exit, Limits, judge
from slinky_iac.commands.plan.model import ChangeOrder
from slinky_iac.commands.plan.words import drain_title, headline
from tests.unit.plan.made import HOUR, NOW, job

OLD: dict[str, Any] = {"partitions": {"all": "", "batch": ""}, "hosts": {"metal-1": ""}, "policy": {"deadline_s": 1800.0}}
NEW: dict[str, Any] = {**OLD, "partitions": {"all": ""}}


def planned(**more: Any) -> dict[str, Any]:
    jobs = [{**job("7", "bob", -60, 60, partition="batch"), "waits": False}]
    jobs.append({**job("8", "eve", 0, None, partition="batch"), "waits": True})
    rest: dict[str, Any] = {"hosts": [], "changed": [], "jobs_total": 2, "free_at": "unknown", "blocks": [], "warnings": []}
    return {"schema": 1, "known": True, "partitions": ["batch"], "jobs": jobs, **rest, **more}


def test_a_partition_with_jobs_is_a_drain_of_its_own() -> None:
    found = slurm_conf(OLD, {**NEW, "plan": planned()}, NOW)
    assert found is not None
    assert (found.kind, found.known, found.jobs_total) == ("slurm-conf", True, 2)
    assert drain_title(found) == "slurm.conf without partition batch"
    assert [(node.name, node.jobs) for node in found.nodes] == [("partition batch", ("7", "8"))]
    assert [each.label for each in found.late] == ["8"], "a job that waits has no known end"
    order = ChangeOrder("slinky-iac", "prod", NOW, drains=(found,))
    assert headline(order) == "0 nodes drain, 2 jobs are waited for"
    assert judge(order, Limits(max_jobs=0)).code == Exit.EXCEEDED
    assert judge(order, Limits(max_jobs=9)).code == Exit.LATE


def test_nothing_that_leaves_is_passed_over_without_a_plan() -> None:
    found = slurm_conf(OLD, {**NEW, "hosts": {}}, NOW)
    assert found is not None
    assert (found.known, found.what) == (False, "slurm.conf without host metal-1, partition batch")
    order = ChangeOrder("slinky-iac", "prod", NOW, drains=(found,))
    assert judge(order, Limits()).code == Exit.UNKNOWN
    stale = slurm_conf({**OLD, "plan": planned(partitions=["other"])}, {**NEW, "plan": planned(partitions=["other"])}, NOW)
    assert stale is not None
    assert not stale.known


def test_an_old_plan_that_is_kept_is_no_drain() -> None:
    assert slurm_conf({**OLD, "plan": planned()}, {**OLD, "plan": planned()}, NOW) is None
    assert slurm_conf(OLD, {**OLD, "plan": {"schema": 1, "gives_back": ["partition batch"]}}, NOW) is None


def test_an_outside_slurm_conf_has_its_admins_steps_and_no_deadline() -> None:
    steps = ["scontrol update partitionname=batch state=drain", "scontrol reconfigure"]
    found = slurm_conf(OLD, {**NEW, "outside": True, "plan": planned(steps=steps, outside=True)}, NOW + HOUR)
    assert found is not None
    assert found.deadline_at is None
    assert found.warnings[-2:] == tuple(steps)
