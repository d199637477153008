"""What `keys show` and `keys verify` say: where each key is held, since when, and whether all places agree. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from slinky_iac.commands.rotation.jwt import JwtFacts
from slinky_iac.commands.rotation.slurm import SlurmFacts
from slinky_iac.commands.rotation.tokens import SetOnHost, TokenFacts

Verdict = Literal["agrees", "differs", "unknown"]


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
    verdict: Verdict
    text: str


def jwt_agreements(facts: JwtFacts) -> Iterator[Agreement]:
    """What must be so of the JWT key: the Secret's is the configuration's, and both daemons take its tokens."""
    if not facts.held:
        yield Agreement("JWT key: Secret", "unknown", "there is no Secret yet: `pulumi up` makes it")
    else:
        same = facts.held[0] == facts.current
        text = f"the cluster's Secret has {facts.held[0]}, the configuration {facts.current}"
        yield Agreement("JWT key: Secret", _verdict(same), text)
    yield from _takers("JWT key", facts, "another key, or it hasn't read this one yet")
    if facts.next_key is not None:
        yield Agreement("JWT key: rotation", "differs", "one is under way: `slinky keys rotate jwt` continues")


def token_agreements(facts: TokenFacts) -> Iterator[Agreement]:
    """What must be so of the token key: Secret and public set have the configuration's, both daemons take its tokens."""
    if facts.signing is None:
        yield Agreement("token key: Secret", "unknown", "there is no Secret yet: `pulumi up` makes it")
    else:
        text = f"the cluster's Secret has {facts.signing}, the configuration {facts.current}"
        yield Agreement("token key: Secret", _verdict(facts.signing == facts.current), text)
        wanted = {kid for kid in (facts.current, facts.next_key, facts.previous) if kid is not None}
        agree = facts.published == wanted and not facts.set_differs
        text = "the ConfigMap is the file that the configuration's keys make" if agree else _of_set(facts)
        yield Agreement("token key: public set", _verdict(agree), text)
    yield from _takers("token key", facts, "its jwks.json hasn't this key, or it hasn't read it")
    if facts.next_key is not None or facts.previous is not None:
        going_on = "one is under way: `slinky keys rotate tokens` continues"
        yield Agreement("token key: rotation", "differs", going_on)


def set_agreements(found: Sequence[SetOnHost]) -> Iterator[Agreement]:
    """What must be so of jwks.json on hosts: who may write it there may sign as any user of Slurm."""
    for each in found:
        said = {
            True: "is the file that the configuration's keys make",
            False: "has some of the configuration's keys: `slinky keys rotate tokens` continues"
            if each.part
            else "isn't the file that the configuration's keys make. The holder of a key in it that isn't the stack's can be"
            " any user of Slurm: compare it with the output tokenKeySet and find out who wrote it, then put the stack's own"
            " there (docs/token-keys.md)",
            None: "is missing: its daemons accept no token of that key",
        }[each.ours]
        verdict = _verdict(each.ours) if each.ours is not None else "differs"
        yield Agreement(f"token key: jwks.json of host {each.host}", verdict, said)


def _of_set(facts: TokenFacts) -> str:
    if not facts.set_differs:
        return "there is no ConfigMap with it: `pulumi up --refresh` makes it"
    advice = "`pulumi up --refresh` writes the stack's own"
    if facts.foreign:
        advice = (
            "the holder of such a key can act as any user of Slurm. Where no rotation has just ended, find out who wrote it"
            f" (docs/token-keys.md), then {advice}"
        )
    return f"the ConfigMap {facts.set_differs}: {advice}"


def _takers(key: str, facts: JwtFacts | TokenFacts, refusal: str) -> Iterator[Agreement]:
    """Whether slurmctld, and slurmdbd where there is one, take tokens of the configuration's key; why they may refuse."""
    for daemon, accepts in (("slurmctld", facts.slurmctld), ("slurmdbd", facts.slurmdbd)):
        if accepts is not None:
            verdict = accepts.get(facts.current)
            said = {
                True: f"{daemon} takes a token made with it",
                False: f"{daemon} refuses tokens made with it: {refusal}",
                None: f"{daemon} could not be asked",
            }[verdict]
            yield Agreement(f"{key}: {daemon}", _verdict(verdict), said)


def slurm_agreements(facts: SlurmFacts, *, jwks: bool, silent: Sequence[str] | None) -> Iterator[Agreement]:
    """What must be so of slurm.key. ``jwks``: whether pods have slurm.jwks; ``silent``: nodes that don't respond, None where
    slurmctld couldn't be asked."""
    if facts.key_held is None:
        yield Agreement("slurm.key: Secret", "unknown", "there is no Secret yet: `pulumi up` makes it")
    else:
        text = f"the cluster's Secret has {facts.key_held}, the configuration {facts.current}"
        yield Agreement("slurm.key: Secret", _verdict(facts.key_held == facts.current), text)
    if jwks:
        agree = facts.held == facts.wanted
        yield Agreement("slurm.jwks: Secret", _verdict(agree), "holds the configuration's keys" if agree else "holds others")
        for pod, file in sorted(facts.pods.items()):
            seen = None if file is None else file == facts.wanted
            said = {
                True: "has the configuration's",
                False: "has another one: wait for kubelet, or run `keys rotate slurm`",
                None: "has none, or could not be asked",
            }[seen]
            yield Agreement(f"slurm.jwks: pod {pod}", _verdict(seen), said)
    for host, file in sorted(facts.confirmed.items()):
        same = None if file is None else file == facts.wanted
        told = {True: "has the configuration's", False: "has another", None: "what its daemons have read isn't known"}[same]
        yield Agreement(f"slurm.key: host {host}", _verdict(same), told)
    if silent is None:
        yield Agreement("slurm.key: nodes", "unknown", "slurmctld could not be asked which nodes respond")
    else:
        text = (
            f"{', '.join(silent[:8])} don't respond: another key, or down" if silent else "every node responds to slurmctld"
        )
        yield Agreement("slurm.key: nodes", _verdict(not silent), text)
    if facts.next_key is not None or facts.previous is not None:
        yield Agreement("slurm.key: rotation", "differs", "one is under way: `slinky keys rotate slurm` continues")


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


def _verdict(so: bool | None) -> Verdict:  # noqa: FBT001
    return "unknown" if so is None else "agrees" if so else "differs"
