"""Making a key, and bringing one that is there into the stack's configuration, byte for byte."""

from __future__ import annotations

from pathlib import Path

from slinky_iac.cluster.connection import connected
from slinky_iac.errors import KeyMaterialError, KubeNotFound, RotationError
from slinky_iac.key_lifecycle import files, material
from slinky_iac.key_lifecycle.engine import Engine
from slinky_iac.key_lifecycle.material import Material
from slinky_iac.key_lifecycle.model import Which
from slinky_iac.keys.raw import check, fingerprint
from slinky_iac.reach import reach

NAMES = {"slurm": "slurmKey", "jwt": "jwtKey"}
"""Configuration value of each key."""


def generate(out: Path) -> str:
    """Make a key in a new file; returns its fingerprint. Raises :class:`KeyMaterialError` where the file can't be made."""
    raw = material.generate()
    files.write_new(out, raw)
    return fingerprint(raw)


def from_secret(found: Material, place: str) -> bytes:
    """The bytes of ``NAMESPACE/SECRET/ENTRY`` in the stack's Kubernetes cluster. Raises what asking it raises."""
    parts = place.split("/")
    if len(parts) != 3 or not all(parts):
        raise ValueError(f"got {place!r}; a Secret's entry is NAMESPACE/SECRET/ENTRY, e.g. slurm/slurm-auth-slurm/slurm.key")
    namespace, name, entry = parts
    with connected(reach(found.config)) as session:
        try:
            data = session.kube.secret_data(namespace, name)
        except KubeNotFound:
            raise KeyMaterialError(f"there is no Secret {namespace}/{name}; nothing was imported") from None
    if entry not in data:
        raise KeyMaterialError(f"Secret {namespace}/{name} has the entries {', '.join(sorted(data))}, not {entry!r}")
    check(place, data[entry], allow_trailing_newline=found.config.keys.allow_trailing_newline)
    return data[entry]


def bring(engine: Engine, found: Material, which: Which, raw: bytes, *, replace: bool) -> str:
    """Make ``raw`` the stack's slurm.key or JWT key; returns its fingerprint.

    Raises :class:`RotationError` where the stack has another one: daemons that run with it would be cut off by the next
    `pulumi up`, unless ``replace`` says that none does.
    """
    name = NAMES[which]
    other = found.keys.get(NAMES["jwt" if which == "slurm" else "slurm"])
    if other == raw:
        raise KeyMaterialError(f"{name}: is the same key as the other one; whoever may sign tokens could then be any daemon")
    rotating = [each for each in found.keys if each.startswith(f"{name}Next") or each.startswith(f"{name}Previous")]
    if rotating:
        raise RotationError(f"{name} is being rotated ({', '.join(rotating)} is set): end that first; nothing was imported")
    if found.keys.get(name, raw) != raw and not replace:
        raise RotationError(
            f"{name}: this stack has another key, {found.fingerprint(name)}, and running daemons may use it: the next"
            f" `pulumi up` would split the cluster. Use `python -m slinky_iac keys rotate {which}`; or give --replace,"
            " where nothing runs with it yet. Nothing was imported"
        )
    if found.keys.get(name) != raw:
        engine.set_key(name, raw)
    return fingerprint(raw)
