"""What a key's entry says, and the entries of keys that daemons share, with all the names that each has: the one home of
them. A key is addressed by its entry, never by its place in a sequence. A part can have one of its own: that of tokens
(``keys/registry.py`` has all that `keys rotate` replaces), or one of another auth (``config/stack.py``, KEYS).

What stands here is in users' configuration, state, Secrets and hosts: tests/contract/test_key_wire_formats.py pins it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal

from slinky_iac import names
from slinky_iac.keys.form import RAW, Form

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
    algorithm: str = ""
    """How it signs tokens, as gates' props and `keys.tokens` call it; empty for a key that signs none."""
    form: Form[Any] = RAW
    """What its values are."""
    is_immutable: bool = True
    """Whether its Secret is: daemons begin with a key and keep it."""
    bundle: str = ""
    """File in which daemons get several keys of this kind at once; empty where there is none."""
    bundled_in: Callable[[str], str] | None = None
    """Name of the object with that file, of the cluster's resource name."""
    bundle_logical: str = ""
    """How the logical name of that object continues behind the component's."""
    setting: str = "keys"
    """Setting by which the stack has it."""
    reference: str = ""
    """Field of a Controller and an Accounting that names the object to the operator."""
    output: str = ""
    """Stack output with the file, where that isn't a secret."""
    document: str = ""
    """Field with it in what a state says of the stack (``blueprint/document.py``), where it isn't a secret."""
    leaked: str = ""
    """What to do about one that was in plain text, of a key that `keys import` and `keys rotate` don't have."""
    volume: str = ""
    """Volume of slurmd's pods with that file, and its folder: one of its own, since the operator's fills /etc/slurm."""
    folder: str = ""
    variable: str = ""
    """Variable that tells slurmd and sackd where the file is (auth/slurm)."""

    @property
    def bundle_kind(self) -> Literal["ConfigMap", "Secret"]:
        """Kind of the object with :attr:`bundle`: public halves are no secret."""
        return "ConfigMap" if self.output else "Secret"

    @property
    def bundle_path(self) -> str:
        """Where slurmd's pods have :attr:`bundle`."""
        return f"{self.folder}/{self.bundle}"

    @property
    def rotation_secrets(self) -> tuple[str, ...]:
        """Configuration values that a rotation sets and removes."""
        return tuple(name for name in (self.next, self.previous) if name)

    def bundle_at(self, resource_name: str) -> SecretEntry:
        """The object with :attr:`bundle`."""
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
    annotation="slinky-iac/slurm-jwks",
    logical="slurm-key",
    second="slurm.jwks of the pods has another key",
    bundle="slurm.jwks",
    bundled_in=names.ending("-slurm-jwks"),
    bundle_logical="slurm-jwks-secret",
    volume="slurm-jwks",
    folder="/etc/slurm-jwks",
    variable="SLURM_SACK_JWKS",
)
"""auth/slurm: all daemons prove themselves with it. The annotation is on slurmd's pods: kubelet looks at a pod's volumes
when the pod changes, else once a minute or so."""
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
    algorithm="hs256",
)
"""HS256: the operator signs its tokens with it always, gates and commands unless ``keys.tokens`` is rs256."""
DAEMON_KEYS: Final = (SLURM, JWT)
"""Raw bytes that daemons of a cluster with auth/slurm share; the stack makes them, or others do (`keys.source`)."""
ROTATION_SECRETS: Final = tuple(name for key in DAEMON_KEYS for name in key.rotation_secrets)
"""Configuration values beside the daemons' keys while one is being rotated."""
