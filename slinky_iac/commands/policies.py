"""`slinky policies DIR`: the policy pack of this release in a folder of its own, offline."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Final

from slinky_iac.commands.new import require_room, shipped
from slinky_iac.errors import ProjectError

CODES = "exit codes: 0 written; 1 the folder has one already, or can't be written; 2 wrong arguments"
FILES: Final = (
    *("PulumiPolicy.yaml", "__main__.py", "requirements.txt", "requirements.lock"),
    *("site.example.json", "site.schema.json"),
)
RULES: Final = "slurm_rules"
"""The package with the rules, beside the files."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="the pack's folder; it is created if it doesn't exist")


def run(arguments: argparse.Namespace) -> int:
    """Write the pack. Raises :class:`ProjectError` before anything is written; returns the exit code."""
    write(arguments.folder)
    print("\n".join(next_steps(arguments.folder)))
    return 0


def write(folder: Path) -> None:
    """Copy the pack. No file that is there is changed. Raises :class:`ProjectError`."""
    require_room(folder, (*FILES, RULES))
    pack = shipped("policies")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            shutil.copyfile(pack / name, folder / name)
        shutil.copytree(pack / RULES, folder / RULES, ignore=shutil.ignore_patterns("__pycache__"))
    except (OSError, shutil.Error) as wrong:
        raise ProjectError(f"{folder}: can't be written ({getattr(wrong, 'strerror', None) or wrong})") from None


def next_steps(folder: Path) -> list[str]:
    """What to do with the new folder."""
    return [
        f"wrote the policy pack to {folder}. Next:",
        f"  python3 -m venv {folder}/venv",
        f"  {folder}/venv/bin/pip install --require-hashes -r {folder}/requirements.lock",
        f"  cp {folder}/site.example.json {folder}/site.json   # your site's levels and bounds",
        f"  pulumi preview --policy-pack {folder} --policy-pack-config {folder}/site.json",
    ]
