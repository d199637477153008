"""Jobs are found by their states first, and no job that holds a node is missed by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky_iac.drain.observe import cluster_view
from slinky_iac.errors import SlurmrestUnreachable
from slinky_iac.slurmrest.current_jobs import (
    FEW,
    MOST_RECORDS,
    Choice,
    StatesAnswer,
    Wanted,
    alone_s,
    chosen,
    list_s,
    states_first,
    states_s,
)
from slinky_iac.slurmrest.lists import Counted
from tests.made.rows import job, node, number
from tests.unit.examples import examples
from tests.unit.slurmrest.fake import FakeSlurm, answer, error

BALLAST = [job(900 + each, "COMPLETED") for each in range(40)]
"""Ended jobs: as long as there are many of them, a list of all records costs more."""


def listed(slurm: FakeSlurm, wanted: Wanted = "held") -> dict[int, frozenset[str]]:
    with slurm.client() as client:
        return {each.job_id: each.job_state for each in client.jobs_after(0, wanted=wanted).jobs}


def lists(slurm: FakeSlurm) -> int:
    """Lists of all records that were asked for."""
    return len([path for method, path, _ in slurm.asked if method == "GET" and path.endswith("/jobs/")])


def records(slurm: FakeSlurm) -> list[int]:
    return sorted(int(path.rpartition("/")[2]) for _, path, _ in slurm.asked if "/job/" in path)


HOLDS = [
    ("RUNNING",),
    ("SUSPENDED",),
    ("COMPLETED", "COMPLETING"),
    ("RUNNING", "CONFIGURING"),
    ("RUNNING", "STOPPED"),
    ("RUNNING", "SIGNALING"),
    ("RUNNING", "RESIZING"),
    ("FAILED", "STAGE_OUT"),
    ("PENDING", "COMPLETING"),
    ("PENDING", "REQUEUED"),
    ("A_STATE_OF_THE_FUTURE",),
]


@pytest.mark.parametrize("states", HOLDS, ids="+".join)
def test_a_job_that_may_hold_nodes_is_asked_for_and_no_other(states: tuple[str, ...]) -> None:
    slurm = FakeSlurm().add(job(7, *states, nodes="g-0"), job(8, "PENDING"), *BALLAST)
    assert listed(slurm) == {7: frozenset(states)}
    assert (lists(slurm), records(slurm)) == (0, [7])


def test_each_task_of_an_array_and_each_part_of_a_het_job_is_found_by_its_own_record() -> None:
    """The last task keeps the array's id, and slurmrestd answers that with all tasks that it remembers."""
    array = {"array_job_id": number(20)}
    het = {"het_job_id": number(30)}
    slurm = FakeSlurm().add(
        job(20, "RUNNING", nodes="g-0", **array, array_task_id=number(9)),
        job(21, "RUNNING", nodes="g-1", **array, array_task_id=number(3)),
        job(22, "COMPLETED", **array, array_task_id=number(4)),
        job(30, "RUNNING", nodes="g-2", **het, het_job_offset=number(0)),
        job(31, "RUNNING", nodes="g-3", **het, het_job_offset=number(1)),
        *BALLAST,
    )
    with slurm.client() as client:
        found = {each.job_id: (each.label, each.node_names) for each in client.jobs_after(0, wanted="held").jobs}
    assert found == {
        20: ("20_9", ("g-0",)),
        21: ("20_3", ("g-1",)),
        30: ("30+0", ("g-2",)),
        31: ("30+1", ("g-3",)),
    }


def test_an_array_that_waits_is_one_record_whatever_the_number_of_its_tasks() -> None:
    waiting = job(20, "PENDING", array_job_id=number(20), array_task_id=number(None), waiting_tasks=list(range(50)))
    slurm = FakeSlurm().add(waiting, job(1, nodes="g-0"), *BALLAST)
    assert listed(slurm, "live") == {1: {"RUNNING"}, 20: {"PENDING"}}
    assert (lists(slurm), records(slurm)) == (0, [1, 20])


@pytest.mark.parametrize("wanted", ["held", "affordable", "live", "all"])
def test_a_list_of_all_records_is_asked_for_where_it_costs_less(wanted: Wanted) -> None:
    slurm = FakeSlurm().add(*(job(each, nodes="g-0") for each in range(1, 9)), job(9, "PENDING"), job(10, "COMPLETED"))
    assert set(listed(slurm, wanted)) >= set(range(1, 9))
    assert (lists(slurm), records(slurm)) == (1, [])


def states(held: int, queue: int, ended: int, tasks: int = 0) -> StatesAnswer:
    """``tasks``: rows of one array that waits, beside its record."""
    rows = [*[frozenset({"RUNNING"})] * held, *[frozenset({"PENDING"})] * queue, *[frozenset({"FAILED"})] * ended]
    return StatesAnswer(dict(enumerate(rows, 1)), len(rows) + tasks, 0.0, 0.0)


@given(st.integers(0, 400), st.integers(0, 400), st.integers(0, 400), st.sampled_from(["held", "affordable", "live"]))
def test_a_choice_leaves_out_no_job_that_is_wanted_and_costs_no_more_than_the_list(
    held: int, queue: int, ended: int, wanted: Wanted
) -> None:
    seen = states(held, queue, ended)
    choice = chosen(seen, wanted)
    if choice is None:
        return
    assert alone_s(len(choice.ids)) <= list_s(seen.records)
    assert set(choice.ids) >= set(range(1, held + 1))
    assert wanted == "held" or choice.ids == tuple(range(1, held + queue + 1))
    assert choice.left_out == held + queue - len(choice.ids)


def test_a_plan_leaves_out_a_long_queue_and_says_so_and_a_gate_of_slurm_conf_never() -> None:
    long = states(10, FEW, 0)
    assert chosen(long, "affordable") == Choice(tuple(range(1, 11)), left_out=FEW)
    assert chosen(long, "live") is None


def test_a_list_costs_by_its_records_and_tasks_of_an_array_that_wait_are_one() -> None:
    assert chosen(states(1000, 1, 0, tasks=50_000), "held") is None
    assert chosen(states(1000, 1, 5000, tasks=50_000), "held") == Choice(tuple(range(1, 1001)), left_out=1)


def test_a_list_that_is_too_large_to_be_read_is_no_way_whatever_the_others_cost() -> None:
    seen = states(MOST_RECORDS // 2, MOST_RECORDS, 0)
    choice = chosen(seen, "live")
    assert choice is not None
    assert len(choice.ids) == seen.records


@pytest.mark.parametrize(
    ("tasks", "last", "left", "first"),
    [
        (1_000, None, 300, True),
        (60_001, None, 300, True),  # separate jobs, as far as is known: 6 s against 1.5 to 2 min and 12 GB
        (200_000, None, 300, True),
        (200_000, None, 20, False),  # a preview's time: states would take 68 s, and arrays have few records
        (500_000, None, 300, False),
        (200_000, Counted(200_000, 12), 300, False),  # it is an array: the last look says so
        (200_000, Counted(200_000, 190_000), 300, True),
        (200_000, Counted(100, 12), 300, True),  # what came since may be separate jobs
        (500_000, Counted(500_000, 490_000), 300, True),  # neither fits: a list would take slurmrestd 98 GB as well
    ],
)
def test_states_are_asked_for_first_where_that_costs_less_than_the_list(
    tasks: int, last: Counted | None, left: float, *, first: bool
) -> None:
    assert states_first(tasks, last, left) is first


@given(st.integers(0, 2_000_000), st.integers(0, 2_000_000), st.integers(0, 2_000_000))
def test_no_way_is_chosen_that_is_known_to_cost_more(tasks: int, before: int, records: int) -> None:
    """A step of any number would be a cliff: at 60,000 jobs a look went from 6 s to more than a minute."""
    last = Counted(before, min(before, records))
    most = last.records + max(tasks - last.tasks, 0)
    chosen_s, other_s = states_s(tasks), list_s(most)
    if not states_first(tasks, last, 300):
        chosen_s, other_s = other_s, chosen_s
    assert chosen_s <= other_s


def refused(request: httpx.Request) -> httpx.Response:
    del request
    return httpx.Response(404, text="no such path here")


@pytest.mark.parametrize(
    "first", [[refused], [None, refused], [None, lambda _: answer(jobs=[{"job_id": "x", "state": []}])]]
)
def test_states_that_cannot_be_had_are_replaced_by_the_list_of_records(first: list[Any]) -> None:
    slurm = FakeSlurm().add(job(7, nodes="g-0"), *BALLAST)
    with slurm.client() as client:
        client.version()
        slurm.faults = first
        assert 7 in {each.job_id for each in client.jobs_after(0, wanted="held").jobs}
    assert lists(slurm) == 1


class Wide(FakeSlurm):
    """Its one job that waits is an array of very many tasks."""

    tasks = 500_000

    def serve(self, request: httpx.Request, rest: str, body: dict[str, Any]) -> httpx.Response:
        if rest == "diag/":
            return answer(statistics={"jobs_running": 1, "jobs_pending": self.tasks})
        return super().serve(request, rest, body)


def test_states_are_not_asked_for_where_arrays_have_more_tasks_than_slurmrestd_lists_in_time() -> None:
    slurm = Wide().add(job(7, nodes="g-0"), *BALLAST)
    with slurm.client() as client:
        assert 7 in {each.job_id for each in client.jobs_after(0, wanted="held").jobs}
    assert (lists(slurm), slurm.asked_for("GET", "state/")) == (1, [])


def test_a_look_rests_on_what_the_last_one_of_this_process_counted() -> None:
    slurm = Wide().add(job(7, nodes="g-0"), job(8, "PENDING"), *BALLAST)
    slurm.tasks = 50_000
    with slurm.client() as client:
        for _ in range(3):
            client.jobs_after(client._clock.monotonic(), wanted="held")
    assert (len(slurm.asked_for("GET", "state/")), lists(slurm)) == (1, 2)


def test_a_look_that_fails_says_how_many_jobs_there_are_and_what_to_do() -> None:
    slurm = Wide().add(job(7, nodes="g-0"), *BALLAST)
    with slurm.client() as client:
        client.version()
        slurm.faults = [None, *[lambda _: answer(502, [error(5004)], jobs=[])] * 20]
        with pytest.raises(SlurmrestUnreachable, match=r"500001 jobs and array tasks run or wait.*MinJobAge"):
            client.jobs_after(0, wanted="held")


def test_a_job_whose_record_is_not_shown_may_hold_any_node() -> None:
    slurm = FakeSlurm(unshown={7}).add(node("g-0", "IDLE", "DRAIN"), job(7, "SUSPENDED", nodes="g-0"), *BALLAST)
    with slurm.client() as client:
        view = cluster_view(client)
    assert [each.job_id for each in view.unplaced] == [7]
    assert "SUSPENDED, and no record" in view.unplaced[0].unreadable


def test_an_answer_that_does_not_come_is_an_error_and_no_shorter_list() -> None:
    slurm = FakeSlurm().add(job(7, nodes="g-0"), job(8, nodes="g-1"), *BALLAST)
    with slurm.client() as client:
        client.version()
        slurm.faults = [None, None, *[lambda _: answer(502, [error(5004)], jobs=[])] * 20]
        with pytest.raises(SlurmrestUnreachable):
            client.jobs_after(0, wanted="held")


@dataclass
class Busy(FakeSlurm):
    """Something happens before each answer: jobs end, are suspended, requeued, forgotten, and begin on nodes not drained."""

    events: list[tuple[str, int]] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def serve(self, request: httpx.Request, rest: str, body: dict[str, Any]) -> httpx.Response:
        with self.lock:
            if self.events:
                what, which = self.events.pop(0)
                self.happen(what, which)
            return super().serve(request, rest, body)

    def happen(self, what: str, which: int) -> None:
        if what == "begins":
            new = max(self.jobs) + 1
            self.add(job(new, nodes="g-free"))
            return
        held = [each for each in self.jobs.values() if each["nodes"]]
        row = held[which % len(held)] if held else None
        if row is None:
            return
        act: Callable[[], Any] = {
            "ends": lambda: row.update(job_state=["COMPLETED"], nodes=""),
            "completes": lambda: row.update(job_state=["COMPLETED", "COMPLETING"]),
            "is suspended": lambda: row.update(job_state=["SUSPENDED"]),
            "is requeued": lambda: row.update(job_state=["PENDING"], nodes=""),
            "runs again": lambda: row.update(job_state=["RUNNING"], nodes="g-free"),
            "is forgotten": lambda: self.jobs.pop(row["job_id"]),
        }[what]
        act()


EVENTS = ["begins", "ends", "completes", "is suspended", "is requeued", "runs again", "is forgotten"]


@settings(max_examples=examples(300))
@given(
    st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 9)), max_size=14),
    st.lists(st.sampled_from([("RUNNING",), ("SUSPENDED",), ("COMPLETED", "COMPLETING")]), max_size=6),
    st.integers(0, 40),
)
def test_no_drained_node_is_free_in_a_look_while_a_job_is_on_it(
    events: list[tuple[str, int]], there: list[tuple[str, ...]], ballast: int
) -> None:
    """Jobs come and go between the nodes, the states and each record; none begins on a node that is drained."""
    slurm = Busy(events=events).add(node("g-free"), *BALLAST[:ballast], job(899, "COMPLETED"))
    for number_, now in enumerate(there, 1):
        slurm.add(node(f"g-{number_}", "IDLE", "DRAIN"), job(number_, *now, nodes=f"g-{number_}"))
    with slurm.client() as client:
        view = cluster_view(client)
    busy = {each["nodes"] for each in slurm.jobs.values() if each["nodes"]} - {"g-free"}
    assert view.unplaced or busy <= view.jobs_on.keys()
