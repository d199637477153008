"""Making a key, and bringing one that is there into the stack's configuration, byte for byte."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from slinky_iac.commands.rotation.cluster import Cluster
from slinky_iac.commands.rotation.engine import Engine
from slinky_iac.config.reading.values import Values
from slinky_iac.errors import KeyMaterialError, RotationError
from slinky_iac.keys.catalogue import JWT, SLURM, Key
from slinky_iac.keys.raw import check


def generate(key: Key, out: Path) -> str:
    """Make a key in a new file, 0600; returns what it is known by. Raises :class:`KeyMaterialError` where the file can't be
    made."""
    raw = key.form.generate()
    write_new(out, raw)
    return key.form.known_by(str(out), raw)


def from_secret(values: Values, cluster: Cluster, place: str) -> bytes:
    """The bytes of ``NAMESPACE/SECRET/ENTRY`` in the stack's Kubernetes cluster. Raises what asking it raises."""
    parts = place.split("/")
    if len(parts) != 3 or not all(parts):
        raise ValueError(f"got {place!r}; a Secret's entry is NAMESPACE/SECRET/ENTRY, e.g. slurm/slurm-auth-slurm/slurm.key")
    namespace, name, entry = parts
    data = cluster.secret(name, namespace)
    if not data:
        raise KeyMaterialError(f"there is no Secret {namespace}/{name}; nothing was imported")
    if entry not in data:
        raise KeyMaterialError(f"Secret {namespace}/{name} has the entries {', '.join(sorted(data))}, not {entry!r}")
    check(place, data[entry], allow_trailing_newline=values.config.keys.allow_trailing_newline)
    return data[entry]


def import_key(engine: Engine, values: Values, key: Key, raw: bytes, *, replace: bool) -> bool:
    """Make ``raw``, a PEM for the token key, the stack's key; one that is there in plain text becomes a secret. Returns
    whether anything was changed.

    Raises :class:`RotationError` where the stack has another one: the next `pulumi up` would cut off daemons that run with
    it, or sign tokens that all of them refuse, unless ``replace`` says that none does.
    """
    keys, name = values.keys, key.config
    other = {SLURM.name: JWT, JWT.name: SLURM}.get(key.name)
    if other is not None and keys.of(other) == raw:
        raise KeyMaterialError(
            f"{name}: is the same key as {other.config}; anyone who may sign tokens could then act as any daemon"
        )
    if rotating := [
        secret for secret in key.rotation_secrets if keys.secret(secret) is not None or secret in values.unreadable
    ]:
        raise RotationError(f"{name} is being rotated ({', '.join(rotating)} is set): end that first; nothing was imported")
    if name in values.unreadable and not replace:
        raise RotationError(
            f"the stack has this key already, and can't use it: {values.unreadable[name]}\nTo import over it, give"
            f" --replace, or remove it first: `pulumi config rm slinky-iac:{name}`. Nothing was imported"
        )
    own = keys.secret(name)
    if own is not None and key.form.known_by(name, own) == key.form.known_by(name, raw):
        if name in values.plain:
            engine.set_key(name, raw)
        return name in values.plain
    if own is not None and not replace:
        raise RotationError(
            f"{name}: this stack has another key, {key.form.known_by(name, own)}, and running daemons may use it: the next"
            " `pulumi up` would split the cluster, or make tokens that all refuse. Use `slinky keys rotate"
            f" {key.name}`; or give --replace, where nothing runs with it yet. Nothing was imported"
        )
    engine.set_key(name, raw)
    return True


def write_new(file: Path, raw: bytes) -> None:
    """Write a key to a file that isn't there yet, readable by its owner only. Raises :class:`KeyMaterialError`."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise KeyMaterialError(
            f"{file}: exists already, and may be the only copy of a key in use. Name another file, or move it away first"
        ) from None
    except OSError as error:
        raise KeyMaterialError(f"{file}: can't be created ({error.strerror}); no key was made") from None
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(raw)
            opened.flush()
            os.fsync(handle)  # a key that is imported next may soon be nowhere else
    except OSError as error:
        file.unlink(missing_ok=True)
        raise KeyMaterialError(f"{file}: can't be written ({error.strerror}); no part of a key was left there") from None


def read_bytes(file: Path) -> bytes:
    """A file, ``-`` for standard input; others than its owner who may read it are warned of. Raises
    :class:`KeyMaterialError` where it can't be read."""
    try:
        raw = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        by_root = f"`sudo cat {file} | slinky keys import … --file -` reads it as root"
        advice = by_root if isinstance(error, PermissionError) else "Name the file of the key"
        raise KeyMaterialError(f"{file}: can't be read ({error.strerror}); nothing was imported. {advice}") from None
    if _readable_by_others(file):
        print(f"warning: {file} can be read by others than its owner: `chmod 600 {file}`", file=sys.stderr)
    return raw


def read_key(key: Key, file: Path, *, allow_trailing_newline: bool) -> bytes:
    """A key from a file, ``-`` for standard input. Raises :class:`KeyMaterialError` where it isn't one of this kind."""
    return key.form.whole(str(file), read_bytes(file), allow_trailing_newline=allow_trailing_newline)


def _readable_by_others(file: Path) -> bool:
    """Whether anybody but the owner may read a file; False where it can't be told."""
    try:
        return bool(stat.S_IMODE(file.stat().st_mode) & (stat.S_IRGRP | stat.S_IROTH))
    except OSError:
        return False
