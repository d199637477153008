"""How the daemons of the cluster know each other: two classes with the same attributes, chosen here alone.

With auth/munge nothing of Slinky's can be of the cluster, so the stack makes clients only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from slinky_iac.config.sections import Keys
from slinky_iac.keys.catalogue import DAEMON_KEYS, SLURM, Key
from slinky_iac.parts.munge.settings import MUNGE, Munge


@dataclass(frozen=True)
class SlurmAuth:
    """auth/slurm, which all pods of Slinky have."""

    section: Keys

    name: ClassVar[str] = "auth/slurm"
    """AuthType."""
    makes_daemons: ClassVar[bool] = True
    """Whether the stack makes slurm-operator, slurmrestd and pods of the cluster, or its clients only."""
    keys: ClassVar[tuple[Key, ...]] = DAEMON_KEYS
    """Keys that the daemons share."""
    client_key: ClassVar[Key] = SLURM
    """The key that clients prove themselves with."""
    client_daemon: ClassVar[str] = "sackd"
    """The daemon beside a client that proves who asks."""
    client_image: ClassVar[str | None] = None
    """An image that clients have of the stack; None where they have slurmd's or their own."""
    in_clear: ClassVar[str] = "auth/slurm signs and doesn't encrypt; no TLSType is set"
    """What it does not protect on the way between daemons."""
    refusals: ClassVar[Mapping[str, str]] = {}
    """What a command says that such a cluster has no use for, by the command."""

    @property
    def client_file(self) -> str:
        """The file in which a client has its key."""
        return next((key.bundle for key in self.bundled), SLURM.file)

    @property
    def client_option(self) -> str:
        """The daemon's option that names it."""
        return "--jwks-file" if self.bundled else "--key-file"

    @property
    def bundled(self) -> tuple[Key, ...]:
        """Keys of which the daemons get several at once."""
        return (SLURM,) if self.section.jwks else ()


@dataclass(frozen=True)
class MungeAuth:
    """auth/munge, which pods of Slinky don't have: their slurmd and sackd start with slurm.key, and without munged."""

    section: Munge

    name: ClassVar[str] = "auth/munge"
    makes_daemons: ClassVar[bool] = False
    keys: ClassVar[tuple[Key, ...]] = (MUNGE,)
    client_key: ClassVar[Key] = MUNGE
    bundled: ClassVar[tuple[Key, ...]] = ()
    client_option: ClassVar[str] = "--key-file"
    client_daemon: ClassVar[str] = "munged"
    client_file: ClassVar[str] = MUNGE.file
    in_clear: ClassVar[str] = "munge encrypts only its own credential"
    refusals: ClassVar[Mapping[str, str]] = {
        "handoff": (
            "keys.auth: auth/munge: outside hosts of such a cluster keep the munge.key and slurm.conf they have,"
            " and none of this stack's NodeSets could work with them. Move the cluster to auth/slurm first"
        ),
        "keys": (
            "keys.auth is auth/munge: this stack has munge.key alone, neither slurm.key nor a JWT key. `slinky docs munge`"
            " says how to set it and how to replace it. Nothing was changed"
        ),
        "preflight --via": "there is nothing to ask for a stack with keys.auth: auth/munge; leave --via out",
        "token": "keys.auth: a munge cluster's stack signs no tokens; run `scontrol token` there",
    }

    @property
    def client_image(self) -> str | None:
        """munged's image."""
        return self.section.image


Auth = SlurmAuth | MungeAuth


def auth_of(keys: Keys, munge: Munge) -> Auth:
    """The one that a stack's sections mean. This is the only place that chooses."""
    return SlurmAuth(keys) if keys.auth == "auth/slurm" else MungeAuth(munge)
