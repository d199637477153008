"""Whose jobs end with a login pod."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from slinky_iac.drain.preview import interactive
from slinky_iac.specs.workers import replaces_pods
from tests.unit.drain.test_observe import JOB

POD = "slurm-login-main-7f9c-x2x"
SRUN = replace(JOB, allocating_node=POD)


def shown(*jobs: Any, hide: str = "") -> list[str]:
    return [view.shown for view in interactive(jobs, [POD], hide)]


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
    assert [view.shown for view in interactive([replace(SRUN, allocating_node="worker-7")], ["Worker-7.example.org"])] == [
        "12_3"
    ]


def test_users_names_are_hidden_where_they_are_elsewhere() -> None:
    (view,) = interactive([SRUN], [POD], "slinky-iac/dev")
    assert view.user.startswith("user-")


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
