"""`slinky new DIR`: a project of a site's own from the template of this release, offline."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from slinky_iac import __version__
from slinky_iac.errors import ProjectError

CODES = "exit codes: 0 made; 1 a file is there already, or can't be written; 2 wrong arguments"
WHEEL: Final = f"slinky_iac-{__version__}-py3-none-any.whl"
"""The file that the template's requirements.txt names."""
FILES: Final = ("Pulumi.yaml", "__main__.py", "requirements.txt", ".gitignore")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="the project's folder; it is created if it doesn't exist")
    wheel = f"{WHEEL}, to copy into DIR/wheels; by default a project made in a checkout is installed from there"
    parser.add_argument("--wheel", type=Path, metavar="FILE", help=wheel)


def shipped(folder: str) -> Path:
    """A folder of this release: in the package where that was installed from a wheel, else in the checkout."""
    library = Path(__file__).parents[1]
    return library / folder if (library / folder).is_dir() else library.parent / folder


def checkout() -> Path | None:
    """The folder of this project's source, where this runs from one; None in an installed package."""
    root = Path(__file__).parents[2]
    return root if (root / "pyproject.toml").is_file() and (root / "templates").is_dir() else None


def require_room(folder: Path, names: Iterable[str], *, beside: Collection[str] | None = None, what: str = "") -> None:
    """Raises :class:`ProjectError` where a folder has one of these already; and with ``beside``, names that may be there,
    where it has any other one: it is somebody else's then. ``what``: what is to be written."""
    if there := [name for name in names if (folder / name).exists()]:
        raise ProjectError(f"{folder}: already has {', '.join(there)}; name another folder. Nothing was changed")
    if beside is None or not folder.is_dir():
        return
    try:
        strange = sorted(path.name for path in folder.iterdir() if path.name not in beside)
    except OSError as wrong:
        raise ProjectError(f"{folder}: can't be read ({wrong.strerror}). Nothing was changed") from None
    if strange:
        raise ProjectError(
            f"{folder}: has {strange[0]}, which isn't a part of {what}; name a new or an empty folder. Nothing was changed"
        )


def run(arguments: argparse.Namespace) -> int:
    """Make the project. Raises :class:`ProjectError` before anything is written; returns the exit code."""
    make(arguments.folder, arguments.wheel)
    print("\n".join(next_steps(arguments.folder, needs_wheel=arguments.wheel is None and checkout() is None)))
    return 0


def make(folder: Path, wheel: Path | None) -> None:
    """Write the template's files and the wheel. No file that is there is changed. Raises :class:`ProjectError`."""
    if wheel is not None and (wheel.name != WHEEL or not wheel.is_file()):
        asked = f"isn't a file of the name {WHEEL}, which requirements.txt asks for"
        raise ProjectError(f"--wheel {wheel}: {asked}; nothing was made")
    require_room(folder, FILES)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            text = (shipped("templates/site") / name).read_text(encoding="utf-8")
            if name == "Pulumi.yaml":
                text = text.partition("template:\n")[0]  # what is behind it `pulumi new` alone reads
            if name == "requirements.txt" and wheel is None and (source := checkout()) is not None:
                text = f"# slinky-iac from this checkout; `slinky new --wheel` makes a project that needs none.\n{source}\n"
            (folder / name).write_text(text, encoding="utf-8")
        if wheel is not None:
            (folder / "wheels").mkdir(exist_ok=True)
            shutil.copyfile(wheel, folder / "wheels" / WHEEL)
    except OSError as wrong:
        raise ProjectError(f"{wrong.filename}: can't be written ({wrong.strerror})") from None


def next_steps(folder: Path, *, needs_wheel: bool) -> list[str]:
    """What to do in the new folder."""
    lines = [f"made {folder}. Next:", f"  cd {folder}"]
    lines += [] if not needs_wheel else [f"  mkdir -p wheels   # and put {WHEEL} into it"]
    return [
        *lines,
        "  pulumi install; . venv/bin/activate",
        "  mkdir -p $HOME/pulumi-state && pulumi login file://$HOME/pulumi-state   # or s3://…, Pulumi Cloud …",
        "  (umask 077; set -C; head -c 24 /dev/urandom | base64 > $HOME/.slinky-passphrase)   # once; it encrypts the keys",
        "  export PULUMI_CONFIG_PASSPHRASE_FILE=$HOME/.slinky-passphrase",
        "  slinky init prod --slurmctld HOST --via 'ssh root@{host} sh -s'   # writes Pulumi.prod.yaml, imports both keys",
        "  # without ssh: slinky init prod --show-config FILE; FILE has what `scontrol show config` prints",
        "  # edit Pulumi.prod.yaml: the lines with DECIDE, more NodeSets, GPUs, kubernetes.context",
        "  slinky check",
        "  slinky handoff --role slurmctld --role slurmdbd --out handoff   # what the Slurm admin has to add",
        "  slinky preflight --via 'ssh root@{host} sh -s'   # do both halves fit?",
        "  pulumi preview",
        "  pulumi up",
        "The manual: slinky docs, for example slinky docs quick-start",
    ]
