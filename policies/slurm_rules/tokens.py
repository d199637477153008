"""Tokens that the operator makes for others, and jobs in the name of others: for whom, for how long, and where they are."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch

from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, number, rule, slinky, words
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

    Level: mandatory, since one that has leaked can't be taken back.
    """
    lifetime = token.text("spec", "lifetime")
    if not lifetime:
        return
    lifetime_s = seconds(lifetime)
    if lifetime_s is None:
        yield f"{token.label}: lifetime {lifetime!r} is no duration such as 15m or 8h"
    elif lifetime_s > options["maxSeconds"]:
        yield f"{token.label} lives {lifetime}; this site allows {options['maxSeconds']:g} seconds"


JOB = "dynamic/slurm:SlurmJob"
"""A job that slinky-iac submits, in the name of its user."""


@rule(
    "tokens-for-users",
    lambda resource: (resource.is_slinky and resource.kind == "Token") or resource.type.endswith(JOB),
    scope="resource",
    options={
        "rulers": words(("root", "slurm"), "Users who rule the cluster: root, SlurmUser, and accounts with an AdminLevel."),
        "allowed": words((), "Tokens, as namespace/name (with *), that may be such a user's, for programs that need it."),
    },
)
def tokens_for_users(resource: Resource, _: Stack, options: Options) -> Iterator[str]:
    """Tokens and jobs of the stack are those of ordinary users.

    Why: a token of root or SlurmUser does all that root can do on every node, until it expires: Slurm revokes none. A job of
    root is root on its nodes. A number in the place of the name is a uid to Slurm, so 0 is root.

    Source: slurm.schedmd.com/jwt.html; Slurm src/plugins/auth/jwt/auth_jwt.c (the claim sun, uid_from_string).

    Do: name an ordinary user; name a program's token that has to be SlurmUser's, such as slurm-bridge's, in the site file.

    Level: mandatory, since anyone who can read the Secret rules the cluster.
    """
    token = not resource.type.endswith(JOB)
    user = resource.text("spec", "username") if token else resource.text("user")
    if token and any(fnmatch(f"{resource.namespace}/{resource.in_cluster_name}", pattern) for pattern in options["allowed"]):
        return
    if user.strip() in options["rulers"]:
        yield f"{resource.label} is of {user}, who rules the cluster; name an ordinary user"
    elif user and not user.strip("+- \t0123456789"):
        yield f"{resource.label} names its user as {user!r}, which Slurm reads as a uid, 0 as root; give the user's name"
