"""Updates of many nodes at once: whom they may touch, decided from a look at all nodes, and what became of each.

Slurm itself protects nothing here: DRAIN overwrites another admin's reason, user and time (facts/slurmrestd.md#trap-7). So
other people's drains are left as they are.

Slurm does an update neither wholly nor not at all. One POST for 500 names costs what one for a single name costs (60 to 110
times faster than one by one), but with one bad name it fails *and* is done for the others, and one that timed out may be
done a moment later. So errors are followed by another look, and each node gets its own outcome.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from slinky_iac.errors import SlurmrestAuthError, SlurmrestError, SlurmrestUnreachable, SlurmrestVersionError
from slinky_iac.names import OPERATOR_REASON_PREFIX, REASON_PREFIX
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


def chunked(names: tuple[str, ...], change: dict[str, object]) -> list[Update]:
    """``names`` in updates of at most :data:`CHUNK`."""
    fixed = tuple(change.items())
    return [Update(names[at : at + CHUNK], fixed) for at in range(0, len(names), CHUNK)]


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
    outcomes = {r.name: r for r in (*result.results, *settled)}
    return BulkResult(tuple(outcomes[name] for name in names), result.errors)


MAX_REASON = 255
"""Bytes. slurmctld takes any length, but slurmdbd's queue wedges for good on megabytes (facts/slurmrestd.md#trap-10)."""
_NODE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,253})?")


def checked_names(names: Iterable[str]) -> tuple[str, ...]:
    """Each name once. :raises ValueError: a hostlist expression or worse where a single node's name belongs."""
    unique = tuple(dict.fromkeys(names))
    for name in unique:
        if _NODE.fullmatch(name) is None:
            raise ValueError(f"{name!r} isn't a single node name: nothing was sent. Expand hostlists first")
    return unique


def checked_reason(reason: str) -> str:
    """:raises ValueError: a reason that Slurm, slurmdbd or the operator would mishandle; nothing was sent."""
    if not reason or len(reason) > MAX_REASON or not reason.isascii() or not reason.isprintable():
        raise ValueError(f"a reason must be 1 to {MAX_REASON} printable ASCII characters; this has {len(reason)}")
    if reason.startswith(OPERATOR_REASON_PREFIX):
        raise ValueError(f"a reason must not begin with {OPERATOR_REASON_PREFIX!r}: the operator would undo the drain")
    return reason


def owner_of(reason: str) -> str:
    """The part that says whose drain it is: ``slinky-iac:<stack>/<nodeset>`` of ``…: why``.

    :raises ValueError: not a reason made by :func:`slinky_iac.names.drain_reason`.
    """
    owner, _, _ = checked_reason(reason).partition(": ")
    if not reason.startswith(REASON_PREFIX) or owner == REASON_PREFIX:
        raise ValueError(f"a drain's reason must begin with {REASON_PREFIX!r} and an owner, so that it can be undone")
    return owner


def after_s(seconds: int) -> dict[str, object]:
    """``resume_after`` as Slurm's number. :raises ValueError: not in 1 … 2^31."""
    if not 0 < seconds < 1 << 31:
        raise ValueError(f"resume_after must be 1 second or more, not {seconds}")
    return {"resume_after": {"set": True, "infinite": False, "number": seconds}}


def sort_for_drain(names: tuple[str, ...], seen: NodesAnswer, reason: str, resume_after_s: int | None) -> Sorted:
    """Undrained nodes get the reason; our own drained ones are renewed and keep theirs; others' are left alone."""
    owner = owner_of(reason)
    timer = after_s(resume_after_s) if resume_after_s is not None else {}
    nodes, settled = _looked_up(names, seen)
    fresh = tuple(node.name for node in nodes if not node.drained_or_draining)
    held = [node for node in nodes if node.drained_or_draining]
    ours = tuple(node.name for node in held if owned(node.reason, [owner]))
    settled += [_foreign(node) for node in held if node.name not in ours]
    # A DRAIN without a reason keeps the one there, with what Slurm appended to it, and only renews resume_after.
    renewed: dict[str, object] = {"state": ["DRAIN"], **timer}
    return Sorted(((fresh, {**renewed, "reason": reason}), (ours, renewed)), tuple(settled))


def sort_for_clearing(names: tuple[str, ...], seen: NodesAnswer, ends: Mapping[str, int]) -> Sorted:
    """Drained nodes whose drain still has this end lose it; all others are as wanted already."""
    nodes, settled = _looked_up(names, seen)
    send = [node.name for node in nodes if node.drained_or_draining and node.resume_after.value == ends[node.name]]
    settled += [NodeResult(node.name, Outcome.DONE, "it was so already", node) for node in nodes if node.name not in send]
    never = {"set": True, "infinite": True, "number": 0}
    return Sorted(((tuple(send), {"state": ["DRAIN"], "resume_after": never}),), tuple(settled))


def sort_by(
    names: tuple[str, ...],
    seen: NodesAnswer,
    owners: tuple[str, ...],
    already: Callable[[Node], bool],
    change: dict[str, object],
) -> Sorted:
    """Only nodes with a reason of ``owners``' that aren't so ``already``: RESUME and UNDRAIN fail on some that are
    (facts/slurmrestd.md#trap-9)."""
    nodes, settled = _looked_up(names, seen)
    send: list[str] = []
    for node in nodes:
        if already(node):
            settled.append(NodeResult(node.name, Outcome.DONE, "it was so already", node))
        elif owned(node.reason, owners):
            send.append(node.name)
        else:
            settled.append(_foreign(node))
    return Sorted(((tuple(send), change),), tuple(settled))


def _looked_up(names: tuple[str, ...], seen: NodesAnswer) -> tuple[list[Node], list[NodeResult]]:
    """Nodes of these names that can be read, and the outcome of all others: nothing is sent for them."""
    known = seen.by_name()
    listed, unsent = [known[name] for name in names if name in known], "nothing was sent for it"
    absent = [NodeResult(name, Outcome.ABSENT, f"Slurm has no such node; {unsent}") for name in names if name not in known]
    garbled = [
        NodeResult(node.name, Outcome.UNKNOWN, f"{node.trouble}; {unsent}", node) for node in listed if node.unreadable
    ]
    return [node for node in listed if not node.unreadable], absent + garbled


def _foreign(node: Node) -> NodeResult:
    who = node.reason_set_by_user or "somebody"
    why = f"{who}'s: {node.reason!r}" if node.reason else f"drained by {who} without a reason"
    return NodeResult(node.name, Outcome.FOREIGN, f"{why}; left as it is", node)
