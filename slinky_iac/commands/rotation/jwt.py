"""How the JWT key (HS256) is replaced. The plan is pure; keys are in it by their fingerprints only.

slurmctld and slurmdbd know one such key at a time (auth/jwt ``auth_jwt.c``), so there is a moment of change. It is hidden
in who signs: gates and commands hold both keys meanwhile and use the one that is taken. The operator holds one: from the
moment of change until it has the new one it is refused, and then it deletes no pod (slurmcontrol.go: an error, no deletion).
Jobs never see this key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from slinky_iac.commands.rotation.agreement import Agreement, rotation, secret, takers
from slinky_iac.commands.rotation.cluster import Snapshot
from slinky_iac.commands.rotation.driver import KeyRotation
from slinky_iac.commands.rotation.host_scripts import File
from slinky_iac.commands.rotation.model import START, Plan, Step, TokenVerdicts, Turn, readers, staged, start
from slinky_iac.keys.catalogue import JWT, NEXT_SUFFIX
from slinky_iac.keys.raw import fingerprint

CARRY: Final = "carry"
HOSTS: Final = "hosts"
ADOPT: Final = "adopt"
FOLLOW_S: Final = 180
"""Longest wait for slurmctld and slurmdbd to take the new key."""


@dataclass(frozen=True, kw_only=True)
class JwtFacts(TokenVerdicts):
    """All keys as fingerprints."""

    held: tuple[str, ...]
    """The cluster's Secret: the entry that the operator signs with, then the next one, if any. Empty: no Secret."""


def plan_of(facts: JwtFacts) -> Plan:
    """The plan, and where it stands."""
    steps = (
        start(JWT),
        Step(
            CARRY,
            Turn.OURS,
            "`pulumi up`: the JWT Secret holds the old key and the new one",
            "gates and commands have both from here on, so drains continue across the change; the operator signs with"
            " the old",
        ),
        Step(
            HOSTS,
            Turn.HOSTS,
            "the new jwt_hs256.key, then slurmdbd's restart and slurmctld's `scontrol reconfigure`",
            "from here the old key is refused. The operator has no valid token until the next step, and deletes no pod"
            " without one: run the next step at once. RS256 tokens of a `jwks=` in AuthAltParameters stay valid",
            hosts=readers(JWT, facts.hosts),
        ),
        Step(
            ADOPT,
            Turn.OURS,
            "jwtKey is the new key, jwtKeyNext goes; `pulumi up`: the Secret holds the new key only",
            "the Controller's annotation changes with it, so the operator signs with the new key at once",
        ),
    )
    due = _due(facts)
    return Plan(JWT, staged(steps, due), under_way=due != START, notes=facts.verdict_notes(facts.next_key))


def _due(facts: JwtFacts) -> str:
    if facts.next_key is None:
        return START if facts.held in ((), (facts.current,)) else ADOPT
    if facts.next_key == facts.current:
        return ADOPT
    if facts.next_key not in facts.held:
        return CARRY
    return ADOPT if facts.taken(facts.next_key) and facts.refused(facts.current) else HOSTS


def facts_of(snapshot: Snapshot) -> JwtFacts:
    """What is so now. Every key that is set or held is tried on both daemons."""
    keys, place = snapshot.keys, snapshot.config.secret_of(JWT)
    data = snapshot.cluster.secret(place.name)
    held = [data[name] for name in (place.entry, place.entry + NEXT_SUFFIX) if name in data]
    own = [keys.raw[name] for name in (JWT.config, JWT.next) if name in keys.raw]
    slurmctld, slurmdbd = snapshot.verdicts({fingerprint(raw): raw for raw in (*own, *held)})
    return JwtFacts(
        current=snapshot.current(JWT, held[0] if held else None),
        next_key=keys.fingerprint(JWT.next),
        held=tuple(fingerprint(raw) for raw in held),
        slurmctld=slurmctld,
        slurmdbd=slurmdbd,
        hosts=snapshot.hosts,
    )


def jwt_agreements(facts: JwtFacts) -> Iterator[Agreement]:
    """What must be so of the JWT key: the Secret's is the configuration's, and both daemons take its tokens."""
    yield secret(JWT, facts.held[0] if facts.held else None, facts.current)
    yield from takers(JWT, facts, "another key, or it hasn't read this one yet")
    yield from rotation(JWT, facts.next_key)


class JwtRotation(KeyRotation):
    """Replaces the JWT key under running jobs."""

    of = JWT

    @classmethod
    def agreements(cls, snapshot: Snapshot) -> Iterator[Agreement]:
        return jwt_agreements(facts_of(snapshot))

    def plan(self, snapshot: Snapshot, done: Sequence[str]) -> Plan:  # noqa: ARG002
        return plan_of(facts_of(snapshot))

    def check_start(self, snapshot: Snapshot) -> None:  # noqa: ARG002
        self.context.engine.settled()

    def act(self, snapshot: Snapshot, step: str) -> None:
        if step == ADOPT:
            self.context.promote_next(JWT, snapshot.keys)
        self.context.engine.update_keys(self.context.say)

    def files(self, snapshot: Snapshot, step: str) -> list[File]:  # noqa: ARG002
        return [File(JWT.file, snapshot.keys.raw[JWT.next])]

    def on_hosts(self, snapshot: Snapshot, step: Step) -> None:
        super().on_hosts(snapshot, step)
        self.await_done(snapshot, step.name, FOLLOW_S, lambda why: f"the hosts have the new file, but {why}. Run this again")
