"""One run of a job: decided by one look at a time, and no walk of lost answers, late requests and kills starts it twice."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slinky_iac.drain.protocol import Done, Step, Stop, Wait
from slinky_iac.parts.jobs.steps import CancelJobs, JobsSeen, Mark, Release, Submit, chosen, decide, merged, run_number
from tests.unit.examples import examples
from tests.unit.parts.jobs.model import NOW, PREFIX, TAG, Daemons, Killed, Run, goal, job

FATES = ("ok", "lost", "late", "dropped", "killed")


def seen(*jobs: object, gone: frozenset[int] = frozenset()) -> JobsSeen:
    return JobsSeen(jobs, NOW, gone)  # type: ignore[arg-type]


def test_nothing_there_is_submitted() -> None:
    assert decide(seen(), goal()) == Submit()


def test_a_held_job_whose_answer_came_is_marked() -> None:
    assert decide(seen(job(7)), goal(answered=frozenset({7}))) == Mark(7)


def test_a_held_job_whose_answer_was_lost_is_cancelled_and_never_taken_over() -> None:
    assert decide(seen(job(7)), goal()) == CancelJobs((7,))


def test_only_a_marked_job_is_released() -> None:
    assert decide(seen(job(7, tag=TAG)), goal()) == Release(7)


def test_of_two_marked_jobs_the_lowest_id_stays_and_the_other_goes_before_a_release() -> None:
    assert decide(seen(job(9, tag=TAG), job(7, tag=TAG)), goal()) == CancelJobs((9,))


def test_a_job_that_ran_is_the_run_whatever_else_is_marked() -> None:
    ran = job(9, "FAILED", tag=TAG, nodes="metal-1")
    assert decide(seen(ran, job(7, tag=TAG)), goal()) == CancelJobs((7,))
    assert decide(seen(ran, job(7, "CANCELLED", tag=TAG)), goal()) == Done()


def test_a_tag_that_a_user_wrote_makes_no_run() -> None:
    """A user can write any comment, and no admin_comment: the stack takes no such job for its run."""
    for forged in (job(3, "COMPLETED", nodes="metal-1"), job(3, "RUNNING", nodes="metal-1")):
        step = decide(seen(forged), goal())
        assert isinstance(step, Stop)
        assert "job 3 of alice" in step.why
        assert f"admincomment='{TAG}'" in step.why
    assert decide(seen(job(3, "COMPLETED")), goal()) == Submit(), "cancelled before it began"


def test_a_submission_that_was_released_by_hand_is_marked_where_its_answer_came() -> None:
    answered = goal(answered=frozenset({7}))
    for released in (job(7, hold=False), job(7, "RUNNING", nodes="metal-1"), job(7, restart_cnt=1)):
        assert decide(seen(released), answered) == Mark(7)
    over = job(7, "FAILED", nodes="metal-1")
    assert decide(seen(over), answered) == Done()
    assert chosen(seen(over), answered) == over


def test_a_submission_that_was_released_by_hand_while_its_answer_was_lost_stops_the_run() -> None:
    assert decide(seen(job(7, "PENDING")), goal()) == CancelJobs((7,)), "it has not begun: it can still be cancelled"
    for begun in (job(7, "RUNNING", nodes="metal-1"), job(7, restart_cnt=1)):
        assert isinstance(decide(seen(begun), goal()), Stop)
        assert isinstance(decide(seen(begun, job(8)), goal(answered=frozenset({8}))), Stop)
        assert isinstance(decide(seen(begun, job(8, tag=TAG)), goal()), Stop)
    forgotten = job(7, "COMPLETED", nodes="metal-1")
    assert isinstance(decide(seen(forgotten, gone=frozenset({7})), goal()), Stop)


def test_an_administrators_mark_in_slurmdbd_makes_an_ended_job_the_run() -> None:
    ended = job(7, "COMPLETED", nodes="metal-1")
    assert decide(merged([ended], [replace(ended, admin_comment=TAG)], NOW), goal()) == Done()


def test_a_job_that_was_released_by_hand_is_ended_with_its_resource() -> None:
    assert decide(seen(job(7, "RUNNING", nodes="metal-1")), goal(tag="")) == CancelJobs((7,))
    earlier = job(7, "RUNNING", nodes="metal-1", comment=f"{PREFIX}0.old")
    assert decide(seen(earlier), goal()) == CancelJobs((7,))


def test_what_slurmdbd_alone_knows_as_pending_is_not_cancelled_for_ever() -> None:
    assert decide(seen(job(7, "PENDING"), gone=frozenset({7})), goal()) == Submit()


def test_a_job_of_another_user_is_never_touched() -> None:
    assert decide(seen(job(3, user_name="bob")), goal()) == Submit()
    assert decide(seen(job(3, user_name="bob")), goal(tag="")) == Done()


def test_a_run_is_found_where_slurmrestd_cannot_name_its_user() -> None:
    """slurmrestd may look names up on its own host, and a pod of it knows none."""
    assert decide(seen(job(7, user_name="")), goal(answered=frozenset({7}))) == Mark(7)
    assert decide(seen(job(7, user_name="", tag=TAG)), goal()) == Release(7)


def test_a_release_is_not_repeated_against_a_user_who_holds_the_job() -> None:
    step = decide(seen(job(7, tag=TAG)), goal(released=frozenset({7})))
    assert isinstance(step, Wait)
    assert "holds it" in step.why


def test_a_job_that_was_launched_in_vain_and_is_held_is_not_released_again() -> None:
    """slurmctld requeues a job held where its node could not start it (JobHoldMaxRequeue, launch failures)."""
    assert isinstance(decide(seen(job(7, tag=TAG, restart_cnt=1)), goal()), Wait)


def test_an_earlier_run_is_ended_before_the_next_begins() -> None:
    earlier = job(5, "RUNNING", tag=f"{PREFIX}0.old", nodes="metal-1")
    assert decide(seen(earlier), goal()) == CancelJobs((5,))
    assert isinstance(decide(seen(earlier), goal(wait_for_others=True)), Wait)
    idle = job(5, tag=f"{PREFIX}0.old")
    assert decide(seen(idle), goal(wait_for_others=True)) == CancelJobs((5,)), "what never started isn't waited for"


def test_a_job_of_another_life_of_the_resource_is_left_alone() -> None:
    assert decide(seen(job(5, "RUNNING", tag="slinky-iac:dev/bench#other.1.abc", nodes="metal-1")), goal()) == Submit()


def test_a_cancelled_job_is_waited_for_until_its_epilog_has_ended() -> None:
    ending = job(5, "CANCELLED", "COMPLETING", tag=TAG, nodes="metal-1")
    assert isinstance(decide(seen(ending), goal(tag="")), Wait)
    assert decide(seen(job(5, "CANCELLED", tag=TAG, nodes="metal-1")), goal(tag="")) == Done()


def test_the_deadline_ends_the_wait_and_touches_no_job() -> None:
    step = decide(seen(job(7, "RUNNING", tag=TAG, nodes="metal-1")), goal(deadline_at=NOW))
    assert isinstance(step, Stop)
    assert "scancel 7" in step.why


def test_what_slurmctld_has_forgotten_and_slurmdbd_thinks_running_is_no_end() -> None:
    open_ = job(7, "RUNNING", tag=TAG, nodes="metal-1")
    step = decide(seen(open_, gone=frozenset({7})), goal())
    assert isinstance(step, Wait)
    assert "runawayjobs" in step.why
    assert isinstance(decide(seen(open_, gone=frozenset({7})), goal(tag="")), Wait), "it can't be cancelled"


def test_a_smoke_job_is_done_only_when_slurmdbd_has_its_row() -> None:
    ended = job(7, "COMPLETED", tag=TAG, nodes="metal-1")
    assert isinstance(decide(seen(ended), goal(await_row=True)), Wait)
    late = decide(seen(ended), goal(await_row=True, deadline_at=NOW))
    assert isinstance(late, Stop)
    assert "slurmdbd has no row" in late.why
    assert decide(merged([ended], [ended], NOW), goal(await_row=True)) == Done()


@pytest.mark.parametrize("states", [("PENDING",), ("RUNNING",)])
def test_where_only_the_begin_is_waited_for_a_released_job_is_enough(states: tuple[str, ...]) -> None:
    released = job(7, *states, tag=TAG, hold=False)
    assert decide(seen(released), goal(await_end=False)) == Done()


@pytest.mark.parametrize(
    ("tags", "next_run", "first", "every", "number"),
    [
        ([], 1, True, False, 1),
        (["1.abc"], 1, True, False, 1),
        (["1.old"], 1, True, False, 2),
        (["1.abc", "2.abc", "3.abc"], 1, True, False, 3),
        (["1.abc", "2.old"], 1, True, False, 3),
        (["1.abc"], 1, True, True, 2),
        (["1.abc", "2.abc"], 2, False, True, 2),
        (["1.abc", "2.abc"], 2, False, False, 2),
        (["1.abc", "2.abc", "3.abc"], 2, False, False, 3),
        (["1.abc", "2.abc", "3.abc"], 2, False, True, 4),
        (["9", "x.abc"], 1, True, False, 1),
    ],
)
def test_a_state_that_knows_fewer_runs_than_slurm_repeats_none(
    tags: list[str], next_run: int, first: bool, every: bool, number: int
) -> None:
    """The resource was deleted from the state, or an older state was imported."""
    ended = [job(at, "COMPLETED", tag=f"{PREFIX}{tag}", nodes="metal-1") for at, tag in enumerate(tags, 1)]
    assert run_number(seen(*ended), PREFIX, "abc", next_run, first=first, every_update=every) == number


def test_an_open_run_of_an_update_that_a_state_forgot_is_gone_on_with() -> None:
    open_ = job(3, "RUNNING", tag=f"{PREFIX}3.abc", nodes="metal-1")
    assert run_number(seen(open_), PREFIX, "abc", 1, first=True, every_update=True) == 3


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(FATES), st.integers(0, 7)), max_size=25), st.booleans())
def test_a_run_starts_exactly_once_whatever_is_lost(fates: list[tuple[str, int]], forgets: bool) -> None:
    """Each step's request may be lost, late or dropped, or the program killed with it; between two steps late requests
    arrive, somebody releases a submission by hand, the scheduler acts, and slurmctld forgets. After that, all goes well:
    the run has started once."""
    daemons = Daemons()
    run = Run(daemons)
    for fate, between in fates:
        try:
            run.act(run.step(), fate)
        except Killed:
            run = Run(daemons)
        if between & 1 and daemons.late:
            daemons.late.pop(0)()
        if between & 4:
            daemons.release_by_hand()
        if between & 2:
            daemons.proceed()
            if forgets:
                daemons.forget()
        assert daemons.starts.get(TAG, 0) <= 1
    for _ in range(60):
        step = run.step()
        if isinstance(step, Done):
            break
        if isinstance(step, Stop):
            assert daemons.by_hand, step.why
            break
        run.act(step, "ok")
        daemons.proceed()
    else:
        pytest.fail(f"the run came to no end; last step {step}")
    for call in daemons.late:
        call()
    for _ in range(3):
        daemons.proceed()
    assert daemons.starts == {TAG: 1}


@settings(max_examples=examples(400), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.sampled_from(("look", "act", "proceed")), st.sampled_from(FATES)), max_size=40)
)
def test_two_runs_at_once_start_no_second_job(moves: list[tuple[int, str, str]]) -> None:
    """`pulumi cancel` lifts the lock under a live run: each acts on a look that the other has made old since."""
    daemons = Daemons()
    runs = [Run(daemons), Run(daemons)]
    steps: list[Step] = [run.step() for run in runs]
    for who, what, fate in moves:
        if what == "look":
            steps[who] = runs[who].step()
        elif what == "proceed":
            daemons.proceed()
        else:
            try:
                runs[who].act(steps[who], "ok" if fate == "late" else fate)
            except Killed:
                runs[who] = Run(daemons)
            steps[who] = runs[who].step()
        assert daemons.starts.get(TAG, 0) <= 1


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(FATES), st.integers(0, 3)), max_size=12))
def test_after_a_destroy_no_job_of_the_resource_can_start(fates: list[tuple[str, int]]) -> None:
    daemons = Daemons()
    run = Run(daemons)
    for fate, between in fates:
        try:
            run.act(run.step(), fate)
        except Killed:
            run = Run(daemons)
        if between & 2:
            daemons.proceed()
    daemons.late.clear()
    end = Run(daemons, tag="")
    for _ in range(30):
        step = end.step()
        if isinstance(step, Done):
            break
        end.act(step, "ok")
    before = dict(daemons.starts)
    daemons.proceed()
    assert daemons.starts == before
    assert all(each.over or (each.hold and not each.admin_comment) for each in daemons.live.values())
