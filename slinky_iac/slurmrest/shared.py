"""One answer for all who wait for it in this process: 64 gates that look at once ask slurmctld for its jobs once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

from slinky_iac.errors import SlinkyError, SlurmrestUnreachable
from slinky_iac.slurmrest.lists import JobsAnswer

FRESH_S: Final = 2.0
"""Age in seconds from which a list of jobs is asked for again."""


class Timed(Protocol):
    """An answer that knows when it came."""

    @property
    def answered(self) -> float:
        """In monotonic seconds of this process."""


Answer = TypeVar("Answer", bound=Timed)


@dataclass(eq=False)
class _Question(Generic[Answer]):
    """One question under way, or answered."""

    sent: float
    ended: threading.Event = field(default_factory=threading.Event)
    answer: Answer | None = None
    error: BaseException | None = None


class Shared(Generic[Answer]):
    """The last answer to each who, and who is asking for one now. For any number of threads.

    A look at nodes may only conclude something from a list of jobs whose question was sent after its nodes were
    answered: a job that began in between would be in neither. So an answer serves only those whose nodes are older than
    its question. There is never more than one question under way; who can't use its answer waits for its end and asks then.
    """

    def __init__(self, what: str = "jobs") -> None:
        self._what = what
        self._lock = threading.Lock()
        self._questions: dict[Hashable, _Question[Answer]] = {}

    def after(
        self,
        moment: float,
        who: Hashable,
        ask: Callable[[float], Answer],
        *,
        budget_s: float,
        monotonic: Callable[[], float],
        fresh_s: float = FRESH_S,
    ) -> Answer:
        """The answer to a question that was sent after ``moment``, and answered ``fresh_s`` ago at most.

        ``who`` names whom is asked, and as which user: others may see something else. ``ask`` puts the question, within
        so many seconds. ``monotonic`` is the clock of ``moment`` and of the answers' times.

        Raises what ``ask`` raises, for everybody whom its answer would have served; SlurmrestUnreachable when the budget
        was spent on waiting for others.
        """
        deadline = monotonic() + budget_s
        while True:
            with self._lock:
                question = self._questions.get(who)
                if question is None or (question.ended.is_set() and not _serves(question, moment, monotonic() - fresh_s)):
                    mine = self._questions[who] = _Question(sent=monotonic())
                    break
            if not question.ended.wait(max(deadline - monotonic(), 0)):
                raise SlurmrestUnreachable(
                    f"{self._what}: no answer to somebody else in this process within {budget_s:.0f} s"
                )
            if question.sent >= moment:
                if question.answer is not None and monotonic() - question.answer.answered <= fresh_s:
                    return question.answer
                if question.error is not None:
                    raise self._again(question.error) from None
        try:
            mine.answer = ask(max(deadline - monotonic(), 0))
        except BaseException as error:
            mine.error = error
            raise
        finally:
            mine.ended.set()
        return mine.answer

    def last(self, who: Hashable) -> Answer | None:
        """The newest answer that is there, however old; None without one."""
        with self._lock:
            question = self._questions.get(who)
            return None if question is None else question.answer

    def _again(self, error: BaseException) -> SlinkyError:
        """The error of another thread, as one's own."""
        if isinstance(error, SlinkyError):
            return error
        who = "Ctrl-C" if isinstance(error, KeyboardInterrupt) else "another part of this run, which says why,"
        return SlurmrestUnreachable(f"{self._what}: {who} stopped the query")


def _serves(question: _Question[Answer], moment: float, oldest: float) -> bool:
    """Whether an answer that is there already may be used. An error is only for those who waited for it."""
    answer = question.answer
    return answer is not None and question.sent >= moment and answer.answered >= oldest


SharedJobs = Shared[JobsAnswer]
THIS_PROCESS: Final = SharedJobs()
"""For all gates of an update: Pulumi runs them as threads of one process."""
