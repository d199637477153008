"""A node is free only when both lists say so; every doubt is on the side of the job."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.free import HOLD_MARGIN_S, Busy, Free, NotHeld, Unknown, records_without_pods, verdict
from tests.unit.drain.made import NOW, OWNER, job, node, pod

WORKING = [
    *("RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING", "RESIZING", "STAGE_OUT"),
    *("COMPLETED+COMPLETING", "PENDING+COMPLETING", "CANCELLED+COMPLETING"),
    *("NEVER_HEARD_OF", "PENDING+NEVER_HEARD_OF"),
]


def judged(record, *jobs):
    return verdict("gpu-0", ClusterView.of([record] if record else [], jobs), NOW)


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("IDLE+DRAIN", Free),
        ("IDLE+DRAIN+DYNAMIC_NORM+NOT_RESPONDING", Free),
        ("DOWN+DRAIN", Free),
        ("DOWN+DRAIN+NOT_RESPONDING", Free),
        ("IDLE", NotHeld),
        ("DOWN", NotHeld),
        ("IDLE+FAIL", NotHeld),
        ("IDLE+DRAIN+UNDRAIN", NotHeld),
        ("IDLE+DRAIN+REBOOT_ISSUED", NotHeld),
        ("IDLE+DRAIN+REBOOT_REQUESTED", NotHeld),
        ("MIXED+DRAIN", Busy),
        ("ALLOCATED+DRAIN", Busy),
        ("IDLE+DRAIN+COMPLETING", Busy),
        ("MIXED+DRAIN+NOT_RESPONDING", Busy),
        ("UNKNOWN+DRAIN", Unknown),
        ("ERROR+DRAIN", Unknown),
        ("FUTURE+DRAIN", Unknown),
        ("DRAIN", Unknown),
        ("IDLE+DOWN+DRAIN", Unknown),
        ("IDLE+DRAIN+NEVER_HEARD_OF", Unknown),
    ],
)
def test_state_means_what_slurm_means_by_it(state, kind):
    assert type(judged(node(0, state))) is kind


def test_node_without_a_record_is_free():
    assert isinstance(judged(None), Free)


def test_allocated_cpus_keep_a_node_busy_whatever_its_state():
    assert isinstance(judged(node(0, "IDLE+DRAIN", alloc_cpus=1)), Busy)


@pytest.mark.parametrize(
    "state",
    WORKING,
)
def test_drained_node_with_a_job_of_any_working_state_is_busy(state):
    found = judged(node(0, "IDLE+DRAIN"), job(1, 0, state=state))
    assert isinstance(found, Busy)
    assert [each.job_id for each in found.jobs] == [1]


@pytest.mark.parametrize("state", ["COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PENDING"])
def test_job_that_has_ended_or_waits_holds_nothing(state):
    assert isinstance(judged(node(0, "IDLE+DRAIN"), job(1, 0, state=state)), Free)


def test_job_on_a_node_that_has_no_record_keeps_it_busy():
    assert isinstance(judged(None, job(1, 0)), Busy)


def test_job_that_runs_nobody_knows_where_makes_every_node_unknown():
    assert isinstance(judged(node(0, "IDLE+DRAIN"), job(1)), Unknown)
    assert isinstance(judged(None, job(1, state="SUSPENDED")), Unknown)


def test_job_that_only_completes_and_lost_its_node_holds_none():
    assert isinstance(judged(node(0, "IDLE+DRAIN"), job(1, state="COMPLETING")), Free)


def test_drain_that_ends_by_itself_soon_holds_nothing():
    assert isinstance(judged(node(0, "IDLE+DRAIN", resume_after=NOW + HOLD_MARGIN_S - 1)), NotHeld)
    assert isinstance(judged(node(0, "IDLE+DRAIN", resume_after=NOW + HOLD_MARGIN_S)), Free)


FLAGS = ["DRAIN", "UNDRAIN", "COMPLETING", "NOT_RESPONDING", "FAIL", "RESERVED", "PLANNED", "ODD"]
BASES = ["IDLE", "DOWN", "MIXED", "ALLOCATED", "UNKNOWN", "ERROR"]


@given(st.sets(st.sampled_from(BASES), max_size=2), st.sets(st.sampled_from(FLAGS)), st.integers(0, 2))
def test_free_is_never_said_without_a_drain_a_calm_base_and_no_work(bases, flags, cpus):
    found = judged(node(0, "+".join(bases | flags) or "X", alloc_cpus=cpus))
    if isinstance(found, Free):
        assert len(bases) == 1
        assert bases <= {"IDLE", "DOWN"}
        assert "DRAIN" in flags
        assert not flags & {"UNDRAIN", "COMPLETING", "ODD"}
        assert cpus == 0


def test_a_record_that_a_job_names_stays_running_or_waiting():
    left = node(2, "DOWN+DYNAMIC_NORM", "slurm-operator: Pod is terminating")
    view = lambda *jobs: ClusterView.of([node(0), node(1), left], jobs)  # noqa: E731
    pods = [pod(0), pod(1)]
    assert records_without_pods(view(), OWNER, pods) == ("gpu-2",)
    for named in (job(9, state="PENDING", required=["gpu-2"]), job(9, 0, required=["gpu-0", "gpu-2"])):
        assert records_without_pods(view(named), OWNER, pods) == ()
