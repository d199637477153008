"""Which jobs slurmctld would end if a partition or a node left its file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.free import named_in_words, stranded, stranded_in_words
from slinky_iac.drain.losses import Change, held_on, losers, named_by
from tests.made.nodes import node as made_node
from tests.made.rows import job as row
from tests.unit.drain.made import job, node
from tests.unit.slurmrest.fake import FakeSlurm


def listed(**more):
    """One job, as it comes through slurmrestd's answer."""
    slurm = FakeSlurm().add(row(7, *more.pop("states", ("RUNNING",)), **more))
    with slurm.client() as client:
        (found,) = client.jobs().jobs
    return found


def lost_with(found, *partitions):
    return bool(losers(Change(partitions=frozenset(partitions)), ClusterView.of((), [found])))


def needs(found, *nodes):
    return bool(losers(Change(records=frozenset(nodes)), ClusterView.of((), [found])))


def naming(found, *nodes):
    """Each node that is named by the job that is not on it."""
    return {name: [each.job_id for each in jobs] for name, jobs in named_by(nodes, ClusterView.of((), [found])).items()}


def test_a_running_job_is_lost_with_the_partition_it_runs_in():
    found = listed(partition="batch,all", nodes="gpu-0")
    assert lost_with(found, "batch")
    assert not lost_with(found, "all"), "slurmctld takes it out of the job's list"


def test_a_waiting_job_is_lost_with_the_last_of_its_partitions():
    found = listed(states=("PENDING",), partition="batch,all")
    assert not lost_with(found, "batch")
    assert lost_with(found, "batch", "all")


@pytest.mark.parametrize("states", [("COMPLETED",), ("CANCELLED",), ("NODE_FAIL",), ("TIMEOUT",)])
def test_an_ended_job_is_only_remembered(states):
    found = listed(states=states, partition="batch", required_nodes="gpu-0")
    assert found.over
    assert not lost_with(found, "batch")
    assert not needs(found, "gpu-0")
    assert naming(found, "gpu-0") == {}


@pytest.mark.parametrize("states", [("COMPLETED", "COMPLETING"), ("SUSPENDED",), ("PENDING", "COMPLETING"), ("NEWLY_MADE",)])
def test_what_is_not_surely_over_counts(states):
    found = listed(states=states, partition="batch", nodes="gpu-0")
    assert not found.over
    assert lost_with(found, "batch")


@pytest.mark.parametrize("states", [("PENDING",), ("RUNNING",)])
def test_a_node_of_nodelist_is_needed_wherever_the_job_is(states):
    found = listed(states=states, nodes="gpu-5" if states == ("RUNNING",) else "", required_nodes="gpu-[0-1,5]")
    assert needs(found, "gpu-1")
    assert not needs(found, "gpu-2")
    assert naming(found, "gpu-1", "gpu-2") == {"gpu-1": [7]}


def test_a_job_that_is_on_the_node_anyway_is_not_told_twice():
    found = listed(nodes="gpu-1", required_nodes="gpu-1")
    assert needs(found, "gpu-1")
    assert naming(found, "gpu-1") == {}


def test_a_nodelist_that_cannot_be_read_is_tied_to_every_node_and_costs_no_other_row():
    found = listed(states=("PENDING",), required_nodes="gpu-[0-")
    assert found.required is None
    assert needs(found, "anything")
    assert not needs(found)
    assert naming(found, "a", "b") == {"a": [7], "b": [7]}


def test_the_finding_names_node_job_and_user():
    found = job(7, 3, partition="all", required=("gpu-1", "gpu-3"))
    (said,) = named_in_words(["gpu-1"], ClusterView.of((), [found]), queue=False)
    assert said.startswith("gpu-1 is named by --nodelist of 1 job (7 of alice)")
    assert "running elsewhere: waited for" in said


@pytest.mark.parametrize(("queue", "told"), [(True, "pending, and waited for"), (False, "pending: NOT waited for")])
def test_a_pending_job_that_names_a_node_is_told_apart_from_one_that_runs(queue, told):
    both = [job(7, 3, required=("gpu-1",)), waiting(8, required=("gpu-1",))]
    first, second = named_in_words(["gpu-1"], ClusterView.of((), both), queue=queue)
    assert "7 of alice" in first
    assert "8 of alice" in second
    assert told in second


def waiting(number, partition="gpu", features="", least=1, required=(), **more):
    return job(number, state="PENDING", partition=partition, required=required, features=features, least=least, **more)


def fleet(*features, partition="gpu"):
    return {
        f"gpu-{n}": node(n, active_features=each.split("&"), partitions=[partition, "all"])
        for n, each in enumerate(features)
    }


def left_behind(jobs, nodes, *leaving):
    return [each.job_id for each in stranded(jobs, nodes, leaving)]


def test_a_job_whose_partition_empties_is_named():
    gpu, everywhere = waiting(1), waiting(2, "all")
    other = {"cpu-0": made_node("cpu-0", partitions=["cpu", "all"])}
    assert left_behind([gpu, everywhere], fleet("gpu", "gpu") | other, "gpu-0", "gpu-1") == [1]
    assert left_behind([gpu, everywhere], fleet("gpu", "gpu"), "gpu-1") == []


@pytest.mark.parametrize(
    ("wanted", "stays"),
    [
        ("a100", False),
        ("a100&ib", False),
        ("a100|ib", True),
        ("ib", True),
        ("a100,ib", False),
        ("[a100*2]", True),
        ("", True),
    ],
)
def test_a_job_whose_features_vanish_is_named_and_what_cannot_be_judged_is_not(wanted, stays):
    assert left_behind([waiting(1, features=wanted)], fleet("a100&ib", "ib"), "gpu-0") == ([] if stays else [1])


def test_a_job_that_needs_more_nodes_than_are_left_is_named():
    assert left_behind([waiting(1, least=3), waiting(2, least=2)], fleet("x", "x", "x"), "gpu-0") == [1]


def test_who_could_not_run_before_either_and_who_names_a_node_is_not_told_here():
    jobs = [waiting(1, features="h100"), waiting(2, required=("gpu-0",)), waiting(3, "gone"), waiting(4, required=None)]
    assert left_behind(jobs, fleet("a100"), "gpu-0") == []


def test_jobs_that_run_or_are_over_are_not_stranded():
    states = ("RUNNING", "COMPLETED", "SUSPENDED")
    jobs = [job(n, 0, state=state, partition="gpu") for n, state in enumerate(states, 1)]
    assert left_behind(jobs, fleet("a100"), "gpu-0") == []


def test_the_sentence_names_jobs_users_and_the_way_out():
    (said,) = stranded_in_words(stranded([waiting(n) for n in range(1, 8)], fleet("a100"), {"gpu-0"}))
    assert said.startswith("7 waiting job(s) could run on no node that is left")
    assert "1 of alice in gpu" in said
    assert "and 3 more" in said
    assert "scontrol update jobid=" in said
    assert stranded_in_words(()) == ()


NODES = st.sets(st.sampled_from([f"gpu-{n}" for n in range(5)]))


@given(NODES, NODES, NODES, st.sampled_from(["PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "FAILED"]))
def test_a_job_is_tied_exactly_where_it_needs_a_node_that_it_is_not_on(on, named, leaving, state):
    on = on if state in ("RUNNING", "SUSPENDED") else set()
    found = job(7, *(int(n[-1]) for n in sorted(on)), state=state, partition="all", required=sorted(named))
    live = state in ("PENDING", "RUNNING", "SUSPENDED")
    lost = leaving & (on | named) if live else set()
    view = ClusterView.of([node(number) for number in range(5)], [found])
    assert needs(found, *leaving) == bool(lost or (leaving and found.unplaced)), "Slurm doesn't say where it runs"
    assert set(named_by(leaving, view)) == ((leaving & named) - on if live else set())
    for each in sorted(leaving):
        holds = losers(Change(records=frozenset([each])), view) if state != "PENDING" else ()
        if not found.unplaced:  # that one is an Unknown to each node
            assert held_on(each, view) == holds, "one rule, by node and by job"
