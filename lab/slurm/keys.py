"""The keys of one lab state: made once, kept until the state is removed, never printed.

slurm.key: auth/slurm's shared key, 1024 random bytes. jwt_hs256.key: 32 random bytes, used raw (slurm.conf(5)
AuthAltParameters jwt_key=). database-password: text, for slurmdbd's account in MariaDB.
"""

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from lab.slurm import conf

PASSWORD = "database-password"


@dataclass(frozen=True)
class Keys:
    """The keys themselves; they don't show in a representation."""

    slurm: bytes = field(repr=False)
    jwt: bytes = field(repr=False)
    database: str = field(repr=False)


def ensure(folder: Path) -> Keys:
    """Read the keys in `folder`, making those that are not there (folder 0700, files 0600)."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    return Keys(
        slurm=_once(folder / conf.KEY, secrets.token_bytes(1024)),
        jwt=_once(folder / conf.JWT_KEY, secrets.token_bytes(32)),
        database=_once(folder / PASSWORD, secrets.token_hex(16).encode()).decode(),
    )


def put(path: Path, content: bytes, *, mode: int, owner: int = 0) -> None:
    """Replace a file whole; it never exists with another mode, owner or half its content. Same content: no change."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_file() and path.read_bytes() == content:
        return
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        os.fchown(file.fileno(), owner, owner)
        os.fchmod(file.fileno(), mode)
    new.rename(path)


def _once(path: Path, made: bytes) -> bytes:
    if not path.exists():
        put(path, made, mode=0o600)
    return path.read_bytes()
