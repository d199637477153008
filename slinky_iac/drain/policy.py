"""How long a drain waits, what happens then, and what may be touched at all: one frozen value a NodeSet.

It travels as a flat dict of plain values through the gates' props (see :func:`parse_policy`), so that a destroy reads
it from the state with no program running. Fields mirror ``Drain`` and ``DrainLimits`` of the configuration.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from slinky_iac.text import printable

OnDeadline = Literal["keep", "undo", "requeue", "cancel"]
Signal = Literal["SIGTERM", "SIGUSR1", "SIGUSR2", "SIGINT"]

_MAX_S: Final = 400 * 24 * 3600
"""Longest time accepted anywhere, in seconds: more is a slip, and Slurm's own fields are 32 bits wide."""


def _whole(low: int, high: int = _MAX_S) -> Meta:
    return Meta(ge=low, le=high, description=f"a whole number from {low} to {high}")


Seconds = Annotated[int, _whole(0)]
LAST_RESORT_S: Final = 300
"""How long what a requeue or a cancel sets in motion may take: jobs leave, nodes get idle, the operator sees it."""


@dataclass(frozen=True)
class Limits:
    """What a scale-in may touch at the most; None for no limit."""

    max_share: Annotated[float, Meta(gt=0, le=1, description="a number above 0 to 1")] | None = None
    """Share of the NodeSet's pods that is selected for removal at once, above 0 to 1."""
    max_jobs: Annotated[int, _whole(0, 1_000_000_000)] | None = None
    """Distinct jobs on the nodes that are selected for removal."""
    max_job_age_s: Seconds | None = None
    """No job that has run longer than this many seconds may be on them."""


@dataclass(frozen=True)
class DrainPolicy:
    """Everything a drain may decide by itself."""

    deadline_s: Seconds = 1800
    """Longest wait of one `pulumi up`, in seconds; a second run begins a new one."""
    on_deadline: OnDeadline = "keep"
    """keep: fail, leave the nodes drained. undo: fail and return ours. requeue: requeue the jobs that allow it. cancel:
    signal them, and cancel after ``grace_s``. Only the last two touch jobs."""
    grace_s: Seconds = 60
    """Between signal and cancel."""
    signal: Signal = "SIGTERM"
    max_at_once: Annotated[int, _whole(1, 1_000_000)] | None = None
    """Nodes that hold a drain of ours while jobs still run on them; the others follow as these get free. Nodes that are
    free already stay drained until all are, since replicas are lowered in one write; they don't count."""
    register_deadline_s: Seconds = 300
    """How long a new node may take to register."""
    poll_s: Annotated[int, _whole(1, 3600)] = 2
    """Between two looks."""
    bound_s: Annotated[int, _whole(1)] = 600
    """Longest stay in one provider call."""
    hold_factor: Annotated[float, Meta(ge=0, le=1000, description="a number from 0 to 1000")] = 2.0
    """``resume_after`` of our drains, as a multiple of the deadline: the dead man's switch. 0 for none."""
    min_hold_s: Annotated[int, _whole(600)] = 3600
    """Shortest ``resume_after``: the operator must be done with the pods before slurmctld returns the nodes."""
    show_users: bool = True
    """Whether users are named; plans stand in states and previews, which more people read than may ask Slurm."""
    limits: Limits = Limits()

    def hide_by(self, stack: str) -> str:
        """What users' names are made unreadable with (:func:`pseudonym`); empty where they are shown."""
        return "" if self.show_users else f"slinky-iac/{stack}"

    @property
    def hold_s(self) -> int | None:
        """Seconds after which slurmctld returns a node whose drainer died; None for never."""
        if self.hold_factor == 0:
            return None
        return min(max(int(self.deadline_s * self.hold_factor), self.min_hold_s), _MAX_S)

    @property
    def overtime_s(self) -> int:
        """Seconds that a run continues after the deadline: none where the policy ends it there; where the policy acts only
        then, as long as its act may take until the pods can go."""
        return last_resort_s(self.on_deadline) + (self.grace_s if self.on_deadline == "cancel" else 0)


def pseudonym(user: str, hide: str) -> str:
    """``user-3f2a`` in place of a name: the same in all looks, so that a plan doesn't change while nothing does, and too
    short to be sure of a name by trying all."""
    return f"user-{hashlib.sha256(f'{hide}/{user}'.encode('utf-8', 'replace')).hexdigest()[:4]}" if user else ""


def last_resort_s(on_deadline: str) -> int:
    """:data:`LAST_RESORT_S` where the policy acts at the deadline, else 0."""
    return LAST_RESORT_S if on_deadline in {"requeue", "cancel"} else 0


def parse_policy(raw: Mapping[str, Any]) -> DrainPolicy:
    """A policy from plain values, e.g. a gate's props. Absent fields have their defaults; numbers may be floats that are
    whole (Pulumi's wire knows no integers).

    :raises ValueError: names each field at fault, what it holds and what is allowed.
    """
    faults: list[str] = []
    limits = raw.get("limits", {})
    if not isinstance(limits, Mapping):
        faults.append(f"limits: got {limits!r}; allowed is a mapping of limits")
        limits = {}
    values = _read(DrainPolicy, {key: value for key, value in raw.items() if key != "limits"}, "", faults)
    parts = _read(Limits, limits, "limits.", faults)
    if faults:
        raise ValueError(printable("the drain policy can't be used, nothing was drained: " + "; ".join(faults)))
    return DrainPolicy(**values, limits=Limits(**parts))


def _read(kind: type, raw: Mapping[str, Any], path: str, faults: list[str]) -> dict[str, Any]:
    """Fields of ``kind`` by their types; what is wrong goes to ``faults``: msgspec alone would tell the first one only."""
    hints = {name: hint for name, hint in get_type_hints(kind, include_extras=True).items() if name != "limits"}
    values: dict[str, Any] = {}
    for key, value in raw.items():
        if key not in hints:
            faults.append(f"{path}{key}: not known; allowed are {', '.join(sorted(hints))}")
            continue
        try:
            values[key] = msgspec.convert(value, hints[key], strict=not isinstance(value, float))
        except msgspec.ValidationError:
            faults.append(f"{path}{key}: got {value!r}; allowed is {_allowed(hints[key])}")
    return values


def _allowed(hint: Any) -> str:  # noqa: ANN401 - any type
    """What a field may hold, in words."""
    if get_origin(hint) is Literal:
        return f"one of {', '.join(get_args(hint))}"
    if get_origin(hint) in (Union, UnionType):
        return f"{_allowed(get_args(hint)[0])} or none"
    return "true or false" if hint is bool else str(get_args(hint)[1].description)


def plain_policy(policy: DrainPolicy) -> dict[str, Any]:
    """The same as plain values, for props and JSON; :func:`parse_policy` reads it back."""
    plain = asdict(policy)
    if policy.show_users:  # states of releases without it don't differ
        del plain["show_users"]
    return plain
