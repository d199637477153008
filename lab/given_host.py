"""Pulumi's official language host, in place of the stand-ins: `lab up --language-host DIR`, `lab tools --language-host DIR`.

DIR holds the three files that come with an official `pulumi`. No package registry serves them: take them from a release, or
build the host from Pulumi's repository, `sdk/python/cmd/pulumi-language-python` at the tag of the engine, and copy the two
scripts beside it. An engine looks for them beside itself, so it gets a folder with all four. Nothing of DIR is kept.
"""

import hashlib
import shutil
from pathlib import Path
from typing import Final

from lab import paths
from lab.given import Given
from lab.standins.install import BUNDLED, Link, install

HOST: Final = Given(
    "SLINKY_LAB_LANGUAGE_HOST",
    "language-host",
    BUNDLED,
    f"hold {BUNDLED[0]}, built from Pulumi's repository at the engine's tag, and beside it the two scripts of that tag",
)


def beside(pulumi: Path) -> Path:
    """The folder from which an engine is to be started: its own, or one that holds it and the user's language host. Raises
    LabError where the user's folder lacks one of the three files."""
    own = pulumi.resolve()
    folder = HOST.folder(HOST.named())
    if folder is None:
        return own.parent
    key = hashlib.sha256(f"{own}\0{folder}".encode()).hexdigest()[:12]
    made = paths.CACHE / "pulumi-with-host" / key
    made.mkdir(parents=True, exist_ok=True)
    _same(own, made / "pulumi")
    install([Link(made / name, folder / name) for name in BUNDLED])
    return made


def _same(file: Path, at: Path) -> None:
    """A hard link, or a copy: a symbolic one would lead the engine back to its own folder."""
    if at.exists() and at.samefile(file):
        return
    new = at.with_name(f".{at.name}.new")
    new.unlink(missing_ok=True)
    try:
        new.hardlink_to(file)
    except OSError:
        shutil.copy2(file, new)
    new.replace(at)
