"""Slurm of another release, which the user has built, in place of Debian's: `lab up --slurm DIR`.

Debian sid has one release of Slurm. DIR is what `make install DESTDIR=DIR` gives: its daemons, commands and plugins take the
place of Debian's on the outside hosts and in the image. Nothing of DIR is built or kept here.
"""

import hashlib
import re
from pathlib import Path
from typing import Final

from lab.errors import LabError
from lab.given import Given

VERSION: Final = "usr/include/slurm/slurm_version.h"
DEBIANS: Final = "26.05"
"""Debian's release, which Pulumi.dev.yaml names."""
DAEMONS: Final = ("slurmctld", "slurmd", "slurmdbd", "slurmrestd", "sackd")
FOLDER: Final = Given(
    "SLINKY_LAB_SLURM",
    "slurm-programs",
    (*(f"usr/sbin/{name}" for name in DAEMONS), "usr/bin/scontrol", VERSION),
    "be what `make install DESTDIR=DIR` gives of a Slurm that was built on Debian sid with --prefix=/usr,"
    " --sysconfdir=/etc/slurm, Debian's --libdir, slurmrestd and auth/jwt",
)


def folder() -> Path | None:
    """The folder that the user names, or None. Raises LabError where it lacks something."""
    return FOLDER.folder(FOLDER.named())


def digest() -> str:
    """Twelve hex digits of what the folder holds, by names, sizes and times; ``""`` where none is named."""
    found = folder()
    if found is None:
        return ""
    files = sorted(path for path in found.rglob("*") if path.is_file())
    said = [f"{path.relative_to(found)} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:12]


def version() -> str:
    """The version of the user's Slurm, ``25.11.7``. Raises LabError where its folder doesn't say one."""
    found = folder()
    header = "" if found is None else (found / VERSION).read_text()
    number = re.search(r"^#define SLURM_VERSION_NUMBER\s+0x([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$", header, re.MULTILINE)
    if number is None:
        raise LabError(f"{FOLDER.named()}/{VERSION} has no SLURM_VERSION_NUMBER. Nothing was started")
    year, month, patch = (int(part, 16) for part in number.groups())
    return f"{year}.{month:02}.{patch}"


def release() -> str:
    """The release that the lab runs, ``25.11``. Raises LabError where the user's folder doesn't say one."""
    return DEBIANS if folder() is None else version().rpartition(".")[0]


def in_settings(text: str) -> str:
    """The text of a file of settings with this release in place of Debian's."""
    return text.replace(f'slurmVersion: "{DEBIANS}"', f'slurmVersion: "{release()}"')
