"""What `keys show` and `keys verify` say of a key: where it is held, and whether all places agree. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from slinky_iac.commands.rotation.model import TokenVerdicts
from slinky_iac.keys.catalogue import Key


@dataclass(frozen=True)
class Held:
    """One place that holds one key."""

    key: str
    place: str
    fingerprint: str
    age_s: int | None = None
    """Seconds since the place was made; None: not known."""


@dataclass(frozen=True)
class Agreement:
    """One thing that must be so."""

    what: str
    verdict: Literal["agrees", "differs", "unknown"]
    text: str


def secret(key: Key, held: str | None, current: str) -> Agreement:
    """Whether the cluster's Secret has the configuration's key; ``held`` None: there is no Secret."""
    text = f"the cluster's Secret has {held}, the configuration {current}"
    same = None if held is None else held == current
    return agreement(f"{key.label}: Secret", same, text, text, "there is no Secret yet: `pulumi up` makes it")


def takers(key: Key, facts: TokenVerdicts, refusal: str) -> Iterator[Agreement]:
    """Whether slurmctld, and slurmdbd where there is one, take tokens of the configuration's key; why they may refuse."""
    for daemon, accepts in (("slurmctld", facts.slurmctld), ("slurmdbd", facts.slurmdbd)):
        if accepts is not None:
            yield agreement(
                f"{key.label}: {daemon}",
                accepts.get(facts.current),
                f"{daemon} takes a token made with it",
                f"{daemon} refuses tokens made with it: {refusal}",
                f"{daemon} could not be asked",
            )


def rotation(key: Key, *other_keys: str | None) -> Iterator[Agreement]:
    """A word where a rotation is under way, which other keys than the one in use tell."""
    if any(other_key is not None for other_key in other_keys):
        yield Agreement(f"{key.label}: rotation", "differs", f"one is under way: `slinky keys rotate {key.name}` continues")


def agreement(what: str, so: bool | None, agrees: str, differs: str, unknown: str = "") -> Agreement:  # noqa: FBT001
    """One thing that must be so: what to say where it is, where it isn't, and where ``so`` isn't known (None)."""
    if so is None:
        return Agreement(what, "unknown", unknown)
    return Agreement(what, "agrees", agrees) if so else Agreement(what, "differs", differs)
