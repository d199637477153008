"""The hand-off as values: one sheet a role, with all that a host of that role needs. No sheet ever holds a key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

from slinky_iac.config.fields import is_address
from slinky_iac.errors import HandoffError

SLURM_FOLDER: Final = "/etc/slurm"
"""Slurm's folder on a host."""
_HOST_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Role(StrEnum):
    """What an outside host is for."""

    SLURMCTLD = "slurmctld"
    SLURMDBD = "slurmdbd"
    SLURMRESTD = "slurmrestd"
    SLURMD = "slurmd"
    LOGIN = "login"


@dataclass(frozen=True)
class Placed:
    """A file of a host: where it goes, whose it is, and what it says. ``text`` holds no secret."""

    path: str
    text: str
    mode: int = 0o644
    owner: str = "root"
    yields: bool = False
    """An admin's own file of this name stays: its first line is another than this one's."""

    @property
    def below(self) -> str:
        """The path without its first slash: where the file lies in a rendered tree."""
        return self.path.lstrip("/")


@dataclass(frozen=True)
class KeyPlace:
    """Where a key has to lie on a host. ``fingerprint`` is ``SHA256:…`` or None where it isn't known yet; ``fetch`` is a
    command that gets the key onto a host, without showing it, and empty where the role's one host has it. ``holder`` is the
    host from which all others get the key, and empty where that isn't a host; ``source`` the same where it has the role."""

    name: str
    path: str
    fingerprint: str | None
    fetch: str
    holder: str = ""
    source: str = ""
    owner: str = "slurm"
    mode: int = 0o600

    @property
    def advice(self) -> str:
        """What to do where the key is missing."""
        restore = f"on {self.source} restore it, since the other hosts get it from there" if self.source else ""
        place = f"place it first, for example by: {self.fetch}" if self.fetch else ""
        return "; elsewhere ".join(filter(None, (restore, place)))


@dataclass(frozen=True)
class Port:
    """A port to open on a host of the role: who comes (``source``), to which TCP port, for what."""

    source: str
    port: int
    purpose: str


@dataclass(frozen=True)
class HostLine:
    """A line of /etc/hosts, for a name that Slurm uses and outside DNS may not have. ``address`` None: not known.

    It goes into a shell script, a playbook and user data, and its address may come from an API server: one that isn't an
    address raises :class:`HandoffError`, so none of them ever holds another text.
    """

    names: tuple[str, ...]
    address: str | None

    def __post_init__(self) -> None:
        if self.address is not None and not is_address(self.address):
            raise HandoffError(
                f"slurmctld's address {self.address[:80]!a} is not an IP address, which /etc/hosts needs. It comes from the"
                " Service's load balancer, which gave a name: `getent hosts NAME` prints the address. Give that by"
                " --slurmctld-address. Nothing was written"
            )
        if strange := [name for name in self.names if _HOST_NAME.fullmatch(name) is None]:
            raise HandoffError(
                f"{strange[0][:80]!a} is not a valid host name, so no line of /etc/hosts can hold it: a name has letters,"
                " digits, '-' and '.' alone. It comes from cluster.resourceName or accounting.external.host; correct it,"
                " then run this again. Nothing was written"
            )


@dataclass(frozen=True)
class Host:
    """A host of the role that the stack's configuration names."""

    name: str
    address: str


@dataclass(frozen=True)
class Sheet:
    """All that a host of one role needs.

    ``checks`` are calls of the functions in ``check.sh``, one a tuple of words. ``edits`` is a file of the admin's own that
    must hold what the checks name (slurm.conf, slurmdbd.conf); nothing here replaces it.
    """

    role: Role
    service: str
    hosts: tuple[Host, ...]
    checks: tuple[tuple[str, ...], ...]
    ports: tuple[Port, ...] = ()
    files: tuple[Placed, ...] = ()
    keys: tuple[KeyPlace, ...] = ()
    edits: str | None = None
    restarts: tuple[str, ...] = ()
    """Parameters of that file that the daemon reads at its start only."""
    wanted: str = ""
    host_lines: tuple[HostLine, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def check_path(self) -> str:
        """Where the check lies on the host."""
        return f"/usr/local/sbin/slurm-check-{self.role}"


@dataclass(frozen=True)
class Handoff:
    """The hand-off of one stack: its sheets and the page about networks."""

    cluster: str
    release: str
    sheets: tuple[Sheet, ...]
    network: str
    open_points: tuple[str, ...] = ()
    """What isn't known yet, one sentence each, with how to know it."""


@dataclass(frozen=True)
class Rendered:
    """A file of a rendered hand-off, below the output folder. ``content`` may be a key; it doesn't show."""

    path: PurePosixPath
    content: bytes = field(repr=False)
    mode: int = 0o644


def rendered(path: str, text: str, mode: int = 0o644) -> Rendered:
    """A rendered text file."""
    return Rendered(PurePosixPath(path), text.encode(), mode)


def key_files(sheet: Sheet, keys: Mapping[str, bytes] | None, below: str) -> Iterator[Rendered]:
    """The keys of a sheet as files that only their owner may read; ``keys``: by file name, None for none of them."""
    if keys is not None:
        yield from (Rendered(PurePosixPath(f"{below}/keys/{key.name}"), keys[key.name], 0o600) for key in sheet.keys)
