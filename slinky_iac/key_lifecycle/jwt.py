"""The plan that replaces the JWT key (HS256). Pure; keys stand here by their fingerprints only.

slurmctld and slurmdbd know one such key at a time (auth/jwt ``auth_jwt.c``), so there is a moment of change. It is hidden
in who signs: gates and commands hold both keys meanwhile and use the one that is taken. The operator holds one: from the
moment of change until it has the new one it is refused, and then it deletes no pod (slurmcontrol.go: an error, no deletion).
Jobs never see this key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from slinky_iac.key_lifecycle.model import START, Host, Role, Rotation, Step, Turn, staged

CARRY: Final = "carry"
HOSTS: Final = "hosts"
ADOPT: Final = "adopt"
_TAKERS: Final = frozenset({Role.SLURMDBD, Role.BACKUP, Role.SLURMCTLD})


@dataclass(frozen=True)
class JwtFacts:
    """What is so now. All keys as fingerprints."""

    current: str
    """``jwtKey`` of the configuration."""
    coming: str | None
    """``jwtKeyNext`` of the configuration."""
    held: tuple[str, ...]
    """The cluster's Secret: the entry that the operator signs with, then the one that comes, if any. Empty: no Secret."""
    slurmctld: Mapping[str, bool | None] = field(default_factory=dict)
    """Whether slurmctld takes a token made with the key; None: it couldn't be asked."""
    slurmdbd: Mapping[str, bool | None] | None = field(default_factory=dict)
    """The same of slurmdbd; None where the cluster has none."""
    hosts: tuple[Host, ...] = ()


def rotation(facts: JwtFacts) -> Rotation:
    """The plan, and where it stands."""
    # Without their other roles: slurmd and sackd know nothing of this key, and need no restart.
    found = [Host(host.name, tuple(role for role in host.roles if role in _TAKERS)) for host in facts.hosts]
    takers = tuple(host for host in found if host.roles)
    steps = (
        Step(START, Turn.OURS, "make the new key: secret jwtKeyNext of this stack", "nothing uses it yet"),
        Step(
            CARRY,
            Turn.OURS,
            "`pulumi up`: the JWT Secret holds the old key and the new one",
            "gates and commands have both from here on, so drains go on across the change; the operator signs with the old",
        ),
        Step(
            HOSTS,
            Turn.HOSTS,
            "the new jwt_hs256.key, then slurmdbd's restart and slurmctld's `scontrol reconfigure`",
            "from here the old key is refused. The operator has no valid token until the next step, and deletes no pod"
            " without one: go on at once. RS256 tokens of a `jwks=` in AuthAltParameters, if there is one, go on",
            hosts=takers,
        ),
        Step(
            ADOPT,
            Turn.OURS,
            "jwtKey is the new key, jwtKeyNext goes; `pulumi up`: the Secret holds the new key only",
            "the Controller's annotation changes with it, so the operator signs with the new key at once",
        ),
    )
    due = _due(facts)
    return Rotation("jwt", staged(steps, due), under_way=due != START, notes=_notes(facts))


def taken(facts: JwtFacts, key: str) -> bool:
    """Whether slurmctld and slurmdbd both certainly take tokens made with ``key``."""
    return facts.slurmctld.get(key) is True and (facts.slurmdbd is None or facts.slurmdbd.get(key) is True)


def refused(facts: JwtFacts, key: str) -> bool:
    """Whether slurmctld and slurmdbd both certainly refuse tokens made with ``key``."""
    return facts.slurmctld.get(key) is False and (facts.slurmdbd is None or facts.slurmdbd.get(key) is False)


def _due(facts: JwtFacts) -> str:
    if facts.coming is None:
        return START if facts.held in ((), (facts.current,)) else ADOPT
    if facts.coming == facts.current:
        return ADOPT
    if facts.coming not in facts.held:
        return CARRY
    return ADOPT if taken(facts, facts.coming) and refused(facts, facts.current) else HOSTS


def _notes(facts: JwtFacts) -> tuple[str, ...]:
    """Who takes which key, where that is not as it should be between two steps."""
    found: list[str] = []
    for daemon, accepts in (("slurmctld", facts.slurmctld), ("slurmdbd", facts.slurmdbd or {})):
        for key, verdict in accepts.items():
            which = (
                "the new key" if key == facts.coming else "the key of this stack" if facts.coming is None else "the old key"
            )
            said = {True: "takes", False: "refuses", None: "could not be asked about"}[verdict]
            found.append(f"{daemon} {said} {which} ({key[:19]}…)")
    return tuple(found)
