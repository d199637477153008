"""Tokens that the operator makes for others."""

from __future__ import annotations

from collections.abc import Iterator

from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, number, rule, slinky
from slurm_rules.slurm_conf import seconds


@rule(
    "token-lifetimes",
    slinky("Token"),
    scope="resource",
    options={"maxSeconds": number(86400, "Longest lifetime of a token, in seconds.", 60)},
)
def token_lifetimes(token: Resource, _: Stack, options: Options) -> Iterator[str]:
    """Tokens live no longer than the site allows.

    Why: Slurm has no list of revoked tokens. One that has leaked is good until it expires, or until the JWT key is replaced
    on every host.

    Source: scontrol(1) token lifespan; slurm-operator api/v1beta1/token_types.go (15 minutes by default); slurm-bridge's
    guide asks for 8760h, since it doesn't read a token again.

    Do: set a short lifetime and leave refresh on; for a program that can't read it again raise maxSeconds in the site file.

    Level: advisory, since a long token that is kept safe does no harm.
    """
    lifetime = token.text("spec", "lifetime")
    if not lifetime:
        return
    found = seconds(lifetime)
    if found is None:
        yield f"{token.label}: lifetime {lifetime!r} is no duration such as 15m or 8h"
    elif found > options["maxSeconds"]:
        yield f"{token.label} lives {lifetime}; this site allows {options['maxSeconds']:g} seconds"
