"""How long a drain waits, what happens then, and what may be touched at all: one frozen value a NodeSet.

It travels as a flat dict of plain values through the gates' props (see :func:`parse_policy`), so that a destroy reads
it from the state with no program running. Fields mirror ``Drain`` and ``DrainLimits`` of the configuration.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, get_args

from slinky_iac.printable import printable

OnDeadline = Literal["keep", "undo", "requeue", "cancel"]
Signal = Literal["SIGTERM", "SIGUSR1", "SIGUSR2", "SIGINT"]

_MAX_S: Final = 400 * 24 * 3600
"""Longest time accepted anywhere, in seconds: more is a slip, and Slurm's own fields are 32 bits wide."""
LAST_RESORT_S: Final = 300
"""How long what a requeue or a cancel sets in motion may take: jobs leave, nodes get idle, the operator sees it."""


@dataclass(frozen=True)
class Limits:
    """What a scale-in may touch at the most; None for no limit."""

    max_share: float | None = None
    """Share of the NodeSet's pods given up at once, above 0 to 1."""
    max_jobs: int | None = None
    """Distinct jobs on the nodes given up."""
    max_job_age_s: int | None = None
    """No job that has run longer than this many seconds may be on them."""


@dataclass(frozen=True)
class DrainPolicy:
    """Everything a drain may decide by itself."""

    deadline_s: int = 1800
    """Longest wait of one `pulumi up`, in seconds; a second run begins a new one."""
    on_deadline: OnDeadline = "keep"
    """keep: fail, leave the nodes drained. undo: fail and return ours. requeue: requeue the jobs that allow it. cancel:
    signal them, and cancel after ``grace_s``. Only the last two touch jobs."""
    grace_s: int = 60
    """Between signal and cancel."""
    signal: Signal = "SIGTERM"
    max_at_once: int | None = None
    """Nodes that hold a drain of ours while jobs still run on them; the others follow as these get free. Nodes that are
    free already stay drained until all are, since replicas are lowered in one write; they don't count."""
    register_deadline_s: int = 300
    """How long a new node may take to register."""
    poll_s: int = 2
    """Between two looks."""
    bound_s: int = 600
    """Longest stay in one provider call."""
    hold_factor: float = 2.0
    """``resume_after`` of our drains, as a multiple of the deadline: the dead man's switch. 0 for none."""
    min_hold_s: int = 3600
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
        """Seconds that a run goes on after the deadline: none where the policy ends it there; where the policy acts only
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
    kept = {key: value for key, value in raw.items() if key != "limits"}
    limits_raw = raw.get("limits", {})
    if not isinstance(limits_raw, Mapping):
        faults.append(f"limits: got {limits_raw!r}; allowed is a mapping of limits")
        limits_raw = {}
    values = _read(kept, _POLICY_RULES, "", faults)
    limits = _read(limits_raw, _LIMIT_RULES, "limits.", faults)
    if faults:
        raise ValueError(printable("the drain policy can't be used, nothing was drained: " + "; ".join(faults)))
    return DrainPolicy(**values, limits=Limits(**limits))


def plain_policy(policy: DrainPolicy) -> dict[str, Any]:
    """The same as plain values, for props and JSON; :func:`parse_policy` reads it back."""
    plain = {field.name: getattr(policy, field.name) for field in fields(policy) if field.name != "limits"}
    if policy.show_users:  # states of releases without it don't differ
        del plain["show_users"]
    return {**plain, "limits": {field.name: getattr(policy.limits, field.name) for field in fields(policy.limits)}}


@dataclass(frozen=True)
class _Number:
    """A number from ``low`` to ``high``; ``none`` if it may be absent, ``whole`` if it must be an integer."""

    low: float
    high: float
    none: bool = False
    whole: bool = True
    above: bool = False
    """``low`` itself is not allowed."""

    def read(self, value: object) -> int | float | None:
        """The number. Raises ValueError with what is allowed."""
        if value is None and self.none:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not self._within(value):
            raise ValueError(self.allowed)
        return int(value) if self.whole else float(value)

    def _within(self, value: float) -> bool:
        if not self.low <= value <= self.high or (self.above and value == self.low):  # also refuses NaN
            return False
        return not self.whole or value == int(value)

    @property
    def allowed(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        start = f"above {self.low:g}" if self.above else f"from {self.low:g}"
        return f"{kind} {start} to {self.high:g}{' or none' if self.none else ''}"


@dataclass(frozen=True)
class _Word:
    """One of a few words."""

    words: tuple[str, ...]

    def read(self, value: object) -> str:
        """The word. Raises ValueError with what is allowed."""
        if not isinstance(value, str) or value not in self.words:
            raise ValueError(f"one of {', '.join(self.words)}")
        return value


@dataclass(frozen=True)
class _Flag:
    """Yes or no."""

    def read(self, value: object) -> bool:
        """The flag. Raises ValueError with what is allowed."""
        if not isinstance(value, bool):
            raise ValueError("true or false")  # noqa: TRY004
        return value


_Rule = _Number | _Word | _Flag
_POLICY_RULES: Final[Mapping[str, _Rule]] = {
    "deadline_s": _Number(0, _MAX_S),
    "on_deadline": _Word(get_args(OnDeadline)),
    "grace_s": _Number(0, _MAX_S),
    "signal": _Word(get_args(Signal)),
    "max_at_once": _Number(1, 1_000_000, none=True),
    "register_deadline_s": _Number(0, _MAX_S),
    "poll_s": _Number(1, 3600),
    "bound_s": _Number(1, _MAX_S),
    "hold_factor": _Number(0, 1000, whole=False),
    "min_hold_s": _Number(600, _MAX_S),
    "show_users": _Flag(),
}
_LIMIT_RULES: Final[Mapping[str, _Rule]] = {
    "max_share": _Number(0, 1, none=True, whole=False, above=True),
    "max_jobs": _Number(0, 1_000_000_000, none=True),
    "max_job_age_s": _Number(0, _MAX_S, none=True),
}


def _read(raw: Mapping[str, Any], rules: Mapping[str, _Rule], path: str, faults: list[str]) -> dict[str, Any]:
    """Values of ``raw`` by their rules; what is wrong goes to ``faults``."""
    values: dict[str, Any] = {}
    for key, value in raw.items():
        rule = rules.get(key)
        if rule is None:
            faults.append(f"{path}{key}: not known; allowed are {', '.join(sorted(rules))}")
            continue
        try:
            values[key] = rule.read(value)
        except ValueError as wrong:
            faults.append(f"{path}{key}: got {value!r}; allowed is {wrong}")
    return values
