"""What a person sees of a wait, and how often."""

from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.drain.driver import EVERY_S, Pace, drive
from slinky_iac.drain.observe import shown
from slinky_iac.drain.protocol import Done, Patience, Undrain, Wait
from slinky_iac.drain.settings import DrainPolicy
from slinky_iac.drain.steps import next_step
from slinky_iac.drain.words import bar, last_job, waiting_line
from tests.unit.drain.made import NOW, given_up, goal, held, job, node, pod, seen
from tests.unit.drain.test_driver import Process, Steps


def line(*jobs, deadline_at=NOW + 7200, policy=None, free=1, total=2):
    return waiting_line(free, total, jobs, NOW, Patience(policy=policy or DrainPolicy(), deadline_at=deadline_at), "it ends")


@given(st.integers(0, 500), st.integers(1, 500), st.integers(1, 40))
def test_a_bar_is_full_only_where_all_is_done(done, total, cells):
    drawn = bar(min(done, total), total, cells)
    assert len(drawn) == cells + 2
    if cells > 1:
        assert ("." not in drawn) == (done >= total)
        assert ("#" not in drawn) == (done == 0)


def test_the_line_names_the_job_that_ends_last_with_its_user_and_what_comes_next():
    found = line(job(41, 1, end=NOW + 720, user_name="alice"), job(42, 2, end=NOW + 60, user_name="bob"))
    assert (
        found == "[#####.....] 1 of 2 nodes are free; last: job 41 of alice, ends by 08:12 UTC (in 12 min);"
        " once free, it ends"
    )


def test_a_job_without_an_end_is_the_last_and_the_deadline_says_what_follows():
    found = line(job(41, 1, end=None), job(42, 2), policy=DrainPolicy(on_deadline="requeue"), deadline_at=NOW + 600)
    assert (
        "last: job 41 of alice, of no known end; at the deadline, 08:10 UTC (in 10 min), the jobs are requeued;"
        " once free," in found
    )


def test_a_deadline_after_the_last_job_is_not_named():
    assert "deadline" not in line(job(41, 1, end=NOW + 60))
    assert "deadline" in line(job(41, 1, end=NOW + 7201))


def test_the_last_job_of_none_is_none():
    assert last_job(()) is None
    assert line(free=0) == "[..........] 0 of 2 nodes are free; once free, it ends"


def test_a_user_who_is_not_to_be_shown_is_in_no_line_of_a_wait():
    hidden = shown(job(41, 2), DrainPolicy(show_users=False).hide_by("dev"))
    look = seen([pod(0), given_up(1), given_up(2)], [node(0), held(1), held(2, "MIXED+DRAIN")], [hidden])
    step = next_step(look, goal(3, 1))
    assert isinstance(step, Wait)
    assert "job 41 of user-" in step.why
    assert "once free, replicas go from 3 to 1" in step.why
    assert "alice" not in " ".join([step.why, *step.progress])


def test_without_a_terminal_a_wait_says_one_line_a_minute():
    process = Process()
    process.watched = False
    waits = [Wait(f"[{'#' * n}{'.' * (10 - n)}] {n} of 10 nodes are free") for n in range(10) for _ in range(3)]
    drive(Steps(process, *waits, Done(), patience=10_000))
    assert sum(process.rests) == 300
    assert [text[13:14] for text in process.said] == ["0", "2", "4", "6", "8"]


def test_in_a_terminal_every_look_renews_the_line():
    process = Process()
    drive(Steps(process, Wait("1 of 3"), Wait("2 of 3"), Done()))
    assert process.said == ["1 of 3", "2 of 3"]


def test_another_sort_of_wait_is_said_at_once():
    pace = Pace(watched=False)
    assert [pace.due(text, 0) for text in ("2 of 3 nodes", "1 of 3 nodes", "Slurm could not be asked")] == [
        True,
        False,
        True,
    ]
    assert pace.due("1 of 3 nodes", EVERY_S)


def test_the_last_line_says_what_happened_and_not_what_was_waited_for():
    class Told(Steps):
        def ended(self, seen):
            return f"all is well by a {seen} look"

    process = Process()
    drive(Told(process, Wait("gpu-0 is not ready"), Done()))
    assert process.said[-1] == "all is well by a whole look"
    process = Process()
    drive(Told(process, Undrain(("gpu-0",)), Done()))
    assert process.said[-1] == "all is well by a whole look"
    process = Process()
    drive(Told(process, Done()))
    assert process.said == [], "nothing was done and nothing was waited for"
