"""Records left behind under a reused name are cleared; everything that is somebody's, or young, is not."""

import pytest

from slinky_iac.drain.scale_out import LEFT_BEHIND, stale_records
from tests.unit.drain.made import NOW, OURS, OWNER, given_up, job, node, nodeset, pod, seen

TERMINATING = "slurm-operator: Pod is terminating"


def stale(record, worker=None, *jobs, **changes):
    workers = [worker or pod(0, created=NOW - 100)]
    return stale_records(seen(workers, [record] if record else [], jobs, **changes), OWNER)


def left(state="DOWN", reason=TERMINATING, at=NOW - 101, **changes):
    return node(0, state, reason, reason_at=at, **changes)


@pytest.mark.parametrize("state", ["DOWN", "DOWN+DRAIN", "IDLE+DRAIN", "DOWN+DRAIN+NOT_RESPONDING"])
@pytest.mark.parametrize("reason", [TERMINATING, "Pod is terminating", "slurm-operator: Pod was cordoned", OURS])
def test_what_an_earlier_pod_of_the_name_left_behind_is_cleared(state, reason):
    assert stale(left(state, reason)) == ("gpu-0",)


@pytest.mark.parametrize("reason", ["fan is broken", "Not responding", "slinky-iac:prod/gpu: x", ""])
def test_nobody_elses_reason_is_cleared(reason):
    assert stale(left(reason=reason)) == ()


@pytest.mark.parametrize("at", [NOW - 100, NOW, None])
def test_reason_that_is_not_older_than_the_pod_may_be_the_pods_own_end(at):
    assert stale(left(at=at)) == ()


def test_node_in_service_is_left_alone():
    assert stale(left("IDLE")) == ()
    assert stale(None) == ()


@pytest.mark.parametrize(
    "worker",
    [
        pod(0, created=NOW - 100, ready=False),
        pod(0, created=NOW - 100, terminating=True),
        pod(0, created=NOW - 100, cordon=True),
        given_up(0, created=NOW - 100),
    ],
)
def test_pod_that_is_not_in_service_keeps_its_record(worker):
    assert stale(left(), worker) == ()


def test_record_with_a_job_is_left_alone():
    assert stale(left(), None, job(1, 0)) == ()


def test_nothing_is_cleared_while_the_operator_is_deleting_pods_or_may_be():
    assert stale(left(), replicas=0) == ()
    assert stale(left(), nodeset=nodeset(1, generation=2)) == ()
    assert stale(left(), nodeset=None) == ()
    assert stale(left(), cluster=None) == ()


def test_operators_reasons_are_known_with_and_without_prefix():
    assert LEFT_BEHIND == ("slurm-operator:", "Pod is terminating")
