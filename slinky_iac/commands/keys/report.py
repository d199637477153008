"""What `keys show` and `keys verify` say: where each key is held, since when, and whether all places agree. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from slinky_iac.commands.rotation.jwt import JwtFacts
from slinky_iac.commands.rotation.slurm import SlurmFacts
from slinky_iac.commands.rotation.tokens import SetOnHost, TokenFacts


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


def jwt_agreements(facts: JwtFacts) -> Iterator[Agreement]:
    """What must be so of the JWT key: the Secret's is the configuration's, and both daemons take its tokens."""
    yield _secret("JWT key", facts.held[0] if facts.held else None, facts.current)
    yield from _takers("JWT key", facts, "another key, or it hasn't read this one yet")
    yield from _rotation("JWT key", "jwt", facts.next_key)


def token_agreements(facts: TokenFacts) -> Iterator[Agreement]:
    """What must be so of the token key: Secret and public set have the configuration's, both daemons take its tokens."""
    yield _secret("token key", facts.signing, facts.current)
    if facts.signing is not None:
        wanted = {kid for kid in (facts.current, facts.next_key, facts.previous) if kid is not None}
        agree = facts.published == wanted and not facts.set_differs
        text = "the ConfigMap is the file that the configuration's keys make" if agree else _of_set(facts)
        yield _agreement("token key: public set", agree, text, text)
    yield from _takers("token key", facts, "its jwks.json hasn't this key, or it hasn't read it")
    yield from _rotation("token key", "tokens", facts.next_key, facts.previous)


def set_agreements(found: Sequence[SetOnHost]) -> Iterator[Agreement]:
    """What must be so of jwks.json on hosts: who may write it there may sign as any user of Slurm."""
    for each in found:
        what = f"token key: jwks.json of host {each.host}"
        differs = (
            "isn't the file that the configuration's keys make. The holder of a key in it that isn't the stack's can be"
            " any user of Slurm: compare it with the output tokenKeySet and find out who wrote it, then put the stack's own"
            " there (`slinky docs token-keys`)"
        )
        if each.ours is None:
            differs = "is missing: its daemons accept no token of that key"
        elif each.part:
            differs = "has some of the configuration's keys: `slinky keys rotate tokens` continues"
        yield _agreement(what, bool(each.ours), "is the file that the configuration's keys make", differs)


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


def _takers(key: str, facts: JwtFacts | TokenFacts, refusal: str) -> Iterator[Agreement]:
    """Whether slurmctld, and slurmdbd where there is one, take tokens of the configuration's key; why they may refuse."""
    for daemon, accepts in (("slurmctld", facts.slurmctld), ("slurmdbd", facts.slurmdbd)):
        if accepts is not None:
            yield _agreement(
                f"{key}: {daemon}",
                accepts.get(facts.current),
                f"{daemon} takes a token made with it",
                f"{daemon} refuses tokens made with it: {refusal}",
                f"{daemon} could not be asked",
            )


def slurm_agreements(facts: SlurmFacts, *, jwks: bool, silent: Sequence[str] | None) -> Iterator[Agreement]:
    """What must be so of slurm.key. ``jwks``: whether pods have slurm.jwks; ``silent``: nodes that don't respond, None where
    slurmctld couldn't be asked."""
    yield _secret("slurm.key", facts.key_held, facts.current)
    if jwks:
        yield _agreement("slurm.jwks: Secret", facts.held == facts.wanted, "holds the configuration's keys", "holds others")
        for pod, file in sorted(facts.pods.items()):
            yield _agreement(
                f"slurm.jwks: pod {pod}",
                None if file is None else file == facts.wanted,
                "has the configuration's",
                "has another one: wait for kubelet, or run `keys rotate slurm`",
                "has none, or could not be asked",
            )
    for host, file in sorted(facts.confirmed.items()):
        same, unread = None if file is None else file == facts.wanted, "what its daemons have read isn't known"
        yield _agreement(f"slurm.key: host {host}", same, "has the configuration's", "has another", unread)
    yield _agreement(
        "slurm.key: nodes",
        None if silent is None else not silent,
        "every node responds to slurmctld",
        f"{', '.join((silent or ())[:8])} don't respond: another key, or down",
        "slurmctld could not be asked which nodes respond",
    )
    yield from _rotation("slurm.key", "slurm", facts.next_key, facts.previous)


def _secret(key: str, held: str | None, current: str) -> Agreement:
    """Whether the cluster's Secret has the configuration's key; ``held`` None: there is no Secret."""
    text = f"the cluster's Secret has {held}, the configuration {current}"
    same = None if held is None else held == current
    return _agreement(f"{key}: Secret", same, text, text, "there is no Secret yet: `pulumi up` makes it")


def _rotation(key: str, name: str, *other_keys: str | None) -> Iterator[Agreement]:
    """A word where a rotation is under way, which other keys than the one in use tell."""
    if any(each is not None for each in other_keys):
        yield Agreement(f"{key}: rotation", "differs", f"one is under way: `slinky keys rotate {name}` continues")


def _agreement(what: str, so: bool | None, agrees: str, differs: str, unknown: str = "") -> Agreement:  # noqa: FBT001
    if so is None:
        return Agreement(what, "unknown", unknown)
    return Agreement(what, "agrees", agrees) if so else Agreement(what, "differs", differs)


def age(seconds: int | None) -> str:
    """``12d``, ``3h``, ``5m``: the largest unit that fits."""
    if seconds is None:
        return "-"
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def plain(rows: Sequence[Held | Agreement]) -> list[dict[str, object]]:
    """Rows for JSON."""
    return [asdict(row) for row in rows]
