"""How a plan's work grows with a cluster, in steps of Python's interpreter: the same on every machine, however busy.

What one step does in C counts as one: of sorts there are few, and the plan searches no list.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.plan import plan_scale_in
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.settings import DrainPolicy, Owner
from slinky_iac.kube.objects import Pod
from slinky_iac.slurmrest.objects import Job, Node
from tests.made.jobs import job
from tests.made.nodes import node
from tests.made.nodesets import nodeset
from tests.made.pods import pod
from tests.unit.drain.made import NOW, V121

SMALL, LARGE = 250, 1000
N_LOG_N = 1.15
"""The exponent of n log n between them is 1 + log(log 1000 / log 250) / log 4 = 1.16; most steps grow with n alone."""
JOBS = 4
"""Jobs a node."""


def steps(work: Callable[[], object]) -> int:
    """Instructions that the interpreter carries out."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def exponent(work: Callable[[int], Callable[[], object]]) -> float:
    """The power of the size by which the work grows."""
    work(10)()  # what is made once is made
    return math.log(steps(work(LARGE)) / steps(work(SMALL))) / math.log(LARGE / SMALL)


def pods(count: int) -> tuple[Pod, ...]:
    return tuple(pod(f"gpu-pod-{n}", ordinal=n, slurm_node=f"gpu-{n}", slurm_states=("MIXED",)) for n in range(count))


def nodes(count: int) -> tuple[Node, ...]:
    return tuple(node(f"gpu-{n}", "MIXED+DYNAMIC_NORM", alloc_cpus=8) for n in range(count))


def ends(count: int) -> list[Job]:
    """Every node busy, each job with an end of its own."""
    return [
        job(number, f"gpu-{number % count}", start_time=NOW, end_time=NOW + 60 + number * 7919 % 600_000)
        for number in range(1, count * JOBS)
    ]


def wide(count: int) -> list[Job]:
    """Each job on four nodes."""
    return [
        job(number, ",".join(f"gpu-{(number + step) % count}" for step in range(4)), start_time=NOW, end_time=NOW + number)
        for number in range(1, count)
    ]


def endless(count: int) -> list[Job]:
    """All nodes are equally dear: each has a job of its own without an end."""
    return [job(number, f"gpu-{number - 1}", limit=None, start_time=NOW) for number in range(1, count + 1)]


def waiting(count: int) -> list[Job]:
    """A queue of jobs that name their nodes by --nodelist, in which a plan looks for those that it selects."""
    queue = [job(10_000 + number, "", state="PENDING", required_nodes=f"gpu-{number}") for number in range(count)]
    return [*ends(count), *queue]


def plan(count: int, jobs: list[Job], left: int, size: int | None = None) -> Callable[[], object]:
    """The plan of one NodeSet of ``size`` pods in a cluster of so many nodes."""
    cluster = ClusterView.of(nodes(count), tuple(jobs))
    own = pods(count if size is None else size)
    seen = Observation(NOW, V121, own, cluster=cluster)
    state = nodeset("gpu", len(own))
    return lambda: plan_scale_in(seen, state, left, DrainPolicy(), Owner("bench", "gpu"))


@pytest.mark.parametrize("jobs", [ends, wide, endless, waiting])
@pytest.mark.parametrize("removed", ["one", "half", "all but one"])
def test_choosing_among_n_nodes_takes_n_log_n_steps(jobs: Callable[[int], list[Job]], removed: str) -> None:
    left = {"one": lambda n: n - 1, "half": lambda n: n // 2, "all but one": lambda _: 1}[removed]
    assert exponent(lambda count: plan(count, jobs(count), left(count))) <= N_LOG_N


def test_a_plan_of_one_of_many_nodesets_takes_no_more_for_the_others_nodes_and_jobs() -> None:
    assert exponent(lambda count: plan(count, ends(count), 1, size=5)) <= 0.05


def test_a_view_of_a_cluster_grows_with_its_nodes_and_jobs() -> None:
    def view(count: int) -> Callable[[], object]:
        listed, jobs = nodes(count), tuple(wide(count))
        return lambda: ClusterView.of(listed, jobs)

    assert exponent(view) <= 1.05
