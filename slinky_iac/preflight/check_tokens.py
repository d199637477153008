"""RS256: do slurmctld and slurmdbd take tokens of the stack's own RSA key, and do they name its public set? Pure.

The JWT key's checks (:mod:`slinky_iac.preflight.check_keys`) hold beside these: the operator signs with it always.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slinky_iac import names
from slinky_iac.config.stack import StackConfig
from slinky_iac.keys.jwks import difference
from slinky_iac.preflight.check import ON_SLURMCTLD, Check, fine, problem, unknown, warning
from slinky_iac.preflight.facts import Facts, Token
from slinky_iac.specs.slurm_conf import auth_alt_parameters

TOKEN_IN_CONFIG, TOKEN_IN_SECRET = "configuration (RS256)", "Secret (RS256)"
"""Where an RSA key came from, beside the JWT key's places."""
SOURCES: Final = (TOKEN_IN_CONFIG, TOKEN_IN_SECRET)
_MAKE: Final = (
    "Place the set and name it; both daemons must have it. `python -m slinky_iac handoff --out DIR` makes both for the hosts"
)
_AT: Final = "in slurm.conf and slurmdbd.conf, then restart slurmdbd and run `scontrol reconfigure`"


def taken(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """A token of the RSA key is taken in a call that checks it, by slurmctld and by slurmdbd."""
    if not config.keys.has_token_keys:
        return
    slurm = facts.slurm
    asked = [source for source in SOURCES if source in slurm.tokens]
    for source in asked:
        subject = f"token key of the {source.removesuffix(' (RS256)')}"
        yield _verdict(config, subject, "slurmctld", slurm.tokens[source], slurm.token_trouble)
        if config.accounting.enabled and slurm.tokens[source] == "accepted" and source in slurm.slurmdbd_tokens:
            yield _verdict(config, subject, "slurmdbd", slurm.slurmdbd_tokens[source], slurm.failed.get("clusters", ""))
    if not asked:
        why = slurm.token_trouble or "there is no slurmrestd to ask, or no key yet"
        yield unknown(
            "token-key", "token key", "slurmctld", f"not known: {why}", "slurm.conf must have", _line(config), at=_AT
        )


def _verdict(config: StackConfig, subject: str, daemon: str, verdict: Token, trouble: str) -> Check:
    if verdict == "accepted":
        return fine("token-key", subject, daemon, "took a token made with it")
    if verdict == "unknown":
        return unknown("token-key", subject, daemon, f"not known: {trouble or 'nobody was asked'}")
    lines = ("pulumi stack output tokenKeySet > jwks.json", _line(config))
    if config.keys.tokens == "rs256":
        said = "refused a fresh token, and gates and commands sign with this key: nothing drains"
        return problem("token-key", subject, daemon, said, _MAKE, *lines, at=f"the file on its host; the line {_AT}")
    said = "refused a fresh token; the JWT key signs yet (keys.tokens: prepared)"
    advice = f"Before keys.tokens: rs256: {_MAKE[0].lower()}{_MAKE[1:]}"
    return warning("token-key", subject, daemon, said, advice, *lines, at=f"the file on its host; the line {_AT}")


def _line(config: StackConfig) -> str:
    return f"AuthAltParameters={auth_alt_parameters(config)}"


def line(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """AuthAltParameters names the set, and the JWT key beside it."""
    if not config.keys.has_token_keys:
        return
    conf, subject = facts.slurm.conf, "AuthAltParameters"
    if conf is None or conf.auth_alt_parameters is None:
        why = facts.slurm.failed.get("conf", "slurmctld doesn't tell it")
        show = "scontrol show config | grep -i '^AuthAltParameters '"
        yield unknown(
            "token-set", subject, "slurmctld", f"not known: {why}", f"It must be {_line(config)}", show, at=ON_SLURMCTLD
        )
        return
    parts = conf.auth_alt_parameters.split(",")
    lacking = [word for word in ("jwt_key=", "jwks=") if not any(part.startswith(word) for part in parts)]
    if not lacking:
        yield fine("token-set", subject, "slurmctld", "names the JWT key and a set of public keys")
        return
    what = {
        "jwt_key=": "the JWT key, so the operator's tokens are refused",
        "jwks=": f"no {names.JWKS_FILE}, so RS256 tokens are",
    }
    said = " and ".join(("lacks " if word == "jwt_key=" else "names ") + what[word] for word in lacking)
    yield problem("token-set", subject, "slurmctld", said, "Set", _line(config), at=_AT)


def public_set(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """The ConfigMap is the set that the configuration's keys make, byte for byte: a key of somebody else's in it signs as
    any user."""
    if not config.keys.has_token_keys:
        return
    held, wanted = facts.kube.token_set, facts.token_set
    subject = f"ConfigMap {names.token_key_set(config.cluster.resource_name)}"
    if facts.kube.token_set_trouble:
        yield unknown("public-set", subject, "Kubernetes", f"not known: {facts.kube.token_set_trouble}")
        return
    if held is None:
        return  # before the first `pulumi up`
    if wanted is None:
        why = facts.keys_trouble or "the configuration's token keys could not be read here"
        yield unknown("public-set", subject, "Kubernetes", f"not known: {why}", "Give the stack's passphrase, run it again")
        return
    found = difference(held, wanted)
    if found is None:
        yield fine("public-set", subject, "Kubernetes", "is the set of the configuration's keys, byte for byte")
    elif found.foreign or not found.readable:
        yield problem(
            "public-set",
            subject,
            "Kubernetes",
            f"{found.words}; the holder of such a key can be any user of Slurm",
            "Find out who wrote it (docs/token-keys.md says how), then write the stack's own",
            "pulumi up --refresh",
        )
    else:
        yield warning("public-set", subject, "Kubernetes", found.words, "Write the stack's own", "pulumi up --refresh")


CHECKS = (taken, line, public_set)
