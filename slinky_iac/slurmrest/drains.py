"""Whom a node update may touch: pure decisions from a look at all nodes. Other people's drains stay as they are.

Slurm itself protects nothing here: DRAIN overwrites another admin's reason, user and time (facts/slurmrestd.md#trap-7).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from slinky_iac.names import OPERATOR_REASON_PREFIX, REASON_PREFIX
from slinky_iac.slurmrest.bulk import NodeResult, Outcome, Sorted, owned
from slinky_iac.slurmrest.lists import NodesAnswer
from slinky_iac.slurmrest.objects import Node

MAX_REASON = 255
"""Bytes. slurmctld takes any length, but slurmdbd's queue wedges for good on megabytes (facts/slurmrestd.md#trap-10)."""
_NODE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,253})?")


def checked_names(names: Iterable[str]) -> tuple[str, ...]:
    """Each name once. :raises ValueError: a hostlist expression or worse where a single node's name belongs."""
    unique = tuple(dict.fromkeys(names))
    for name in unique:
        if _NODE.fullmatch(name) is None:
            raise ValueError(f"{name!r} is no single node name: nothing was sent. Expand hostlists first")
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
    ours, fresh, settled = [], [], []
    known = seen.by_name()
    for name in names:
        node = known.get(name)
        if node is None:
            settled.append(_absent(name))
        elif node.unreadable:
            settled.append(_unreadable(node))
        elif not node.drained_or_draining:
            fresh.append(name)
        elif owned(node.reason, [owner]):
            ours.append(name)
        else:
            settled.append(_foreign(node))
    # A DRAIN without a reason keeps the one there, with what Slurm appended to it, and only renews resume_after.
    renewed: dict[str, object] = {"state": ["DRAIN"], **timer}
    return Sorted(((tuple(fresh), {**renewed, "reason": reason}), (tuple(ours), renewed)), tuple(settled))


def sort_for_undrain(names: tuple[str, ...], seen: NodesAnswer, owners: tuple[str, ...]) -> Sorted:
    """Only drains with a reason of ``owners``'. UNDRAIN, since RESUME fails on idle nodes (facts/slurmrestd.md#trap-9)."""
    return _sorted_by(names, seen, owners, lambda n: "DRAIN" not in n.state, {"state": ["UNDRAIN"]})


def sort_for_resume(names: tuple[str, ...], seen: NodesAnswer, owners: tuple[str, ...]) -> Sorted:
    """Only records DOWN or drained with a reason of ``owners``': RESUME fails on others (facts/slurmrestd.md#trap-9)."""
    return _sorted_by(names, seen, owners, lambda n: not n.state & {"DOWN", "DRAIN"}, {"state": ["RESUME"]})


def sort_for_reason(names: tuple[str, ...], seen: NodesAnswer, reason: str, owners: tuple[str, ...]) -> Sorted:
    """Only where the reason there is one of ``owners``': to put back a text that a drain of ours had replaced."""
    return _sorted_by(names, seen, owners, lambda n: n.reason == reason, {"reason": reason})


def _sorted_by(
    names: tuple[str, ...],
    seen: NodesAnswer,
    owners: tuple[str, ...],
    already: Callable[[Node], bool],
    change: dict[str, object],
) -> Sorted:
    send, settled = [], []
    known = seen.by_name()
    for name in names:
        node = known.get(name)
        if node is None:
            settled.append(_absent(name))
        elif node.unreadable:
            settled.append(_unreadable(node))
        elif already(node):
            settled.append(NodeResult(name, Outcome.DONE, "it was so already", node))
        elif owned(node.reason, owners):
            send.append(name)
        else:
            settled.append(_foreign(node))
    return Sorted(((tuple(send), change),), tuple(settled))


def _absent(name: str) -> NodeResult:
    return NodeResult(name, Outcome.ABSENT, "Slurm has no such node; nothing was sent for it")


def _unreadable(node: Node) -> NodeResult:
    return NodeResult(node.name, Outcome.UNKNOWN, f"{node.trouble}; nothing was sent for it", node)


def _foreign(node: Node) -> NodeResult:
    who = node.reason_set_by_user or "somebody"
    why = f"{who}'s: {node.reason!r}" if node.reason else f"drained by {who} without a reason"
    return NodeResult(node.name, Outcome.FOREIGN, f"{why}; left as it is", node)
