"""The plan that replaces the RSA key of this stack's tokens. Pure; keys stand here by their names (kid) only.

slurmctld and slurmdbd take tokens of every key in jwks.json (auth/jwt ``auth_jwt.c``). So they learn the new key first, then
gates and commands sign with it, then the old one goes: at no moment is a token of this stack refused. Jobs and the operator
have no part in it. Who takes which key is told by tokens, so nobody has to say that a step is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from slinky_iac.key_lifecycle.model import START, Host, Role, Rotation, Step, Turn, staged

PUBLISH: Final = "publish"
LEARN: Final = "learn"
SIGN: Final = "sign"
FORGET: Final = "forget"
END: Final = "end"
TAKERS: Final = frozenset({Role.SLURMDBD, Role.BACKUP, Role.SLURMCTLD})
"""Roles whose daemons check tokens."""


@dataclass(frozen=True)
class TokenFacts:
    """What is so now. All keys by their kid."""

    current: str
    """``tokenKey`` of the configuration."""
    coming: str | None
    previous: str | None
    published: frozenset[str]
    """Keys in the cluster's ConfigMap; none where there is none, or where it can't be read."""
    signing: str | None
    """The key in the cluster's Secret, which gates and commands sign with; None: no Secret."""
    slurmctld: Mapping[str, bool | None] = field(default_factory=dict)
    """Whether slurmctld takes a token made with the key; None: it couldn't be asked."""
    slurmdbd: Mapping[str, bool | None] | None = field(default_factory=dict)
    """The same of slurmdbd; None where the cluster has none."""
    outside: frozenset[Role] = frozenset({Role.SLURMCTLD, Role.SLURMDBD})
    """Which of the two are outside Kubernetes; in it they follow the ConfigMap by themselves."""
    hosts: tuple[Host, ...] = ()
    set_differs: str = ""
    """How the cluster's ConfigMap differs from the file that the configuration's keys make; empty where it is that file, or
    where there is none."""
    foreign: tuple[str, ...] = ()
    """Keys in it that aren't the configuration's."""


def rotation(facts: TokenFacts) -> Rotation:
    """The plan, and where it stands."""
    due = _due(facts)
    return Rotation("tokens", staged(_steps(facts), due), under_way=due != START, notes=_notes(facts))


def _steps(facts: TokenFacts) -> tuple[Step, ...]:
    # Without their other roles: slurmd and sackd know nothing of these keys, and need no restart.
    takers = [Host(host.name, tuple(role for role in host.roles if role in TAKERS)) for host in facts.hosts]
    hosts = tuple(host for host in takers if host.roles)
    turn = Turn.HOSTS if hosts else Turn.OURS
    reload = "slurmdbd's restart and slurmctld's `scontrol reconfigure`" if hosts else "kubelet and the operator bring it"
    return (
        Step(START, Turn.OURS, "make the new key: secret tokenKeyNext of this stack", "nothing uses it yet"),
        Step(
            PUBLISH,
            Turn.OURS,
            "`pulumi up`: the public set (jwks.json) has the old key and the new one",
            "gates and commands sign with the old",
        ),
        Step(
            LEARN,
            turn,
            f"jwks.json with both keys, then {reload}",
            "from here tokens of either are taken; seen from tokens, before anything signs with the new",
            hosts=hosts,
        ),
        Step(
            SIGN,
            Turn.OURS,
            "tokenKey is the new key, tokenKeyPrevious the old one; `pulumi up`: the Secret has the new key",
            "gates and commands that start sign with the new, those that run go on with the old",
        ),
        Step(
            FORGET,
            turn,
            f"jwks.json with the new key alone, then {reload}",
            "from here the old key is refused; a gate that still runs with it reads the Secret anew and asks again",
            hosts=hosts,
        ),
        Step(
            END, Turn.OURS, "tokenKeyPrevious goes; `pulumi up`: the public set has the new key alone", "nothing has the old"
        ),
    )


def taken(facts: TokenFacts, key: str) -> bool:
    """Whether slurmctld and slurmdbd both certainly take tokens made with ``key``."""
    return facts.slurmctld.get(key) is True and (facts.slurmdbd is None or facts.slurmdbd.get(key) is True)


def forgotten(facts: TokenFacts, key: str) -> bool:
    """Whether every daemon outside certainly refuses tokens made with ``key``."""
    verdicts = [facts.slurmctld.get(key)] if Role.SLURMCTLD in facts.outside else []
    if facts.slurmdbd is not None and Role.SLURMDBD in facts.outside:
        verdicts.append(facts.slurmdbd.get(key))
    return all(verdict is False for verdict in verdicts)


def _due(facts: TokenFacts) -> str:
    if facts.coming is not None:
        return _due_before_the_change(facts, facts.coming)
    if facts.signing is None:
        return START  # no Secret: a stack before its first `pulumi up`
    if facts.signing != facts.current:
        return SIGN
    if facts.previous is not None:
        return END if forgotten(facts, facts.previous) else FORGET
    return START if facts.published == {facts.current} else END


def _due_before_the_change(facts: TokenFacts, coming: str) -> str:
    if facts.previous is not None or coming == facts.current:
        return SIGN  # cut short between two of its settings
    if not {facts.current, coming} <= facts.published:
        return PUBLISH
    return SIGN if taken(facts, coming) else LEARN


def _notes(facts: TokenFacts) -> tuple[str, ...]:
    """Who takes which key, and whether the public set has others."""
    foreign = [f"the ConfigMap with the public set {facts.set_differs}"] if facts.foreign else []
    return (*foreign, *_taken_by(facts))


def _taken_by(facts: TokenFacts) -> tuple[str, ...]:
    which = {facts.coming: "the new key", facts.previous: "the old key"}
    own = "the new key" if facts.previous else "the old key" if facts.coming else "the key of this stack"
    said = {True: "takes", False: "refuses", None: "could not be asked about"}
    return tuple(
        f"{daemon} {said[verdict]} {which.get(key, own)} ({key[:12]}…)"
        for daemon, accepts in (("slurmctld", facts.slurmctld), ("slurmdbd", facts.slurmdbd or {}))
        for key, verdict in accepts.items()
    )
