"""Whose jobs end with a login pod, or with a slurmctld that keeps no state."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from slinky_iac.releases import OperatorVersion
from slinky_iac.restarts import interactive, unfinished
from slinky_iac.specs.daemons import restarts_slurmctld
from slinky_iac.specs.workers import replaces_pods
from tests.unit.drain.test_observe import JOB

POD = "slurm-login-main-7f9c-x2x"
SRUN = replace(JOB, allocating_node=POD)


def shown(*jobs: Any, hide: str = "") -> list[str]:
    return [view.label for view in interactive(jobs, [POD], hide)]


@pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "COMPLETING", "PENDING", "CONFIGURING"])
def test_a_job_that_srun_or_salloc_holds_from_the_pod_is_in_the_way(state: str) -> None:
    assert shown(replace(SRUN, job_state=frozenset({state}))) == ["12_3"]


@pytest.mark.parametrize(
    "job",
    [
        replace(SRUN, batch_flag=True),
        replace(SRUN, allocating_node="login-1"),
        replace(SRUN, job_state=frozenset({"CANCELLED"})),
        replace(SRUN, allocating_node=""),
    ],
    ids=["of sbatch", "from another host", "over", "of no known host"],
)
def test_any_other_job_is_not(job: Any) -> None:
    assert shown(job) == []


def test_a_host_is_known_by_its_short_name() -> None:
    assert [view.label for view in interactive([replace(SRUN, allocating_node="worker-7")], ["Worker-7.example.org"])] == [
        "12_3"
    ]


def test_users_names_are_hidden_where_they_are_elsewhere() -> None:
    (view,) = interactive([SRUN], [POD], "slinky-iac/dev")
    assert view.user_name.startswith("user-")


LIVE = {"spec": {"replicas": 2, "login": {"image": "login:1"}, "service": {"port": 22}}}


@pytest.mark.parametrize(
    ("change", "replaces"),
    [
        ({"login": {"image": "login:2"}}, True),
        ({"extraSshdConfig": "X11Forwarding yes"}, True),
        ({"replicas": 1}, True),
        ({"replicas": 3.0}, False),
        ({"replicas": 2.0}, False),
        ({"service": {"port": 2222}}, False),
    ],
)
def test_what_ends_pods_is_told_from_what_does_not(change: dict[str, Any], replaces: bool) -> None:
    assert replaces_pods(LIVE, {"spec": {**LIVE["spec"], **change}}) is replaces


def test_a_slurmctld_that_keeps_no_state_forgets_what_runs_and_what_waits() -> None:
    states = ("RUNNING", "SUSPENDED", "COMPLETING", "PENDING", "COMPLETED", "CANCELLED")
    jobs = [replace(JOB, job_state=frozenset({state})) for state in states]
    assert [view.job_state for view in unfinished(jobs)] == [frozenset({state}) for state in states[:4]]


CONTROLLER = {"spec": {"slurmctld": {"image": "slurmctld:1"}, "extraConf": "MaxJobCount=9", "service": {"port": 6817}}}


@pytest.mark.parametrize(
    ("change", "before_1_2", "from_1_2"),
    [
        ({"slurmctld": {"image": "slurmctld:2"}}, True, True),
        ({"template": {"metadata": {}}}, True, True),
        ({"extraConf": ""}, False, True),
        ({"service": {"port": 1}}, False, False),
        ({}, False, False),
    ],
)
def test_which_change_of_a_controller_restarts_slurmctld(change: dict[str, Any], before_1_2: bool, from_1_2: bool) -> None:
    new = {"spec": CONTROLLER["spec"] | change}
    assert restarts_slurmctld(CONTROLLER, new, OperatorVersion.parse("1.1.2")) is before_1_2
    assert restarts_slurmctld(CONTROLLER, new, OperatorVersion.parse("1.2.1")) is from_1_2


def test_a_spec_that_a_preview_does_not_know_yet_may_restart_slurmctld() -> None:
    assert restarts_slurmctld(CONTROLLER, {"spec": None}, OperatorVersion.parse("1.1.2"))
