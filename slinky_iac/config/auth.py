"""How the daemons of a cluster know each other: what is asked of it, answered for auth/slurm.

A part can have another way: its settings hold a class with the same attributes, and ``config/stack.py`` chooses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from slinky_iac.config.sections import Keys
from slinky_iac.keys.catalogue import DAEMON_KEYS, SLURM, Key


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
    """What a command, or a class of a program, says that such a cluster has no use for, by its name."""
    outside_conf: ClassVar[str] = ""
    """What there is to say in place of lines for the slurm.conf of an outside slurmctld, behind the cluster's name."""
    hosts_know_people: ClassVar[bool] = False
    """Whether every host of the cluster knows who a client's user is. auth/slurm takes the name from the client's pod."""

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
