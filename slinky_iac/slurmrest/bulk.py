"""Updates of many nodes at once, told per node, because Slurm does them neither wholly nor not at all.

One POST for 500 names costs what one for a single name costs (60 to 110 times faster than one by one), but with one bad
name it fails *and* is done for the others, and one that timed out may be done a moment later. So whom to touch is
decided from a look at all nodes, errors are followed by another look, and each node gets its own outcome.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from slinky_iac.errors import SlurmrestAuthError, SlurmrestError, SlurmrestUnreachable, SlurmrestVersionError
from slinky_iac.slurmrest.lists import NodesAnswer
from slinky_iac.slurmrest.objects import Node

CHUNK = 500
"""Names in one POST: bounds what one bad name can confuse, at no cost in time."""


class Outcome(enum.Enum):
    """What became of one node."""

    DONE = "done"
    """Slurm accepted it, or it was so already, or the second look shows that it is so."""
    FOREIGN = "foreign"
    """Somebody else's drain or reason stands there: nothing was sent for this node."""
    ABSENT = "absent"
    """Slurm has no such node."""
    REFUSED = "refused"
    """Slurm said no, and the second look shows that it isn't so."""
    UNKNOWN = "unknown"
    """No answer, or the second look failed: it may be done, or be done in a moment. Look again."""
    NOT_SENT = "not sent"
    """Not tried, because an earlier chunk found Slurm out of reach or the time was over."""


@dataclass(frozen=True, slots=True)
class NodeResult:
    """One node's outcome; ``before`` is what was there, to be restored by an undo; ``after`` only where looked again."""

    name: str
    outcome: Outcome
    why: str = ""
    before: Node | None = field(default=None, repr=False)
    after: Node | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class BulkResult:
    """Outcomes in the order of the names asked for, and the errors met on the way."""

    results: tuple[NodeResult, ...]
    errors: tuple[SlurmrestError, ...] = ()

    @property
    def complete(self) -> bool:
        """Every node is done."""
        return all(r.outcome is Outcome.DONE for r in self.results)

    def names(self, *outcomes: Outcome) -> tuple[str, ...]:
        """The nodes with one of these outcomes."""
        return tuple(r.name for r in self.results if r.outcome in outcomes)


@dataclass(frozen=True, slots=True)
class Update:
    """One POST to nodes/: the same change for all its names."""

    names: tuple[str, ...]
    change: tuple[tuple[str, object], ...]

    def body(self) -> dict[str, object]:
        return {"name": list(self.names), **dict(self.change)}


@dataclass(frozen=True, slots=True)
class Sorted:
    """Names by what is to be done: sent in groups (each its own change), or left alone with an outcome."""

    groups: tuple[tuple[tuple[str, ...], dict[str, object]], ...]
    settled: tuple[NodeResult, ...]


def owned(reason: str, owners: Iterable[str]) -> bool:
    """Whether ``reason`` begins with one of ``owners``, at the end of a word.

    Beginning only, because Slurm appends (`` : Not responding``) when a drained node dies; a whole word, because the
    owner ``…/gpu`` must not take what is ``…/gpu-2``'s.
    """
    for owner in owners:
        rest = reason.removeprefix(owner)
        if owner and reason.startswith(owner) and (not rest or owner[-1] in ": " or rest[0] in ": "):
            return True
    return False


def chunked(names: tuple[str, ...], change: dict[str, object], size: int = CHUNK) -> list[Update]:
    """``names`` in updates of at most ``size``."""
    fixed = tuple(change.items())
    return [Update(names[at : at + size], fixed) for at in range(0, len(names), size)]


def carry_out(
    updates: Sequence[Update],
    *,
    seen: NodesAnswer,
    post: Callable[[Update], None],
    look: Callable[[], NodesAnswer],
    is_done: Callable[[Node], bool],
) -> BulkResult:
    """Send the updates; after any error look again and tell per node what is so.

    ``is_done`` says whether a node is as it should be. An error of authentication or version before anything was accepted
    is raised, since then nothing was changed anywhere.
    """
    before = seen.by_name()
    failed: list[tuple[Update, SlurmrestError]] = []
    unsent: list[Update] = []
    accepted: list[Update] = []
    for at, update in enumerate(updates):
        try:
            post(update)
        except SlurmrestError as error:
            failed.append((update, error))
            if isinstance(error, SlurmrestAuthError | SlurmrestVersionError) and not accepted and len(failed) == 1:
                raise
            if isinstance(error, SlurmrestUnreachable | SlurmrestAuthError | SlurmrestVersionError):
                unsent = list(updates[at + 1 :])
                break
        else:
            accepted.append(update)
    results = [NodeResult(n, Outcome.DONE, before=before.get(n)) for u in accepted for n in u.names]
    errors = [cause for _, cause in failed]
    after: dict[str, Node] | None = None
    if failed:
        try:
            after = look().by_name()
        except SlurmrestError as error:
            errors.append(error)
    for update, cause in failed:
        results += [_judged(name, cause, before.get(name), after, is_done) for name in update.names]
    results += [NodeResult(n, Outcome.NOT_SENT, str(errors[0]), before.get(n)) for u in unsent for n in u.names]
    return BulkResult(tuple(results), tuple(errors))


def _judged(
    name: str, error: SlurmrestError, before: Node | None, after: dict[str, Node] | None, is_done: Callable[[Node], bool]
) -> NodeResult:
    if after is None:
        return NodeResult(name, Outcome.UNKNOWN, f"{error}; and the look afterwards failed", before)
    now = after.get(name)
    if now is None:
        return NodeResult(name, Outcome.ABSENT, "Slurm has no such node", before)
    if now.unreadable:
        return NodeResult(name, Outcome.UNKNOWN, f"{error}; and {now.trouble}", before, now)
    if is_done(now):
        return NodeResult(name, Outcome.DONE, "done, although the answer was an error", before, now)
    if isinstance(error, SlurmrestUnreachable):
        return NodeResult(name, Outcome.UNKNOWN, f"not done yet, and may still be: {error}", before, now)
    return NodeResult(name, Outcome.REFUSED, str(error), before, now)


def in_order(names: Iterable[str], result: BulkResult, settled: Iterable[NodeResult]) -> BulkResult:
    """``result`` together with what was settled without sending, in the order of ``names``."""
    found = {r.name: r for r in (*result.results, *settled)}
    return BulkResult(tuple(found[name] for name in names), result.errors)
