"""The rule of when a node is free: by table, and as properties over everything a cluster could say."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky_iac.slurmrest.free import KNOWN_FLAGS, Absent, Busy, Free, NotDrained, Unknown, Verdict, free
from slinky_iac.slurmrest.models import BASE_STATES, FINISHED, Job, JobsAnswer, Node, NodesAnswer

NOW = 1_795_235_000


def a_node(name: str, *state: str, alloc: int = 0, resume_after: int | None = None) -> Node:
    bases = set(state) & BASE_STATES
    return Node(
        name=name,
        state=frozenset(state),
        base=next(iter(bases)) if len(bases) == 1 else "",
        reason="slinky-iac:dev/gpu: x",
        reason_user="slurm",
        reason_changed_at=NOW,
        alloc_cpus=alloc,
        features=(),
        active_features=(),
        partitions=(),
        resume_after=resume_after,
        comment="",
        reservation="",
    )


def a_job(job_id: int, states: frozenset[str], nodes: tuple[str, ...]) -> Job:
    return Job(
        job_id=job_id,
        array_job_id=None,
        array_task_id=None,
        het_job_id=None,
        het_offset=None,
        name="",
        user="alice",
        account="",
        partition="gpu",
        states=states,
        nodes=nodes,
        submitted=None,
        start=None,
        end=None,
        time_limit_min=None,
        exclusive=False,
        requeueable=True,
        restarts=0,
        reservation="",
        state_reason="",
    )


def judge(nodes: list[Node], jobs: list[Job], *names: str, jobs_asked: float = 2.0) -> dict[str, Verdict]:
    asked = names or tuple(n.name for n in nodes)
    return free(
        asked, NodesAnswer(tuple(nodes), 1, 0.0, 1.0), JobsAnswer(tuple(jobs), 1, jobs_asked, jobs_asked + 1), now=NOW
    )


@pytest.mark.parametrize(
    ("state", "alloc", "verdict"),
    [
        (("IDLE", "DRAIN"), 0, Free),
        (("IDLE", "DRAIN", "DYNAMIC_NORM", "RESERVED"), 0, Free),
        (("DOWN", "DRAIN"), 0, Free),
        (("IDLE",), 0, NotDrained),
        (("DOWN",), 0, NotDrained),
        (("MIXED",), 1, NotDrained),
        (("IDLE", "DRAIN", "UNDRAIN"), 0, NotDrained),
        (("IDLE", "DRAIN", "RESUME"), 0, NotDrained),
        (("IDLE", "DRAIN", "REBOOT_ISSUED"), 0, NotDrained),
        (("MIXED", "DRAIN"), 1, Busy),
        (("ALLOCATED", "DRAIN"), 0, Busy),
        (("MIXED", "DRAIN", "NOT_RESPONDING"), 1, Busy),
        (("IDLE", "DRAIN", "COMPLETING"), 0, Busy),
        (("IDLE", "DRAIN"), 1, Busy),
        (("UNKNOWN", "DRAIN"), 0, Unknown),
        (("ERROR", "DRAIN"), 0, Unknown),
        (("FUTURE", "DRAIN"), 0, Unknown),
        (("EXTERNAL", "DRAIN"), 0, Unknown),
        (("DRAIN",), 0, Unknown),
        (("IDLE", "DOWN", "DRAIN"), 0, Unknown),
        (("IDLE", "DRAIN", "HIBERNATING"), 0, Unknown),
    ],
)
def test_the_table_of_states(state: tuple[str, ...], alloc: int, verdict: type[Verdict]) -> None:
    assert isinstance(judge([a_node("g-0", *state, alloc=alloc)], [])["g-0"], verdict)


def test_a_lost_node_is_marked_because_processes_may_live_on_it() -> None:
    found = judge([a_node("g-0", "DOWN", "DRAIN", "NOT_RESPONDING"), a_node("g-1", "DOWN", "DRAIN")], [])
    assert found == {"g-0": Free(lost=True), "g-1": Free(lost=False)}


@pytest.mark.parametrize(("after", "held"), [(None, True), (NOW + 3600, True), (NOW + 60, False), (NOW - 5, False)])
def test_a_drain_that_soon_lifts_itself_is_not_held(after: int | None, held: bool) -> None:
    verdict = judge([a_node("g-0", "IDLE", "DRAIN", resume_after=after)], [])["g-0"]
    assert isinstance(verdict, Free if held else NotDrained)


def test_jobs_asked_for_before_the_nodes_answered_prove_nothing() -> None:
    assert isinstance(judge([a_node("g-0", "IDLE", "DRAIN")], [], jobs_asked=0.5)["g-0"], Unknown)


def test_a_job_being_taken_down_without_nodes_holds_none() -> None:
    """Deleting a node under a suspended job leaves the job completing for ever, with no nodes."""
    stuck = a_job(17, frozenset({"CANCELLED", "COMPLETING"}), ())
    assert judge([a_node("g-0", "IDLE", "DRAIN")], [stuck])["g-0"] == Free()


names = st.sampled_from(["g-0", "g-1", "g-2"])
states = st.frozensets(st.sampled_from(sorted(BASE_STATES | KNOWN_FLAGS | {"NEW"})), min_size=1, max_size=4)
nodes_st = st.lists(
    st.builds(
        lambda name, state, alloc, after: a_node(name, *state, alloc=alloc, resume_after=after),
        names,
        states | st.just(frozenset({"IDLE", "DRAIN"})),
        st.integers(0, 2),
        st.none() | st.integers(NOW - 10, NOW + 10_000),
    ),
    unique_by=lambda n: n.name,
)
job_states = st.frozensets(
    st.sampled_from([*sorted(FINISHED), "PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "SIGNALING", "NEW"]),
    min_size=1,
    max_size=2,
)
jobs_st = st.lists(st.builds(a_job, st.integers(1, 99), job_states, st.lists(names, max_size=3).map(tuple)), max_size=4)


@settings(deadline=None)
@given(nodes_st, jobs_st)
def test_a_node_is_free_only_if_drained_idle_and_in_no_jobs_hands(nodes: list[Node], jobs: list[Job]) -> None:
    by_name = {n.name: n for n in nodes}
    for name, verdict in judge(nodes, jobs, "g-0", "g-1", "g-2").items():
        holders = [j for j in jobs if name in j.nodes and not (len(j.states) == 1 and j.states <= FINISHED | {"PENDING"})]
        if isinstance(verdict, Free | Absent):
            assert holders == []
        if isinstance(verdict, Absent):
            assert name not in by_name
        if isinstance(verdict, Free):
            node = by_name[name]
            assert "DRAIN" in node.state
            assert not node.state & {"UNDRAIN", "RESUME", "COMPLETING", "ALLOCATED", "MIXED", "UNKNOWN", "NEW"}
            assert node.alloc_cpus == 0
            assert node.resume_after is None or node.resume_after >= NOW + 120


@settings(deadline=None)
@given(nodes_st, jobs_st, job_states, names)
def test_one_more_job_never_frees_a_node(nodes: list[Node], jobs: list[Job], states: frozenset[str], name: str) -> None:
    without = judge(nodes, jobs, "g-0", "g-1", "g-2")
    more = judge(nodes, [*jobs, a_job(1000, states, (name,))], "g-0", "g-1", "g-2")
    for each in ("g-0", "g-1", "g-2"):
        assert not (isinstance(more[each], Free) and not isinstance(without[each], Free))
