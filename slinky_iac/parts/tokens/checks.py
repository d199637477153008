"""RS256: do slurmctld and slurmdbd take tokens of the stack's own RSA key, and do they name its public set? Pure.

The JWT key's checks (:mod:`slinky_iac.preflight.check_keys`) hold beside these: the operator signs with it always.
"""

from __future__ import annotations

from typing import Final

from slinky_iac.config.slurm.forms import completed
from slinky_iac.config.stack import StackConfig
from slinky_iac.keys.public import difference
from slinky_iac.parts.tokens.conf import auth_alt_parameters, user_claim
from slinky_iac.parts.tokens.key import TOKENS
from slinky_iac.preflight.check import Answer, Answers, At, Expect, Run, fine, of, problem, unknown, warning
from slinky_iac.preflight.facts import TOKEN_IN_CONFIG, TOKEN_IN_SECRET, Facts, Token

_MAKE: Final = "Place the set and name it; both daemons must have it. `slinky handoff --out DIR` makes both for the hosts"
_AT: Final = "in slurm.conf and slurmdbd.conf, then restart slurmdbd and run `scontrol reconfigure`"


def _line(config: StackConfig) -> str:
    return f"AuthAltParameters={auth_alt_parameters(config)}"


def _taken(config: StackConfig, facts: Facts) -> Answers:
    """A token of the RSA key is taken in a call that checks it, by slurmctld and by slurmdbd."""
    if not config.signing.own_keys:
        return
    slurm = facts.slurm
    asked = [source for source in (TOKEN_IN_CONFIG, TOKEN_IN_SECRET) if source in slurm.tokens]
    for source in asked:
        subject = f"token key of the {source.removesuffix(' (RS256)')}"
        said = [("slurmctld", slurm.tokens[source], slurm.token_trouble)]
        if config.accounting.enabled and slurm.tokens[source] == "accepted" and source in slurm.slurmdbd_tokens:
            said.append(("slurmdbd", slurm.slurmdbd_tokens[source], slurm.failed.get("clusters", "")))
        for daemon, verdict, trouble in said:
            yield from of([_verdict(config, verdict, trouble)], about=subject, source=daemon)
    if not asked:
        why = slurm.token_trouble or "there is no slurmrestd to ask, or no key yet"
        yield unknown(f"not known: {why}", "slurm.conf must have", _line(config), at=_AT)


def _verdict(config: StackConfig, verdict: Token, trouble: str) -> Answer:
    if verdict == "accepted":
        return fine("accepted a token made with it")
    if verdict == "unknown":
        return unknown(f"not known: {trouble or 'slurmctld was not asked'}")
    lines = ("pulumi stack output tokenKeySet > jwks.json", _line(config))
    at = f"the file on its host; the line {_AT}"
    if config.signing.key is TOKENS:
        said = "refused a fresh token, and gates and commands sign with this key: nothing can drain"
        return problem(said, _MAKE, *lines, at=at)
    said = "refused a fresh token; the JWT key still signs (keys.tokens: prepared)"
    return warning(said, f"Before keys.tokens: rs256: {_MAKE[0].lower()}{_MAKE[1:]}", *lines, at=at)


def _named(config: StackConfig, facts: Facts) -> Answers:
    """AuthAltParameters names the set, and the JWT key beside it."""
    if not config.signing.own_keys:
        return
    conf = facts.slurm.conf
    if conf is None or conf.AuthAltParameters is None:
        why = facts.slurm.unknown("conf", "slurmctld doesn't tell it")
        show = "scontrol show config | grep -i '^AuthAltParameters '"
        yield unknown(why, f"It must be {_line(config)}", show, at=At.SLURMCTLD)
        return
    parts = conf.AuthAltParameters.split(",")
    lacking = [word for word in ("jwt_key=", "jwks=") if not any(part.startswith(word) for part in parts)]
    claim = "".join(user_claim(config))
    if claim and claim not in parts:
        lacking.append("userclaimfield=")
    if not lacking:
        yield fine("names the JWT key and a set of public keys")
        return
    what = {
        "jwt_key=": "the JWT key, so the operator's tokens are refused",
        "jwks=": f"no {TOKENS.bundle}, so RS256 tokens are",
        "userclaimfield=": f"{claim}, so the provider's tokens name no user",
    }
    said = " and ".join(("names " if word == "jwks=" else "lacks ") + what[word] for word in lacking)
    whole = completed("AuthAltParameters", conf.AuthAltParameters, auth_alt_parameters(config))
    yield problem(said, "Set", f"AuthAltParameters={whole}", at=_AT)


def _public_set(config: StackConfig, facts: Facts) -> Answers:
    """The ConfigMap is the set that the configuration's keys make, byte for byte: a key of somebody else's in it signs as
    any user."""
    if (place := config.bundle_of(TOKENS)) is not None:
        yield from of(_set_held(facts, place.entry), about=f"ConfigMap {place.name}")


def _set_held(facts: Facts, file: str) -> Answers:
    held, wanted = facts.kube.public.get(file), facts.public.get(file)
    if facts.kube.public_trouble:
        yield unknown(f"not known: {facts.kube.public_trouble}")
        return
    if held is None:
        return  # before the first `pulumi up`
    if wanted is None:
        why = facts.keys_trouble or "the configuration's token keys could not be read here"
        yield unknown(f"not known: {why}", "Set the stack's passphrase, then run it again")
        return
    differs = difference(held, wanted)
    if differs is None:
        yield fine("is the set of the configuration's keys, byte for byte")
    elif differs.foreign or not differs.readable:
        said = f"{differs.words}; the holder of such a key can act as any user of Slurm"
        advice = "Find out who wrote it (`slinky docs token-keys` says how), then write the stack's own"
        yield problem(said, advice, "pulumi up --refresh")
    else:
        yield warning(differs.words, "Write the stack's own", "pulumi up --refresh")


EXPECTED: Final = (
    Expect("token-key", "token key", "slurmctld", _taken, Run.SHORT),
    Expect("token-set", "AuthAltParameters", "slurmctld", _named, Run.SHORT),
    Expect("public-set", "ConfigMap of public keys", "Kubernetes", _public_set),
)
