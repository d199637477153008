"""Cases for the rules about users of the cluster."""

from __future__ import annotations

from typing import Any

from tests.stacks import minimal
from tests.unit.config.rule_cases import KEYS, Case

CAROL = {"uid": 3001, "gid": 3001}


def users(groups: dict[str, int] | None = None, **entries: dict[str, Any]) -> dict[str, Any]:
    return minimal(keys=KEYS, identity={"passwd": {"users": entries, "groups": groups or {}}})


def user(**over: Any) -> dict[str, Any]:
    return {"identity": {"passwd": {"users": {"carol": over}}}}


def provider(**oidc: Any) -> dict[str, Any]:
    return minimal(operator={"version": "1.2.1"}, keys=KEYS | {"tokens": "rs256"}, identity={"oidc": oidc})


def number(name: str, given: int) -> Case:
    return Case(
        f"{name} {given}",
        users(carol=CAROL | {name: given}),
        "error",
        f"identity.passwd.users.carol.{name}",
        (f"{given} is a number of the images' own",),
        user(**{name: 3001}),
    )


IDENTITY = [
    *(number("uid", given) for given in (0, 401, 999, 65534)),
    number("gid", 0),
    Case(
        "a group with SlurmUser's gid",
        users({"physics": 401}, carol=CAROL),
        "error",
        "identity.passwd.groups.physics",
        ("401",),
        {"identity": {"passwd": {"groups": {"physics": 4000}}}},
    ),
    *(
        Case(
            f"a user called {name}",
            users(**{name: CAROL}),
            "error",
            f"identity.passwd.users.{name}",
            ("Slurm's images have already",),
            {"identity": {"passwd": {"users": {name: None, "carol": CAROL}}}},
        )
        for name in ("root", "slurm", "sshd", "Root")
    ),
    Case(
        "a group called sudo",
        users({"sudo": 4000}, carol=CAROL),
        "error",
        "identity.passwd.groups.sudo",
        ("Slurm's images have already",),
        {"identity": {"passwd": {"groups": {"sudo": None}}}},
    ),
    Case(
        "two users with one uid",
        users(bill=CAROL, carol=CAROL),
        "error",
        "identity.passwd.users.carol",
        ("uid of bill", "3001"),
        user(uid=3002),
    ),
    Case(
        "two groups with one gid",
        users({"a": 4000, "b": 4000}, carol=CAROL),
        "error",
        "identity.passwd.groups.b",
        ("gid of a",),
        {"identity": {"passwd": {"groups": {"b": 4001}}}},
    ),
    Case(
        "a group that is not there",
        users(carol=CAROL | {"groups": ["physics"]}),
        "error",
        "identity.passwd.users.carol.groups",
        ("physics", "not in"),
        {"identity": {"passwd": {"groups": {"physics": 4000}}}},
    ),
    Case(
        "a group that reads slurm.key in a client's pod",
        users(carol=CAROL | {"gid": 65030}) | {"clients": {"hub": {"namespace": "hub", "people": {"bob": CAROL}}}},
        "error",
        "identity.passwd.users.carol.gid",
        ("clients.hub.group",),
        user(gid=3001),
    ),
    Case(
        "one user with two numbers",
        users(carol=CAROL) | {"clients": {"hub": {"namespace": "hub", "people": {"carol": {"uid": 3002, "gid": 3001}}}}},
        "error",
        "clients.hub.people.carol.uid",
        ("3002", "3001"),
        {"clients": {"hub": {"people": {"carol": {"uid": 3001}}}}},
    ),
    Case(
        "a provider where daemons read no set",
        minimal(keys=KEYS, identity={"oidc": {"jwksFile": "idp.json"}}),
        "error",
        "identity.oidc",
        ("keys.tokens",),
        {"identity": {"oidc": None}},
    ),
    Case(
        "a provider's private key",
        provider(jwks={"keys": [{"kty": "RSA", "kid": "a", "n": "AQAB", "e": "AQAB", "d": "AQAB"}]}),
        "error",
        "identity.oidc.jwks",
        ("private or a symmetric", "leaked"),
        {"identity": {"oidc": {"jwks": None, "jwksFile": "idp.json"}}},
    ),
    Case(
        "a claim that slurm-operator 1.2 writes in lower case",
        provider(jwksFile="idp.json", userClaim="userName"),
        "error",
        "identity.oidc.userClaim",
        ("lower case", "1.2.1"),
        {"identity": {"oidc": {"userClaim": "preferred_username"}}},
    ),
    Case(
        "a directory without its sssd.conf",
        minimal(identity={"sssd": {}}),
        "error",
        "identity.sssd",
        ("sssdConf", "confFrom"),
        {"identity": {"sssd": {"confFrom": {"secret": "sssd"}}}},
    ),
    Case(
        "a directory beside a list",
        minimal(identity={"sssd": {"confFrom": {"secret": "sssd"}}, "passwd": {"users": {"carol": CAROL}}}),
        "error",
        "identity.sssd",
        ("two lists",),
        {"identity": {"passwd": None}},
    ),
    Case(
        "a certificate for a Secret that others make",
        minimal(identity={"sssd": {"confFrom": {"secret": "sssd"}, "caFile": "ca.crt"}}),
        "error",
        "identity.sssd.caFile",
        ("ca.crt",),
        {"identity": {"sssd": {"caFile": None}}},
    ),
    Case(
        "a login set without sssd.conf",
        minimal(logins={"main": {}}),
        "error",
        "logins.main.sssdConfFrom",
        ("identity.sssd",),
        {"identity": {"sssd": {"confFrom": {"secret": "sssd"}}}},
    ),
    Case(
        "10,000 users with long homes",
        users(**{f"user{n}": {"uid": 10000 + n, "gid": 3001, "home": f"/home/{'x' * 100}/{n}"} for n in range(10_000)}),
        "error",
        "identity.passwd",
        ("10000 users", "1024 KiB"),
        {"identity": {"passwd": None}},
    ),
]
"""Errors."""
