"""Which Secrets of a stack hold keys, and the bytes in them that must be nowhere else."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from slurm_rules.cluster import JWT_FIELDS, entry
from slurm_rules.model import Hidden, Resource, Stack

KEY_FIELDS: Mapping[str, str] = {"slurmKeyRef": "slurm.key", **dict.fromkeys(JWT_FIELDS, "the JWT key")}
"""Fields of Slinky's resources that refer to a key, and what that key is called in messages."""
KEY_ENTRIES = re.compile(r"(?i)(slurm|munge|jwt|jwt_hs256)\.key(\.\w+)?|slurm\.jwks|token\.pem(\.\w+)?")
"""Entries of Secrets that are keys; what follows the dot is a key that comes or goes (``.next``)."""
_PEM = re.compile(rb"-----BEGIN (?P<what>[A-Z ]*PRIVATE KEY)-----(?P<body>[^-]*)-----END ")
_RSA_BYTES = 512
"""What has more in DER is an RSA key. Version, modulus and public exponent are less than its first third; all numbers after
them are secret (RFC 8017, A.1.2)."""


@dataclass(frozen=True)
class Key:
    """A key in a Secret: what it is called, and its bytes or what hides them."""

    what: str
    secret: Resource
    entry: str
    value: bytes | Hidden


def _references(stack: Stack) -> Iterator[tuple[Resource, str, str, str]]:
    """Resource, field, Secret and entry of every reference to a key."""
    for resource in stack.slinky("Controller", "Accounting", "Token"):
        for field in KEY_FIELDS:
            if resource.peek("spec", field) is not None:
                yield resource, field, resource.text("spec", field, "name"), resource.text("spec", field, "key")


def keys_of(secret: Resource, stack: Stack) -> Iterator[Key]:
    """Every key in one Secret: by its entry's name, or because something refers to it."""
    called = {}
    for resource, field, name, key in _references(stack):
        if (resource.namespace, name) == (secret.namespace, secret.in_cluster_name):
            called[key] = KEY_FIELDS[field]
    for key in dict.fromkeys((*called, *_entry_names(secret))):
        value = entry(secret, key)
        if value is not None and (key in called or KEY_ENTRIES.fullmatch(key)):
            yield Key(called.get(key, f"{key} of {secret.label}"), secret, key, value)
    for field in ("data", "stringData"):
        part = secret.peek(field)
        if isinstance(part, Hidden) and not called:
            yield Key(f"an entry of {secret.label}", secret, "", part)


def _entry_names(secret: Resource) -> Iterator[str]:
    for field in ("data", "stringData"):
        part = secret.peek(field)
        if isinstance(part, Mapping):
            yield from map(str, part)


def secret_bytes(raw: bytes) -> list[bytes]:
    """The parts of a key's file that are secret: of an RSA key its private numbers, of a JWKS its symmetric keys, else all.

    The rest is no secret: the modulus is in every public key, and documents of one kind begin alike.
    """
    if match := _PEM.search(raw):
        body = b"".join(match["body"].split())
        der = _from_base64(body)
        return [der[len(der) // 3 :] if b"RSA" in match["what"] or len(der) > _RSA_BYTES else body]
    if raw.lstrip().startswith(b"{"):
        values = [_from_base64(text) for text in re.findall(rb'"[kd]"\s*:\s*"([A-Za-z0-9_-]+)"', raw)]
        if values and _is_json(raw):
            return [value for value in values if value]
    return [raw]


def _is_json(raw: bytes) -> bool:
    try:
        return isinstance(json.loads(raw), dict)
    except (ValueError, RecursionError):
        return False


def _from_base64(text: bytes) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return b""
