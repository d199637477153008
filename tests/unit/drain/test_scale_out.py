"""Records left behind under a reused name are cleared; everything that is somebody's, or young, is not."""

import pytest
from msgspec.structs import replace

from slinky_iac.drain.free import LEFT_BEHIND, names_in_use, records_without_pods
from slinky_iac.drain.members import fault_of, stale_records
from tests.unit.drain.made import NOW, OURS, OWNER, given_up, job, node, nodeset, pod, seen

TERMINATING = "slurm-operator: Pod is terminating"


def stale(record, worker=None, *jobs, **changes):
    workers = [worker or pod(0, created=NOW - 100)]
    return stale_records(seen(workers, [record] if record else [], jobs, **changes), OWNER)


def left(state="DOWN", reason=TERMINATING, at=NOW - 101, **changes):
    return node(0, state, reason, reason_changed_at=at, **changes)


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


GONE = "DOWN+DRAIN+DYNAMIC_NORM"


def without_pods(record, *jobs, workers=()):
    look = seen([], [record], jobs)
    return records_without_pods(look.cluster, OWNER, workers)


@pytest.mark.parametrize("reason", [TERMINATING, "Pod is terminating", OURS])
def test_record_of_a_removed_node_is_deleted(reason):
    assert without_pods(left(GONE, reason)) == ("gpu-0",)


def test_record_of_a_node_with_a_pod_is_never_deleted():
    assert without_pods(left(GONE), workers=[pod(0)]) == ()
    assert without_pods(left(GONE), workers=[pod(0, terminating=True)]) == ()


def test_record_with_a_job_is_never_deleted():
    assert without_pods(left(GONE), job(1, 0)) == ()
    assert without_pods(left(GONE), job(1, 0, state="SUSPENDED")) == ()


@pytest.mark.parametrize("state", ["DOWN+DRAIN", "IDLE+DRAIN+DYNAMIC_NORM", "IDLE+DYNAMIC_NORM", "UNKNOWN+DYNAMIC_NORM"])
def test_record_that_is_static_or_not_down_is_never_deleted(state):
    assert without_pods(left(state)) == ()


@pytest.mark.parametrize("reason", ["fan is broken", "Not responding", "slinky-iac:prod/gpu: x", ""])
def test_record_with_somebody_elses_reason_is_never_deleted(reason):
    assert without_pods(left(GONE, reason)) == ()


@pytest.mark.parametrize("features", [(), ("cpu",), ("gpu-a", "gpu2")])
def test_record_of_another_nodeset_or_a_host_is_never_deleted(features):
    """A pod's slurmd registers with its NodeSet's feature; a host may have a name like a pod's."""
    assert without_pods(replace(left(GONE), features=features)) == ()


def test_no_record_is_deleted_without_an_answer_from_slurm():
    assert records_without_pods(None, OWNER, ()) == ()


def on_host(machine, **changes):
    return pod(0, name=f"hpc-worker-gpu-{machine[-1]}", machine=machine, host_network=True, **changes)


def test_record_of_a_removed_node_is_deleted_on_the_host_network_too():
    gone = replace(left(GONE), name="worker-2")
    assert without_pods(gone, workers=[on_host("worker-1")]) == ("worker-2",)
    assert without_pods(gone, workers=[on_host("worker-2")]) == ()


def used_on_hosts(*in_use, free=("worker-2", "worker-3"), target=2, **changes):
    state = nodeset(1, template_spec={"hostNetwork": True})
    records = [replace(node(0), name=name) for name in ("worker-1", *in_use)]
    machines = None if free is None else frozenset(free)
    look = seen([on_host("worker-1")], records, nodeset=state, free_machines=machines, **changes)
    return names_in_use(look, OWNER, target)


def test_a_new_pod_on_the_host_network_takes_the_name_of_any_free_kubernetes_node():
    assert used_on_hosts("worker-3").startswith("worker-3 is in use in Slurm without a pod of a NodeSet")
    assert used_on_hosts("worker-9", "gpu-1") == ""
    assert used_on_hosts("worker-3", target=1) == ""


def test_kubernetes_nodes_that_may_not_be_listed_are_not_taken_for_free():
    assert "Grant this user `list` on nodes" in used_on_hosts(free=None)


def used(*records, jobs=(), target=3):
    return names_in_use(seen([pod(0), pod(2)], records, jobs), OWNER, target)


def test_a_new_pod_has_the_digits_of_its_nodesets_numbers():
    records = [replace(node(1), name="gpu-001"), node(2)]
    look = seen([pod(0), pod(2)], records, nodeset=nodeset(2, padding=3))
    assert names_in_use(look, OWNER, 3).startswith("gpu-001 is in use")
    assert names_in_use(seen([pod(0), pod(2)], records), OWNER, 3) == ""


@pytest.mark.parametrize("state", ["IDLE", "IDLE+DYNAMIC_NORM", "MIXED+DRAIN", "IDLE+DRAIN"])
def test_a_record_that_a_daemon_answers_for_is_in_use(state):
    """The lowest free ordinal is 1: that is the pod's that the operator makes."""
    assert used(node(1, state)).startswith("gpu-1 is in use")
    assert used(node(3, state)) == ""
    assert used(node(1, state), node(3, state), target=4).startswith("gpu-1, gpu-3 are in use")


def test_a_job_without_a_daemon_is_in_the_way_too():
    assert used(node(1, "DOWN", TERMINATING), jobs=[job(7, 1)]).startswith("gpu-1 is in use")


@pytest.mark.parametrize("state", ["DOWN", "IDLE+NOT_RESPONDING", "UNKNOWN", "FUTURE", "DOWN+DRAIN+NOT_RESPONDING"])
@pytest.mark.parametrize("reason", ["", "Not responding", "bad DIMM"])
def test_a_record_without_a_daemon_is_free_for_a_new_pod(state, reason):
    assert used(node(1, state, reason)) == ""


@pytest.mark.parametrize("reason", [OURS, TERMINATING])
def test_what_a_pod_of_ours_left_is_free_for_a_new_pod(reason):
    assert used(node(1, "IDLE+DRAIN", reason)) == ""
    assert used(node(0), node(2)) == ""


def test_a_node_that_the_operator_has_yet_to_return_is_not_in_service():
    echo = node(0, "IDLE+DRAIN", "slurm-operator: Pod (slurm/hpc-worker-gpu-0) was cordoned")
    for worker, record, expected in [
        (pod(0), echo, "slurm-operator has not yet returned gpu-0"),
        (pod(0, cordon=True), echo, ""),
        (pod(0), node(0, "IDLE+DRAIN", "slurm-operator: Node (w) was cordoned, Pod (x) must be cordoned"), ""),
        (pod(0), node(0), ""),
    ]:
        found = fault_of(worker, seen([worker], [record]), OWNER)
        assert found.startswith(expected)
        assert bool(found) == bool(expected)
