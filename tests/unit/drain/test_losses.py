"""Who loses a job: each way in which slurmctld, or the end of a host, ends jobs that their owners did not end."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.losses import Change, losers, who_loses
from tests.unit.drain.made import job, node
from tests.unit.examples import examples


def lost(change, *jobs, nodes=()):
    return [(each.job.job_id, each.what) for each in who_loses(change, ClusterView.of(nodes, jobs))]


def some(*names):
    return frozenset(names)


ON_0 = job(1, 0, partition="batch")
WAITS = job(2, state="PENDING", partition="batch,all")
OVER = job(3, 0, state="COMPLETED", partition="batch")


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (Change(nodes=some("gpu-0")), [(1, "node gpu-0")]),
        (Change(records=some("gpu-0")), [(1, "node gpu-0")]),
        (Change(nodes=some("gpu-1"), records=some("gpu-2")), []),
        (Change(partitions=some("batch")), [(1, "partition batch")]),
        (Change(partitions=some("batch", "all")), [(1, "partition batch"), (2, "partition batch")]),
        (Change(partitions=some("all")), []),
        (Change(slurmctld=True), [(1, "slurmctld"), (2, "the queue")]),
        (Change(), []),
    ],
)
def test_what_ends_takes_its_jobs_along_and_no_other(change, found):
    assert lost(change, ON_0, WAITS, OVER) == found


@pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "RUNNING+COMPLETING", "CONFIGURING", "STRANGE"])
def test_a_job_that_may_hold_its_node_counts(state):
    assert lost(Change(nodes=some("gpu-0")), job(1, 0, state=state)) == [(1, "node gpu-0")]


@pytest.mark.parametrize("where", [(), (0,)])
def test_a_job_elsewhere_or_in_the_queue_that_names_a_node_whose_record_leaves(where):
    """_sync_detail_bitmaps: NODE_FAIL, without requeue. A node that only starts again keeps its record."""
    named = job(5, *where, state="RUNNING" if where else "PENDING", required=["gpu-0", "gpu-2"])
    assert lost(Change(records=some("gpu-2")), named) == [(5, "node gpu-2, by --nodelist")]
    assert lost(Change(nodes=some("gpu-2")), named) == []


def test_a_nodelist_or_a_place_that_cannot_be_read_may_be_any():
    unread = job(5, 0, required=None)
    assert lost(Change(records=some("gpu-7")), unread) == [(5, "a node, by a --nodelist that can't be read")]
    assert lost(Change(nodes=some("gpu-7")), job(6)) == [(6, "a node that can't be read")]
    assert lost(Change(partitions=some("all")), job(7, 0, partition="")) == [(7, "a partition that can't be read")]


def test_a_number_under_that_of_the_nodes_may_take_any_of_them():
    """add_node_record: ESLURM_NODE_TABLE_FULL; load_all_node_state: "has vanished from configuration"."""
    nodes = [node(n) for n in range(3)]
    why = "its node, as slurmctld would have room for 2 of 3"
    assert lost(Change(max_nodes=2), ON_0, WAITS, nodes=nodes) == [(1, why)]
    assert lost(Change(max_nodes=3), ON_0, WAITS, nodes=nodes) == []


def test_a_type_of_gres_takes_the_jobs_of_nodes_that_have_it():
    """gres_job_revalidate."""
    nodes = [node(0, gres="gpu:a100:4(S:0-1),nic:2"), node(1)]
    found = lost(Change(gres=some("gpu", "shard")), ON_0, job(4, 1), nodes=nodes)
    assert found == [(1, "gpu of gpu-0")]


def test_a_host_takes_its_srun_and_salloc_and_no_batch_job():
    there = {"allocating_node": "Login-1.example.org"}
    change = Change.of_hosts(["Login-1.svc"])
    jobs = [job(1, 0, batch_flag=False, **there), job(2, 0, batch_flag=True, **there), job(3, 0, batch_flag=False)]
    waits = job(4, state="PENDING", batch_flag=False, required=[], **there)
    assert lost(change, *jobs, waits) == [(1, "its srun or salloc in login-1"), (4, "its srun or salloc in login-1")]


@pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "COMPLETING", "PENDING", "CONFIGURING"])
def test_a_job_of_srun_or_salloc_counts_until_it_is_over(state):
    where = [] if state == "PENDING" else [0]
    assert lost(Change.of_hosts(["login-1"]), job(1, *where, state=state, batch_flag=False, allocating_node="login-1"))
    assert not lost(Change.of_hosts(["login-1"]), job(1, 0, state="CANCELLED", batch_flag=False, allocating_node="login-1"))
    assert not lost(Change.of_hosts(["login-1"]), job(1, *where, state=state, batch_flag=False, allocating_node=""))


JOBS = st.lists(
    st.builds(
        lambda number, state, on, part, named: job(
            number, *([] if state == "PENDING" else on), state=state, partition=part, required=[f"gpu-{n}" for n in named]
        ),
        st.integers(1, 9),
        st.sampled_from(["PENDING", "RUNNING", "SUSPENDED", "COMPLETED"]),
        st.lists(st.integers(0, 3), min_size=1, max_size=2, unique=True),
        st.sampled_from(["a", "b", "a,b"]),
        st.lists(st.integers(0, 3), max_size=2),
    ),
    max_size=6,
    unique_by=lambda each: each.job_id,
)
NAMES = st.frozensets(st.sampled_from([f"gpu-{n}" for n in range(4)]))
CHANGES = st.builds(
    Change, NAMES, NAMES, st.frozensets(st.sampled_from("ab")), st.none(), st.just(frozenset()), st.booleans()
)


@settings(max_examples=examples(200))
@given(CHANGES, CHANGES, JOBS)
def test_more_that_ends_never_spares_a_job_and_a_job_is_named_once(one, other, jobs):
    both = Change(
        one.nodes | other.nodes, one.records | other.records, one.partitions | other.partitions, None, frozenset(),
        one.slurmctld or other.slurmctld,
    )  # fmt: skip
    view = ClusterView.of((), jobs)
    found = losers(both, view)
    assert {*losers(one, view), *losers(other, view)} <= set(found)
    assert len(set(found)) == len(found)
    assert not any(each.over for each in found)
