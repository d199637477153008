"""What the lab needs from Debian sid, against what was got. sid moves, so every new root file system is judged.

The operator (1.0 to 1.2) speaks REST v0.0.44 only, which Slurm 25.11 and newer serve
(`slurmrestd -d list` names the data parsers that are there); auth/slurm and auth/jwt are plugins.
"""

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MINIMUM = (25, 11)
REST = "v0.0.44"
PLUGINS = ("auth_slurm", "auth_jwt", "accounting_storage_mysql", "accounting_storage_slurmdbd", "proctrack_linuxproc")
PROGRAMS = (
    "slurmctld", "slurmd", "slurmdbd", "slurmrestd", "sackd", "srun", "sbatch", "scontrol", "sacctmgr",
    "mariadbd", "sshd", "tini", "curl", "ip",
)  # fmt: skip
PLUGIN_FILES = "usr/lib/*-linux-gnu/slurm*/*.so"
SLURM_UID = 401


@dataclass(frozen=True)
class Got:
    """What a root file system holds: the outputs of its own programs, its plugins, its programs, its slurm user."""

    version: str
    parsers: frozenset[str]
    plugins: frozenset[str]
    programs: frozenset[str]
    slurm_uid: int | None


def faults(got: Got) -> list[str]:
    """Every need that is not met, with what was got; empty when the root file system will do."""
    found: list[str] = []
    numbers = tuple(int(part) for part in re.findall(r"\d+", got.version)[:2])
    if numbers < MINIMUM:
        found.append(f"Slurm is {got.version.strip() or 'of unknown version'}; 25.11 or newer is needed (REST {REST})")
    if REST not in got.parsers:
        found.append(f"slurmrestd serves {_listed(got.parsers)}; the operator speaks {REST} only")
    found += [f"plugin {name}.so is not there" for name in PLUGINS if name not in got.plugins]
    found += [f"program {name} is not there" for name in PROGRAMS if name not in got.programs]
    if got.slurm_uid != SLURM_UID:
        found.append(f"user slurm has uid {got.slurm_uid}; auth/slurm needs {SLURM_UID} on every host (Slinky's images)")
    return found


def look(root: Path) -> Got:
    """Ask the programs under `root` what they are (chroot; nothing is changed)."""
    passwd = (line.split(":") for line in (root / "etc/passwd").read_text().splitlines())
    uid = next((int(fields[2]) for fields in passwd if fields[0] == "slurm"), None)
    there = {file.name for folder in ("usr/sbin", "usr/bin") for file in (root / folder).iterdir()}
    listed = _said(root, "slurmrestd", "-d", "list")
    return Got(
        version=_said(root, "slurmctld", "-V"),
        parsers=frozenset(re.findall(r"v\d+\.\d+\.\d+", listed)),
        plugins=frozenset(file.stem for file in root.glob(PLUGIN_FILES)),
        programs=frozenset(PROGRAMS) & there,
        slurm_uid=uid,
    )


def _said(root: Path, *argv: str) -> str:
    done = subprocess.run(["chroot", str(root), *argv], capture_output=True, text=True, check=False, timeout=60)
    return done.stdout + done.stderr


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "no REST version"
