"""The keys of daemons and of this program's tokens, with all the names that each has: the one home of them. A key is
addressed by its entry here, never by its place in a sequence. A part can have one of its own (``config/stack.py``, KEYS).

What stands here is in users' configuration, state, Secrets and hosts: tests/contract/test_key_wire_formats.py pins it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from slinky_iac import names

NEXT_SUFFIX: Final = ".next"
"""Behind a JWT entry's name: the entry of the same Secret with the next key, while one is being rotated."""


class Role(StrEnum):
    """What a host outside Kubernetes runs; the order is the one in which hosts are changed."""

    LOGIN = "login"
    SLURMD = "slurmd"
    SLURMDBD = "slurmdbd"
    BACKUP = "backup slurmctld"
    SLURMCTLD = "slurmctld"


@dataclass(frozen=True)
class Key:
    """One kind of key."""

    name: str
    """As `keys rotate` calls it."""
    label: str
    """As messages and `status` call it."""
    config: str
    """Secret configuration value with the key in use."""
    file: str
    """Its file on outside hosts, and by default its entry in its Secret."""
    secret: Callable[[str], str]
    """Name of its Secret, of the cluster's resource name."""
    readers: frozenset[Role] = frozenset(Role)
    """Outside hosts that hold it, by what they run."""
    next: str = ""
    """Configuration value with the next key, while this one is being rotated."""
    previous: str = ""
    """Configuration value with the key from before, while daemons may still use it."""
    annotation: str = ""
    """Annotation that changes with the key, and wakes who reads it."""
    logical: str = ""
    """How the logical names of its resources continue behind the component's."""
    second: str = ""
    """Where a second one shows while this one is being replaced, as `status` says it."""
    bundle: str = ""
    """File in which daemons get several keys of this kind at once; empty where there is none."""
    bundled_in: Callable[[str], str] | None = None
    """Name of the object with that file, of the cluster's resource name."""
    is_pair: bool = False
    """RSA: the stack signs with the private half, and daemons have the public one. Else raw bytes, which both have."""

    @property
    def rotation_secrets(self) -> tuple[str, ...]:
        """Configuration values that a rotation sets and removes."""
        return tuple(name for name in (self.next, self.previous) if name)

    def bundle_at(self, resource_name: str) -> SecretEntry:
        """The object with :attr:`bundle`: of slurm.key a Secret, of the token key a ConfigMap with public halves."""
        assert self.bundled_in is not None, f"{self.label} has no bundle"
        return SecretEntry(self.bundled_in(resource_name), self.bundle)

    @property
    def the(self) -> str:
        """The label in the middle of a sentence."""
        return self.label if "." in self.label else f"the {self.label}"


@dataclass(frozen=True)
class SecretEntry:
    """Where a key is in the cluster's namespace."""

    name: str
    entry: str

    @property
    def reference(self) -> dict[str, str]:
        """As the operator's custom resources refer to it."""
        return {"name": self.name, "key": self.entry}

    def __str__(self) -> str:
        return f"{self.name}/{self.entry}"


TOKEN_CHECKERS: Final = frozenset({Role.SLURMDBD, Role.BACKUP, Role.SLURMCTLD})
"""Whose daemons check tokens; slurmd and sackd know nothing of these keys."""

SLURM: Final = Key(
    "slurm",
    "slurm.key",
    config="slurmKey",
    file=names.SLURM_KEY_FILE,
    secret=names.slurm_key_secret,
    next="slurmKeyNext",
    previous="slurmKeyPrevious",
    annotation=names.ANNOTATION_SLURM_JWKS,
    logical="slurm-key",
    second="slurm.jwks of the pods has another key",
    bundle=names.SLURM_JWKS_FILE,
    bundled_in=names.slurm_jwks_secret,
)
"""auth/slurm: all daemons prove themselves with it."""
JWT: Final = Key(
    "jwt",
    "JWT key",
    config="jwtKey",
    file=names.JWT_KEY_FILE,
    secret=names.jwt_key_secret,
    readers=TOKEN_CHECKERS,
    next="jwtKeyNext",
    annotation=names.ANNOTATION_JWT_KEY,
    logical="jwt-key",
    second="its Secret holds another key",
)
"""HS256: the operator signs its tokens with it always, gates and commands unless ``keys.tokens`` is rs256."""
TOKENS: Final = Key(
    "tokens",
    "token key",
    config="tokenKey",
    file=names.TOKEN_KEY_ENTRY,
    secret=names.token_key_secret,
    readers=TOKEN_CHECKERS,
    next="tokenKeyNext",
    previous="tokenKeyPrevious",
    annotation=names.ANNOTATION_TOKEN_KEYS,
    logical="token-key",
    second="the public set has another key",
    bundle=names.JWKS_FILE,
    bundled_in=names.token_key_set,
    is_pair=True,
)
"""RSA, of gates and commands. The private half never leaves the stack; its readers hold the public set (jwks.json)."""
DAEMON_KEYS: Final = (SLURM, JWT)
"""Raw bytes that daemons of a cluster with auth/slurm share; the stack makes them, or others do (`keys.source`)."""
ROTATING: Final = (SLURM, JWT, TOKENS)
"""Keys that `keys rotate` replaces."""
BY_NAME: Final = {key.name: key for key in ROTATING}
ROTATION_SECRETS: Final = tuple(name for key in DAEMON_KEYS for name in key.rotation_secrets)
"""Configuration values beside the daemons' keys while one is being rotated."""
TOKEN_SECRETS: Final = (TOKENS.config, *TOKENS.rotation_secrets)
"""Configuration values with RSA keys."""
