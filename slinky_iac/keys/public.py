"""Sets of public keys (JWKS, RFC 7517): their names, and how one differs from the stack's own. The same keys make the same
bytes, so that two files are compared by their hashes. No message quotes what is in a set.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


def kids(document: bytes) -> frozenset[str]:
    """Names of the keys in a public set: each key's own thumbprint, which another key that is given its name hasn't.

    Raises ValueError where it is no such set.
    """
    try:
        entries = [dict(jwk) for jwk in json.loads(document, object_pairs_hook=once)["keys"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _no_set() from None
    return frozenset(thumbprint(entry) for entry in entries)


def digest(document: str | bytes) -> str:
    """Of a public set, for an annotation."""
    return hashlib.sha256(document.encode() if isinstance(document, str) else document).hexdigest()[:16]


@dataclass(frozen=True)
class SetDifference:
    """How a public set differs from the one that the stack makes. Keys by their own thumbprints."""

    foreign: tuple[str, ...] = ()
    """Keys that aren't the stack's: the holder of such a private half can be any user of Slurm."""
    lacking: tuple[str, ...] = ()
    readable: bool = True

    @property
    def words(self) -> str:
        """What is so, without what to do. Nothing that is in the set is quoted."""
        if not self.readable:
            return "can't be read as a set of keys"
        if not self.foreign and not self.lacking:
            return "has the stack's keys and isn't the file that the stack makes"
        said = [f"holds keys that aren't the stack's: {len(self.foreign)} (kid {', '.join(self.foreign[:4])})"]
        said = said if self.foreign else []
        return " and ".join([*said, *([f"lacks kid {', '.join(self.lacking[:4])}"] if self.lacking else [])])


def difference(document: bytes, wanted: bytes) -> SetDifference | None:
    """How ``document`` differs from ``wanted``, the stack's own set; None where it is the same file, byte for byte.

    Names alone tell nothing: who may write the set may give his key the stack's name.
    """
    if document == wanted:
        return None
    try:
        present, ours = kids(document), kids(wanted)
    except ValueError:
        return SetDifference(readable=False)
    return SetDifference(tuple(sorted(present - ours)), tuple(sorted(ours - present)))


def thumbprint(jwk: Mapping[str, Any]) -> str:
    """RFC 7638: a hash of what makes the key. Raises ValueError for anything but an RSA key with a ``kid``."""
    needed = {name: jwk.get(name) for name in ("e", "kty", "n")}
    if not isinstance(jwk.get("kid"), str) or not all(isinstance(member, str) for member in needed.values()):
        raise _no_set()
    return base64url(hashlib.sha256(json.dumps(needed, sort_keys=True, separators=(",", ":")).encode()).digest())


def base64url(raw: bytes) -> str:
    """RFC 7515: without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object none of whose members stands twice: readers differ in which of the two they take."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _no_set()
    return members


def _no_set() -> ValueError:
    return ValueError("isn't a set of keys as this program makes it (a JWKS of RSA keys that each have a kid)")
