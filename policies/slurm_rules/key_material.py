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
_SEQUENCE, _INTEGER, _OCTETS = 0x30, 0x02, 0x04
_PRIVATE = slice(3, 9)
"""Numbers of an RSA key that are secret: after version, modulus and public exponent (RFC 8017, A.1.2)."""


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
        numbers = _rsa_numbers(match["body"])
        return [n for n in numbers[_PRIVATE] if len(n) >= 16] if numbers else [b"".join(match["body"].split())]
    if raw.lstrip().startswith(b"{"):
        found = [_from_base64(text) for text in re.findall(rb'"[kd]"\s*:\s*"([A-Za-z0-9_-]+)"', raw)]
        if found and _is_json(raw):
            return [value for value in found if value]
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


def _rsa_numbers(body: bytes) -> list[bytes]:
    """Numbers of an RSAPrivateKey in PEM, also inside PKCS #8; none where it is something else."""
    try:
        der = base64.b64decode(b"".join(body.split()), validate=True)
    except (binascii.Error, ValueError):
        return []
    parts = _der(der)
    if len(parts) == 1 and parts[0][0] == _SEQUENCE:
        parts = _der(parts[0][1])
    for tag, value in parts:
        if tag == _OCTETS and (inner := _der(value)) and inner[0][0] == _SEQUENCE:
            parts = _der(inner[0][1])
            break
    numbers = [value.lstrip(b"\0") for tag, value in parts if tag == _INTEGER]
    return numbers if len(numbers) == _PRIVATE.stop else []


def _der(data: bytes) -> list[tuple[int, bytes]]:
    """Tag and value of each element, one level deep; none where the bytes are no DER."""
    found, at = [], 0
    while at + 2 <= len(data):
        tag, length, at = data[at], data[at + 1], at + 2
        if length & 0x80:
            size = length & 0x7F
            length, at = int.from_bytes(data[at : at + size], "big"), at + size
        if at + length > len(data):
            return []
        found.append((tag, data[at : at + length]))
        at += length
    return found if at == len(data) else []
