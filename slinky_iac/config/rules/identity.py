"""Rules about users: numbers that would give a user the rights of a daemon, and what two entries can't share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from slinky_iac import names
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.identity import Passwd
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.keys.provider import public_keys
from slinky_iac.parts.registry import USERS

FIRST: Final = 1000
"""Lower numbers are the images' own: daemons, and devices' groups (login.defs(5), UID_MIN)."""
NOBODY: Final = (65534, 65535)
OF_IMAGES: Final = frozenset(
    {"root", names.SLURM_USER, "nogroup", "daemon", "sshd", "sssd", "adm", "disk", "docker", "shadow", "sudo"}
    | {"wheel", "kmem"}
    | USERS
)
"""Users and groups by which a daemon or an administrator has its rights."""
MOST_BYTES: Final = 2**20
"""What a ConfigMap may hold (Kubernetes, "ConfigMaps", Motivation)."""
LINE: Final = 64
"""Bytes that an entry has besides its names and paths, at the most."""


def passwd(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Findings about `identity.passwd`."""
    given = config.identity.passwd
    if given is None:
        return
    path = "identity.passwd"
    yield from _numbers(config, given, path)
    yield from _shared(f"{path}.users", {name: person.uid for name, person in given.users.items()}, "uid")
    yield from _shared(f"{path}.groups", dict(given.groups), "gid")
    for name, user in given.users.items():
        for group in user.groups:
            if group not in given.groups:
                yield at(f"{path}.users.{name_of(name)}.groups").error(
                    f"{name_of(group)} is not in {path}.groups; add it there with its gid"
                )
    yield from _clients(config, given)
    if (size := rendered_size(given)) > MOST_BYTES:
        yield at(path).error(
            f"{len(given.users)} users make about {size // 1024} KiB, and a ConfigMap holds 1024 KiB at the most. Use a"
            " directory for a site of this size"
        )


def _a_secret(config: StackConfig) -> str:
    """How a Secret for sssd.conf is made by hand, in a namespace that the first `pulumi up` would make after it."""
    space = config.cluster.namespace
    secret = f"`kubectl create secret generic slurm-sssd -n {space} --from-literal=sssd.conf='[sssd]'`"
    if not config.cluster.create_namespace or config.cluster.keep_namespace:
        return secret
    return (
        f"{secret} (where namespace {space} isn't there yet, before it `kubectl create namespace {space}`, and set"
        " cluster.createNamespace: false)"
    )


def sssd(config: StackConfig, secrets: frozenset[str]) -> Iterator[Finding]:
    """Findings about `identity.sssd`, and about login sets, which need sssd.conf in every case."""
    given = config.identity.sssd
    for name, login in config.logins.items():
        if login.sssd_conf_from is None and given is None:
            yield at(f"logins.{name}.sssdConfFrom").error(
                "is needed: slurm-operator mounts sssd.conf from it. Set identity.sssd. If your users are in no directory"
                f" service (LDAP, AD), make a Secret with one line, {_a_secret(config)}, and name it:"
                " sssdConfFrom: {secret: slurm-sssd}"
            )
    if given is None:
        return
    if config.identity.passwd is not None:
        yield at("identity.sssd").error("stands beside passwd: two lists of users could differ. Keep one of them")
    if given.conf_from is None and "sssdConf" not in secrets:
        yield at("identity.sssd").error(
            "has no sssd.conf: run `pulumi config set --secret slinky-iac:sssdConf < sssd.conf`, or name a Secret in"
            " confFrom"
        )
    if given.conf_from is not None and given.ca_file is not None:
        yield at("identity.sssd.caFile").error(
            "goes with the stack's own Secret; put the certificate into yours as the entry ca.crt"
        )


def oidc(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Findings about `identity.oidc`; a file's are those of :mod:`slinky_iac.config.files`."""
    given = config.identity.oidc
    if given is None:
        return
    if not config.signing.own_keys:
        yield at("identity.oidc").error(
            "needs keys.tokens: rs256 or prepared: with hs256 slurmctld reads no set of public keys"
            " (`slinky docs token-keys` says how to change over)"
        )
    claim, written = given.user_claim or "", config.slurmctld.owns_conf or config.accounting.database is not None
    if claim != claim.lower() and written and config.operator_version.prunes_slurm_conf:
        yield at("identity.oidc.userClaim").error(
            f"has capitals, and slurm-operator {config.operator.version} writes it into slurm.conf in lower case"
            " (BuildMergedConfig): slurmctld would look for another claim. Have the identity provider put the user's name"
            " into a claim in lower case"
        )
    path, what = given.source
    if not isinstance(what, str):
        try:
            public_keys(what)
        except ValueError as wrong:
            yield at(path).error(f"{wrong}. Nothing of it was taken")


def _numbers(config: StackConfig, given: Passwd, path: str) -> Iterator[Finding]:
    keepers = {client.group: f"clients.{name}.group" for name, client in config.clients.items()}
    entries = [(f"{path}.users.{name_of(name)}.uid", person.uid) for name, person in given.users.items()]
    entries += [(f"{path}.users.{name_of(name)}.gid", person.gid) for name, person in given.users.items()]
    entries += [(f"{path}.groups.{name_of(name)}", gid) for name, gid in given.groups.items()]
    for place, number in entries:
        if number < FIRST or number in NOBODY:
            yield at(place).error(
                f"{number} is a number of the images' own users: root, SlurmUser ({names.SLINKY_UID}), or those of daemons."
                f" Give a number of {FIRST} or above, but not {NOBODY[0]} and {NOBODY[1]}"
            )
        elif number in keepers:
            yield at(place).error(f"{number} is {keepers[number]}, whose members read slurm.key; give another number")
    for kind, given_names in (("users", given.users), ("groups", given.groups)):
        for name in given_names:
            if name.lower() in OF_IMAGES:
                yield at(f"{path}.{kind}.{name_of(name)}").error(
                    "is a user or group that Slurm's images have already, and who gets this name gets its rights. Choose"
                    " another name"
                )


def _shared(path: str, numbers: Mapping[str, int], kind: str) -> Iterator[Finding]:
    seen: dict[int, str] = {}
    for name, number in numbers.items():
        if number in seen:
            yield at(f"{path}.{name_of(name)}").error(
                f"has the {kind} of {name_of(seen[number])} ({number}): both would be one to Slurm. Give each its own"
            )
        seen.setdefault(number, name)


def _clients(config: StackConfig, given: Passwd) -> Iterator[Finding]:
    """One name, two numbers: a job from the client's pod would run as another user than one by REST."""
    for client, settings in config.clients.items():
        for name, person in settings.people.items():
            user = given.users.get(name)
            if user is not None and user.uid != person.uid:
                yield at(f"clients.{client}.people.{name_of(name)}.uid").error(
                    f"{person.uid}, and identity.passwd has {user.uid} for this user; give one number in both"
                )


def rendered_size(given: Passwd) -> int:
    """Bytes that the entries have at the most."""
    size = 0
    for name, user in given.users.items():
        size += 2 * len(name) + len(user.home or f"/home/{name}") + len(user.shell) + LINE
        size += len(user.groups) * (len(name) + 1)
    return size + sum(len(name) + LINE for name in given.groups)


RULES = (passwd,)
OF_DAEMONS = (sssd, oidc)
"""Rules of stacks that make daemons; others make clients only."""
