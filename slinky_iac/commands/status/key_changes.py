"""Which keys are being replaced, from what can be seen without decrypting the configuration. Pure.

Three things tell: secrets that are set only meanwhile, keys that are handed out beside the one in use, and, in a planned
stop, what of the stack's state is gone or has lost its protection. They tell that a key is being replaced, and not always at
which step: `keys rotate … --plan` looks at everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from slinky_iac.commands.rotation.planned_stop import REMOVE, UP, StopFacts, plan_of, reason
from slinky_iac.commands.status.facts import Facts
from slinky_iac.commands.status.model import KeyChange
from slinky_iac.commands.status.seen import Seen
from slinky_iac.config.stack import StackConfig
from slinky_iac.keys.catalogue import JWT, ROTATING, SLURM, TOKENS, Key

_HANDED: Final[Mapping[str, str]] = {
    SLURM.name: "slurm.jwks of the pods has another key",
    JWT.name: "its Secret holds another key",
    TOKENS.name: "the public set has another key",
}
_GENERATED: Final[Mapping[str, str]] = {
    REMOVE: "it isn't protected, as keys.protect wants: a stop has begun, or the next `pulumi up` sets it",
    UP: "the state has no such key: the next `pulumi up` makes one",
}
"""What the steps that can be due leave in the state, where the key is generated."""


def key_changes(found: Facts, seen: Seen) -> tuple[KeyChange, ...] | None:
    """All keys that are being replaced; None where nothing tells of any and the configuration is unknown."""
    changes = tuple(change for key in ROTATING if (change := _change(key, found, seen)) is not None)
    return None if not changes and not seen.configured.known and found.resources else changes


def _change(key: Key, found: Facts, seen: Seen) -> KeyChange | None:
    configured = seen.configured.value
    config = None if configured is None else configured.config
    marks = () if configured is None else tuple(mark for mark in key.rotation_secrets if mark in configured.marks)
    answer = seen.keys.get(key.label)
    besides = answer.value.besides if answer is not None and answer.value is not None else ()
    how = _how(key, config)
    signs = [f"{mark} is set" for mark in marks]
    if besides:
        signs.append(_HANDED[key.name])
    if how == "planned stop" and config is not None:
        signs += _stopped(key, config, found, marked=bool(marks))
    if not signs:
        return None
    stack = f" --stack {found.stack}" if found.stack else ""
    return KeyChange(key.label, how, tuple(signs), besides, f"slinky keys rotate {key.name} --plan{stack}")


def _how(key: Key, config: StackConfig | None) -> Literal["under running jobs", "planned stop", "unknown"]:
    if key is TOKENS:
        return "under running jobs"
    if config is None:
        return "unknown"
    return "under running jobs" if reason(config, key) is None else "planned stop"


def _stopped(key: Key, config: StackConfig, found: Facts, *, marked: bool) -> Iterator[str]:
    """What the state tells about a planned stop."""
    holders = found.holders.get(key.label, ())
    if config.keys.auth != "auth/slurm":
        return
    if config.keys.source == "generated":
        plan = plan_of(key, StopFacts(config, holders, found.daemons, blank=not found.resources))
        if plan.under_way and plan.due is not None:
            yield _GENERATED[plan.due.name]
    elif marked:
        there = bool(holders or found.daemons)
        yield "its Secret and the daemons' resources are there" if there else "its Secret and all that reads it are removed"
