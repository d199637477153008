"""How the RSA key of this stack's tokens is replaced. The plan is pure; keys are in it by their names (kid) only.

slurmctld and slurmdbd take tokens of every key in jwks.json (auth/jwt ``auth_jwt.c``). So they learn the new key first, then
gates and commands sign with it, then the old one goes: at no moment is a token of this stack refused. Jobs and the operator
have no part in it. A token shows which daemon takes which key, so you need not say that a step is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import combinations
from typing import Final

from slinky_iac.commands.rotation.agreement import Agreement, Held, agreement, rotation, secret, takers
from slinky_iac.commands.rotation.cluster import Snapshot
from slinky_iac.commands.rotation.driver import KeyRotation
from slinky_iac.commands.rotation.host_scripts import File
from slinky_iac.commands.rotation.model import BOTH, START, Plan, Step, TokenVerdicts, Turn, readers, staged, start
from slinky_iac.config.reading.values import Values
from slinky_iac.errors import RotationError
from slinky_iac.keys.catalogue import Role
from slinky_iac.keys.public import SetDifference, difference, digest, kids, thumbprint
from slinky_iac.parts.tokens.key import TOKENS
from slinky_iac.parts.tokens.public import public_set
from slinky_iac.parts.tokens.rsa import parse

PUBLISH: Final = "publish"
LEARN: Final = "learn"
SIGN: Final = "sign"
FORGET: Final = "forget"
END: Final = "end"
FOLLOW_S: Final = 300
"""Longest wait for daemons: in Kubernetes kubelet brings the set within 90 s, then the operator's sidecar reconfigures."""


@dataclass(frozen=True, kw_only=True)
class TokenFacts(TokenVerdicts):
    """All keys by their kid."""

    previous: str | None = None
    published: frozenset[str]
    """Keys in the cluster's ConfigMap; none where there is none, or where it can't be read."""
    signing: str | None
    """The key in the cluster's Secret, which gates and commands sign with; None: no Secret."""
    external: frozenset[Role] = BOTH
    """Which of the two are outside Kubernetes; those inside follow the ConfigMap."""
    set_differs: str = ""
    """How the cluster's ConfigMap differs from the file that the configuration's keys make; empty where it is that file, or
    where there is none."""
    foreign: tuple[str, ...] = ()
    """Keys in it that aren't the configuration's."""
    is_noted: bool = True
    """Whether slurmdbd's pod was made for the set in the ConfigMap, as its Accounting notes: slurmdbd reads the set as it
    starts. An update that was killed may have written the one and not the other. True where slurmdbd is outside."""


def plan_of(facts: TokenFacts) -> Plan:
    """The plan, and where it stands."""
    due = _due(facts)
    return Plan(TOKENS, staged(_steps(facts), due), under_way=due != START, notes=_notes(facts))


def _steps(facts: TokenFacts) -> tuple[Step, ...]:
    hosts = readers(TOKENS, facts.hosts)
    turn = Turn.HOSTS if hosts else Turn.OURS
    reload = "slurmdbd's restart and slurmctld's `scontrol reconfigure`" if hosts else "kubelet and the operator bring it"
    return (
        start(TOKENS),
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
            "from here tokens of both keys are accepted; this is tested with tokens before anything signs with the new key",
            hosts=hosts,
        ),
        Step(
            SIGN,
            Turn.OURS,
            "tokenKey is the new key, tokenKeyPrevious the old one; `pulumi up`: the Secret has the new key",
            "gates and commands that start sign with the new, those that run continue with the old",
        ),
        Step(
            FORGET,
            turn,
            f"jwks.json with the new key alone, then {reload}",
            "from here the old key is refused; a gate that still has it reads the Secret again",
            hosts=hosts,
        ),
        Step(
            END, Turn.OURS, "tokenKeyPrevious goes; `pulumi up`: the public set has the new key alone", "nothing has the old"
        ),
    )


def _due(facts: TokenFacts) -> str:
    if facts.next_key is not None:
        return _due_before_the_change(facts, facts.next_key)
    if facts.signing is None:
        return START  # no Secret: a stack before its first `pulumi up`
    if facts.signing != facts.current:
        return SIGN
    if facts.previous is not None:
        return END if facts.refused(facts.previous, facts.external) else FORGET
    return START if facts.published == {facts.current} and facts.is_noted else END


def _due_before_the_change(facts: TokenFacts, next_key: str) -> str:
    if facts.previous is not None or next_key == facts.current:
        return SIGN  # cut short between two of its settings
    if not {facts.current, next_key} <= facts.published or not facts.is_noted:
        return PUBLISH
    return SIGN if facts.taken(next_key) else LEARN


def _notes(facts: TokenFacts) -> tuple[str, ...]:
    """Who takes which key, and whether the public set has others."""
    foreign = [f"the ConfigMap with the public set {facts.set_differs}"] if facts.foreign else []
    return (*foreign, *facts.verdict_notes(facts.next_key, facts.previous))


def facts_of(snapshot: Snapshot) -> TokenFacts:
    """What is so now. Each key that is set is tried on both daemons."""
    return _facts(snapshot, _document(snapshot))


def _facts(snapshot: Snapshot, document: bytes | None) -> TokenFacts:
    keys, config = snapshot.keys, snapshot.config
    external = {Role.SLURMCTLD: config.slurmctld.hosts, Role.SLURMDBD: config.slurmdbd.hosts}
    published, differs = _published(snapshot, document)
    slurmctld, slurmdbd = snapshot.verdicts({key.kid: key for key in keys.rsa.values()})
    return TokenFacts(
        current=keys.rsa[TOKENS.config].kid,
        next_key=keys.kid(TOKENS.next),
        previous=keys.kid(TOKENS.previous),
        published=published,
        signing=held_kid(snapshot),
        slurmctld=slurmctld,
        slurmdbd=slurmdbd,
        external=frozenset(role for role, hosts in external.items() if hosts),
        hosts=snapshot.hosts,
        set_differs="" if differs is None else differs.words,
        foreign=() if differs is None else differs.foreign,
    )


def _document(snapshot: Snapshot) -> bytes | None:
    """The public set in the cluster's ConfigMap; None where there is no ConfigMap."""
    bundle = TOKENS.bundle_at(snapshot.config.cluster.resource_name)
    data = snapshot.cluster.config_map(bundle.name)
    return None if data is None else data.get(bundle.entry, "").encode()


def _is_noted(snapshot: Snapshot, document: bytes | None) -> bool:
    if document is None or not snapshot.config.slurmdbd.pods:
        return True
    return snapshot.cluster.accounting_note(TOKENS) in (None, digest(document))


def held_kid(snapshot: Snapshot) -> str | None:
    """Name of the key that gates sign with; None where there is no Secret with one."""
    place, raw = snapshot.config.secret_of(TOKENS), snapshot.held(TOKENS)
    if raw is None:
        return None
    own = (key.kid for key in snapshot.keys.rsa.values() if key.pem == raw)  # to check a key takes a tenth of a second
    return next(own, None) or parse(f"Secret {place.name}: {place.entry}", raw).kid


def _published(snapshot: Snapshot, document: bytes | None) -> tuple[frozenset[str], SetDifference | None]:
    """The keys in the ConfigMap but those of the stack's identity provider, and how it differs from what the configuration's
    keys make."""
    if document is None:
        return frozenset(), None
    differs = difference(document, public_set(snapshot.keys.rsa.values(), snapshot.keys.provider))
    declared = {thumbprint(key) for key in snapshot.keys.provider}
    return (kids(document) - declared if differs is None or differs.readable else frozenset()), differs


@dataclass(frozen=True)
class SetOnHost:
    """jwks.json of one host outside Kubernetes, as its hash tells."""

    host: str
    ours: bool | None
    """Whether it is the file that the configuration's keys make; None where there is no file."""
    part: bool = False
    """Whether it is the file of some of these keys, as in the middle of a rotation."""


def sets_on_hosts(snapshot: Snapshot) -> tuple[SetOnHost, ...]:
    """What slurmctld's and slurmdbd's hosts have as jwks.json; none without a way to them, or with both in Kubernetes."""
    keys, provider = snapshot.keys.rsa.values(), snapshot.keys.provider
    whole = sha256(public_set(keys, provider)).hexdigest()
    chosen = (some for size in range(1, len(keys)) for some in combinations(keys, size))
    parts = {sha256(public_set(some, provider)).hexdigest() for some in chosen}
    by_host = snapshot.host_files(readers(TOKENS, snapshot.hosts), TOKENS.bundle)
    sets = ((host, files.get(TOKENS.bundle)) for host, files in by_host.items())
    return tuple(
        SetOnHost(host, None if seen is None else seen.digest == whole, seen is not None and seen.digest in parts)
        for host, seen in sets
    )


def token_agreements(facts: TokenFacts) -> Iterator[Agreement]:
    """What must be so of the token key: Secret and public set have the configuration's, both daemons take its tokens."""
    yield secret(TOKENS, facts.signing, facts.current)
    if facts.signing is not None:
        wanted = {kid for kid in (facts.current, facts.next_key, facts.previous) if kid is not None}
        agree = facts.published == wanted and not facts.set_differs
        text = "the ConfigMap is the file that the configuration's keys make" if agree else _of_set(facts)
        yield agreement("token key: public set", agree, text, text)
    yield from takers(TOKENS, facts, "its jwks.json hasn't this key, or it hasn't read it")
    yield from rotation(TOKENS, facts.next_key, facts.previous)


def set_agreements(key_sets: Sequence[SetOnHost]) -> Iterator[Agreement]:
    """What must be so of jwks.json on hosts: who may write it there may sign as any user of Slurm."""
    for key_set in key_sets:
        what = f"token key: jwks.json of host {key_set.host}"
        differs = (
            "isn't the file that the configuration's keys make. The holder of a key in it that isn't the stack's can be"
            " any user of Slurm: compare it with the output tokenKeySet and find out who wrote it, then put the stack's own"
            " there (`slinky docs token-keys`)"
        )
        if key_set.ours is None:
            differs = "is missing: its daemons accept no token of that key"
        elif key_set.part:
            differs = "has some of the configuration's keys: `slinky keys rotate tokens` continues"
        yield agreement(what, bool(key_set.ours), "is the file that the configuration's keys make", differs)


def _of_set(facts: TokenFacts) -> str:
    if not facts.set_differs:
        return "there is no ConfigMap with it: `pulumi up --refresh` makes it"
    advice = "`pulumi up --refresh` writes the stack's own"
    if facts.foreign:
        advice = (
            "the holder of such a key can act as any user of Slurm. Where no rotation has just ended, find out who wrote it"
            f" (`slinky docs token-keys`), then {advice}"
        )
    return f"the ConfigMap {facts.set_differs}: {advice}"


class TokenRotation(KeyRotation):
    """Replaces the key of this stack's tokens. Tokens tell who has read which set, so no step needs a confirmation."""

    of = TOKENS
    no_stop = (
        "tokens: a token key is replaced without a stop, and a token shows whether a host has it. Leave --stop and"
        " --confirm out"
    )
    script_is_secret = False

    advice = (
        "Tokens signed with the key in use are still accepted, since both sets have it: repair the host and run this again"
    )

    @classmethod
    def agreements(cls, snapshot: Snapshot) -> Iterator[Agreement]:
        if TOKENS.config in snapshot.keys.rsa and snapshot.config.own_keys:
            yield from token_agreements(facts_of(snapshot))
            yield from set_agreements(sets_on_hosts(snapshot))

    @classmethod
    def shown(cls, snapshot: Snapshot) -> Iterator[Held]:
        if (kid := held_kid(snapshot)) is not None:
            place = snapshot.config.secret_of(TOKENS)
            where = f"Secret {snapshot.config.cluster.namespace}/{place.name}: {place.entry}"
            yield Held(TOKENS.label, where, f"kid {kid}")

    def refuse(self, values: Values, *, start: bool | None) -> None:  # noqa: ARG002
        """Raises for a stack whose tokens the JWT key signs, or that lacks its key."""
        if values.config.signing.key is not TOKENS:
            raise RotationError(
                f"keys.tokens is {values.config.signing.setting}: no RSA key signs this stack's tokens, so there is none to"
                " replace (`slinky docs token-keys` says how to change over). `slinky keys rotate jwt` replaces the JWT key."
                " Nothing was changed"
            )
        if TOKENS.config not in values.keys.rsa:
            raise RotationError(
                "tokenKey isn't set: `slinky keys import tokens --file token.pem` sets it. Nothing was changed"
            )

    def plan(self, snapshot: Snapshot, done: Sequence[str]) -> Plan:  # noqa: ARG002
        document = _document(snapshot)  # one look at the set for all that is concluded from it
        return plan_of(replace(_facts(snapshot, document), is_noted=_is_noted(snapshot, document)))

    def check_start(self, snapshot: Snapshot) -> None:
        facts = facts_of(snapshot)
        if not facts.taken(facts.current):
            raise RotationError(
                f"it is not certain that daemons accept the token key in use: {'; '.join(_notes(facts))}. `slinky preflight`"
                " says what daemons lack; repair that first. Nothing was changed"
            )
        self.context.engine.settled()

    def act(self, snapshot: Snapshot, step: str) -> None:
        engine = self.context.engine
        if step in (LEARN, FORGET):
            self._await_daemons(snapshot, step)
            return
        if step == SIGN:
            self.context.promote_next(TOKENS, snapshot.keys)
        elif step == END and TOKENS.previous in snapshot.keys.rsa:
            engine.remove(TOKENS.previous)
        engine.update_keys(self.context.say, replaces=False)

    def files(self, snapshot: Snapshot, step: str) -> list[File]:
        """jwks.json: of the new key alone at the end, of all before."""
        keys = snapshot.keys.rsa
        wanted = [keys[TOKENS.config]] if step == FORGET else keys.values()
        return [File(TOKENS.bundle, public_set(wanted, snapshot.keys.provider))]

    def on_hosts(self, snapshot: Snapshot, step: Step) -> None:
        super().on_hosts(snapshot, step)
        self._await_daemons(snapshot, step.name)

    def _await_daemons(self, snapshot: Snapshot, step: str) -> None:
        self.await_done(
            snapshot,
            step,
            FOLLOW_S,
            lambda why: (
                f"after {FOLLOW_S} s {why}. Outside, slurm.conf and slurmdbd.conf must name the file (`slinky preflight`"
                " shows it); gates sign with a key that is accepted. Run this again"
            ),
        )
