"""All gates of an update share one list of jobs, and none gets one that was asked for before its own nodes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.errors import SlurmrestAuthError, SlurmrestUnreachable
from slinky_iac.slurmrest.lists import JobsAnswer
from slinky_iac.slurmrest.shared import FRESH_S, SharedJobs
from tests.made.rows import job, node
from tests.unit.slurmrest.fake import FakeSlurm


class Slow:
    """A slurmrestd whose answer is let go by the test; it counts the questions and keeps when each was sent."""

    def __init__(self) -> None:
        self.sent: list[float] = []
        self.asked = threading.Semaphore(0)
        self.let_go = threading.Semaphore(0)
        self.most = 0
        self._under_way = 0
        self.error: Exception | None = None

    def __call__(self, left: float) -> JobsAnswer:
        assert left > 0
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        sent = time.monotonic()
        self.sent.append(sent)
        self.asked.release()
        assert self.let_go.acquire(timeout=20)
        self._under_way -= 1
        if self.error is not None:
            raise self.error
        return JobsAnswer((), 0, sent, time.monotonic())


def ask(shared: SharedJobs, slow: Callable[[float], JobsAnswer], who: str = "a", budget_s: float = 20) -> JobsAnswer:
    return shared.after(time.monotonic(), who, slow, budget_s=budget_s, monotonic=time.monotonic)


def test_who_comes_while_a_question_is_under_way_shares_the_next_one_and_not_that() -> None:
    """Its nodes are newer than that question: a job that began in between would be in neither list."""
    shared, slow = SharedJobs(), Slow()
    with ThreadPoolExecutor(40) as pool:
        first = pool.submit(ask, shared, slow)
        assert slow.asked.acquire(timeout=10)
        begun = time.monotonic()
        others = [pool.submit(ask, shared, slow) for _ in range(32)]
        slow.let_go.release()
        assert slow.asked.acquire(timeout=10)
        slow.let_go.release(40)
        answers = [each.result(20) for each in others]
    assert first.result().asked < begun
    assert all(answer.asked >= begun for answer in answers)
    assert len(slow.sent) <= 4, "32 who wait make a question or two, not 32"
    assert slow.most == 1, "never two questions under way"


def test_a_fresh_answer_serves_whoever_has_older_nodes() -> None:
    shared, slow = SharedJobs(), Slow()
    slow.let_go.release(9)
    before = time.monotonic()
    found = ask(shared, slow)
    again = shared.after(before, "a", slow, budget_s=9, monotonic=time.monotonic)
    assert again is found
    assert ask(shared, slow) is not found


def test_another_user_or_slurmrestd_asks_for_itself() -> None:
    shared, slow = SharedJobs(), Slow()
    slow.let_go.release(9)
    before = time.monotonic()
    found = ask(shared, slow)
    assert shared.after(before, "b", slow, budget_s=9, monotonic=time.monotonic) is not found


@given(age=st.floats(0, 10), nodes=st.floats(-5, 5))
def test_an_answer_is_used_only_while_fresh_and_only_for_older_nodes(age: float, nodes: float) -> None:
    now = [100.0]
    asked: list[float] = []

    def question(_: float) -> JobsAnswer:
        asked.append(now[0])
        return JobsAnswer((), 0, now[0], now[0])

    shared = SharedJobs()
    shared.after(100.0, "a", question, budget_s=9, monotonic=lambda: now[0])
    now[0] = 100.0 + age
    moment = min(100.0 + nodes, now[0])
    found = shared.after(moment, "a", question, budget_s=9, monotonic=lambda: now[0])
    assert found.asked >= moment
    assert now[0] - found.answered <= FRESH_S
    assert len(asked) == (1 if moment <= 100.0 and age <= FRESH_S else 2)


def test_an_error_is_told_to_all_who_waited_for_that_answer_and_to_nobody_later() -> None:
    shared, slow = SharedJobs(), Slow()
    slow.error = SlurmrestAuthError("the token was refused")
    moment = time.monotonic()

    def wait() -> JobsAnswer:
        return shared.after(moment, "a", slow, budget_s=20, monotonic=time.monotonic)

    with ThreadPoolExecutor(9) as pool:
        waiting = [pool.submit(wait)]
        assert slow.asked.acquire(timeout=10)
        waiting += [pool.submit(wait) for _ in range(8)]
        time.sleep(0.2)  # so that they do wait; who comes too late asks a question of its own, and hears the same
        slow.let_go.release(9)
        for each in waiting:
            with pytest.raises(SlurmrestAuthError, match="refused"):
                each.result(20)
    slow.error = None
    slow.let_go.release(9)
    assert ask(shared, slow).jobs == ()


def test_who_waits_for_another_ends_when_its_own_time_is_over() -> None:
    shared, slow = SharedJobs(), Slow()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask, shared, slow)
        assert slow.asked.acquire(timeout=10)
        with pytest.raises(SlurmrestUnreachable, match="somebody else"):
            ask(shared, slow, budget_s=0.2)
        slow.let_go.release(9)
        first.result(20)


def test_a_client_asks_for_jobs_after_its_nodes_and_shares_them() -> None:
    slurm = FakeSlurm().add(node("g-0"), job(17, nodes="g-0"))
    shared = SharedJobs()
    with slurm.client(shared=shared) as one, slurm.client(shared=shared) as other:
        nodes, same = one.nodes(), other.nodes()
        assert nodes is not None
        assert same is not None
        found = one.jobs_after(nodes.answered)
        assert other.jobs_after(same.answered) is found
        later = other.nodes()
        assert later is not None
        newer = other.jobs_after(later.answered)
    assert [found.jobs[0].job_id, newer.jobs[0].job_id] == [17, 17]
    assert len(slurm.asked_for("GET", "jobs/")) == 2
    assert nodes.answered <= found.asked
    assert later.answered <= newer.asked


def test_clients_that_were_given_nothing_to_share_share_nothing() -> None:
    slurm = FakeSlurm().add(node("g-0"))
    with slurm.client() as one, slurm.client() as other:
        nodes = one.nodes()
        assert nodes is not None
        one.jobs_after(nodes.answered)
        other.jobs_after(nodes.answered)
    assert len(slurm.asked_for("GET", "jobs/")) == 2
