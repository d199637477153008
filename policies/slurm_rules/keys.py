"""slurm.key and the JWT key: they differ, come from a safe source, and are not too old."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from math import log2
from zlib import compress

from slurm_rules.cluster import entry, jwt_field, key_secret
from slurm_rules.key_material import keys_of
from slurm_rules.model import Hidden, HiddenValueError, Resource, Stack
from slurm_rules.rule import Options, number, rule, slinky

SAFE_RANDOM = "RandomPassword"
"""The one type of the random provider whose result is a secret and whose ID holds none of it."""
_CLASSES = (("lower", 26), ("upper", 26), ("numeric", 10))
_SPECIAL = 21
"""Characters of RandomPassword's classes; all classes are on by default (pulumi-random, randomPassword)."""
MINIMUM_BITS = 256
"""What HS256 asks of its key (RFC 7518 section 3.2), and auth/slurm signs alike."""
_FEWEST_BYTES = 8
_SMALLEST = 28
"""Distinct bytes, and bytes after compression, below which a key is no random one."""


def all_generated(secret: Resource, stack: Stack) -> bool:
    """Whether a Secret is filled by generators alone: then it equals no other generator's."""
    sources = generators(secret, stack)
    return bool(sources) and {source.urn for source in sources} == stack.sources(secret, "data", "stringData")


def generators(secret: Resource, stack: Stack) -> list[Resource]:
    """Resources of the random provider that fill a Secret."""
    sources = (stack.by_urn.get(urn) for urn in stack.sources(secret, "data", "stringData"))
    return [source for source in sources if source is not None and source.type.startswith("random:")]


@rule("keys-differ", slinky("Controller"))
def keys_differ(controller: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """slurm.key and the JWT key of a cluster are two different keys.

    Why: the JWT key goes to every program that hands out tokens; if it were slurm.key too, anyone who has it could
    act as any daemon of the cluster, slurmctld included.

    Source: slurm.schedmd.com/authentication.html (auth/slurm, auth/jwt); slurm.conf(5) AuthAltParameters.

    Do: make two keys of 1,024 random characters; move every outside host to them in one stop of the daemons.

    Level: mandatory, since one leaked token key would open the whole cluster.
    """
    jwt = jwt_field(controller)
    places = [(controller.text("spec", f, "name"), controller.text("spec", f, "key")) for f in ("slurmKeyRef", jwt)]
    if not all(part for place in places for part in place):
        return  # cluster-complete says what is missing
    same = f"{controller.label}: slurm.key and the JWT key are the same"
    if places[0] == places[1]:
        yield f"{same} entry {places[0][1]} of the Secret {places[0][0]}; give the JWT key a Secret of its own"
        return
    secrets = [key_secret(controller, stack, field) for field in ("slurmKeyRef", jwt)]
    first, second = secrets
    if first is None or second is None:
        return
    values = [entry(secret, place[1]) for secret, place in ((first, places[0]), (second, places[1]))]
    if all(isinstance(value, bytes) for value in values):
        if values[0] == values[1]:
            yield f"{same} bytes in two Secrets; make a second key"
        return
    sources = [stack.sources(secret, "data", "stringData") for secret in (first, second)]
    if sources[0] and sources[0] == sources[1] and first is not second:
        yield f"{same}: both Secrets are filled from {', '.join(sorted(u.rsplit('::', 1)[-1] for u in sources[0]))}"
    elif not all(all_generated(secret, stack) for secret in (first, second)) or sources[0] & sources[1]:
        raise HiddenValueError(
            f"{controller.label}: whether its keys differ", next(v for v in values if isinstance(v, Hidden))
        )


@rule(
    "key-source",
    lambda resource: resource.is_a("", "Secret"),
    options={
        "minLength": number(64, "Characters that a generated key has at the least.", 32),
        "minBytes": number(32, "Bytes that an imported key has at the least.", 1),
    },
)
def key_source(secret: Resource, stack: Stack, options: Options) -> Iterator[str]:
    """Keys come from RandomPassword or are imported, and are long enough and random enough.

    Why: the ID of RandomBytes and RandomId is the value itself, RandomString's result is no secret; IDs can't be encrypted,
    so such a key is in plain text in the state, in previews and in CI logs. Slurm takes a key of one byte, and one of a
    thousand equal ones. munge.key is judged as well.

    Source: pulumi-random, random_bytes.go (computeRandomBytesID); RFC 7518 section 3.2 (32 bytes for HS256); Slinky's own
    chart makes keys of 1,024 characters (helm/slurm/templates/secrets).

    Do: use RandomPassword with length 1024 and special false, its classes of characters left on, or import the outside
    cluster's key as a secret config value.

    Level: mandatory, since a key in a resource ID has leaked.
    """
    for key in keys_of(secret, stack):
        if key.entry.startswith(_OTHER_KINDS):
            continue
        what = f"{secret.label}: {key.what}"
        sources = generators(secret, stack)
        for source in sources:
            yield from _generated(what, source, options)
        if isinstance(key.value, bytes):
            yield from _weak(what, key.value, options)
        elif not all_generated(secret, stack):
            raise HiddenValueError(f"{secret.label}: the length of {key.what}", key.value)


_OTHER_KINDS = ("token.pem", "slurm.jwks")
"""Entries whose bytes are documents with keys in them."""


def _generated(what: str, source: Resource, options: Options) -> Iterator[str]:
    short = source.type.rsplit(":", 1)[-1]
    if short != SAFE_RANDOM:
        yield f"{what} comes from {short} {source.name}, which shows it in plain text; use {SAFE_RANDOM}"
        return
    length = source.number("length")
    if length is None:
        return
    if length < options["minLength"]:
        yield f"{what} comes from {source.name} with {length:g} characters; at least {options['minLength']:g} are asked for"
    special = source.get("special") is not False
    shown = source.get("overrideSpecial")
    characters = sum(size for name, size in _CLASSES if source.get(name) is not False)
    characters += len(set(shown)) if special and isinstance(shown, str) and shown else _SPECIAL if special else 0
    if length * log2(max(characters, 1)) < MINIMUM_BITS:
        yield f"{what} comes from {source.name} with {characters} different characters, which can be guessed"


def _weak(what: str, raw: bytes, options: Options) -> Iterator[str]:
    if len(raw) < options["minBytes"]:
        yield f"{what} has {len(raw)} bytes; at least {options['minBytes']:g} are asked for"
    elif len(set(raw)) < _FEWEST_BYTES or len(compress(raw, 9, wbits=-15)) < _SMALLEST:
        yield f"{what} repeats itself ({len(set(raw))} different bytes of {len(raw)}) and can be guessed; make a new key"
    if raw.lstrip().startswith(b"-----BEGIN") and b"PRIVATE KEY" not in raw:
        yield f"{what} is a certificate or a public key, which everybody may have; make a random key"


EXTERNAL_KEY = "pulumi-python:dynamic/slurm:ExternalKey"


@rule(
    "key-age",
    lambda resource: resource.is_a("", "Secret") or resource.type == EXTERNAL_KEY,
    options={"maxDays": number(1095, "Days after which a key is due for a new one.", 1)},
)
def key_age(secret: Resource, stack: Stack, options: Options) -> Iterator[str]:
    """No key is older than the site allows.

    Why: nothing says who has read a key since it was made: backups of etcd, images of disks, people who have left. Only a
    new one ends that. The age is that of the immutable Secret (metadata.creationTimestamp), which each rotation replaces.
    For a Secret that is changed in place, and for a key that was imported after long use, the stack doesn't show it. Of a
    key that somebody else makes (keys.source: external) it is the time at which the key was written to its Secret.

    Source: NIST SP 800-57 part 1, section 5.3 (cryptoperiods); Kubernetes, ObjectMeta creationTimestamp.

    Do: `slinky keys rotate`, or raise maxDays in the site file.

    Level: advisory, since an old key that did not leak does no harm.
    """
    if secret.type == EXTERNAL_KEY:
        if (days := _days(secret.peek("since"))) > options["maxDays"]:
            where = f"{secret.peek('namespace')}/{secret.peek('secret')}"
            yield f"Secret {where}: its key is {days} days old; this site allows {options['maxDays']:g}; rotate it"
        return
    days = _days(secret.get("metadata", "creationTimestamp")) if secret.get("immutable") is True else 0
    for key in keys_of(secret, stack) if days > options["maxDays"] else ():
        yield f"{secret.label}: {key.what} is {days} days old; this site allows {options['maxDays']:g}; rotate it"


def _days(stamp: object) -> int:
    """Days since a time; none where it isn't known, as before the first update."""
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(str(stamp))).days
    except (ValueError, TypeError):
        return 0
