"""`slinky check`: which files, what is printed, and an exit code for CI and for hooks of git."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from slinky_iac.commands import output
from slinky_iac.commands.check.judge import judge
from slinky_iac.commands.output import FOUND, Paint, wants_colour
from slinky_iac.config.findings import Level
from slinky_iac.config.stack_file import Place, project_of, text_of
from slinky_iac.errors import StateError

HELP = "check a stack's file: errors and findings with their lines and YAML to paste; offline: no stack, no cluster"
_SHADES: Final = {Level.ERROR: "red", Level.WARNING: "yellow", Level.INFO: "cyan"}
_WORDS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "note"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.epilog = (
        "exit codes: 0 no error; 1 a file can't be read, or there is none; 2 wrong arguments; 6 errors (with --strict: or"
        " warnings). A secret that isn't set yet is a warning"
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="Pulumi.<stack>.yaml; by default every one of this folder")
    parser.add_argument("--strict", action="store_true", help="let warnings count as errors, unless they are acknowledged")
    output.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, judge, print. Raises :class:`StateError` where a file can't be read; returns the exit code."""
    files = [Path(name) for name in arguments.files] or sorted(Path().glob("Pulumi.*.yaml"))
    if not files:
        raise StateError(
            "no Pulumi.<stack>.yaml in this folder; name a file, or let `slinky init STACK` write one from the running Slurm"
        )
    found = {file: judge(text_of(file), project_of(file))[1] for file in files}
    if arguments.json:
        print(output.as_json(as_json(found)))
    else:
        paint = Paint(wants_colour(os.environ, tty=sys.stdout.isatty()))
        print("\n".join(line for file, places in found.items() for line in as_text(file, places, paint)))
    bad = {Level.ERROR, Level.WARNING} if arguments.strict else {Level.ERROR}
    open_ = (place.finding for places in found.values() for place in places if not place.finding.reason)
    return FOUND if any(each.level in bad for each in open_) else 0


def as_text(file: Path, places: Sequence[Place], paint: Paint) -> Iterator[str]:
    """Lines that editors and terminals lead from to the place: ``FILE:LINE: error: PATH: what is wrong``."""
    pasted: set[str] = set()
    for place in places:
        each = place.finding
        where = f"{file}:{place.line}" if place.line else str(file)
        if each.reason:
            yield f"{where}: {paint(f'acknowledged: {each} (reason: {each.reason})', 'dim')}"
            continue
        yield f"{where}: {paint(_WORDS[each.level], _SHADES[each.level])}: {each}"
        if each.paste and each.paste not in pasted:
            pasted.add(each.paste)
            yield paint("    paste below config:", "dim")
            yield from (f"      {line}" for line in each.paste.splitlines())
    counts = [f"{count} {word}{'s' * (count > 1)}" for word, count in _counts(places).items() if count]
    if accepted := sum(bool(place.finding.reason) for place in places):
        counts.append(f"{accepted} acknowledged")
    yield f"{file}: {', '.join(counts) or 'sound'}"


def as_json(found: Mapping[Path, Sequence[Place]]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "files": [
            {
                "file": str(file),
                "counts": _counts(places),
                "findings": [
                    {
                        "id": place.finding.id or None,
                        "level": str(place.finding.level),
                        "line": place.line or None,
                        "path": place.finding.path,
                        "message": place.finding.message,
                        "paste": place.finding.paste or None,
                        "acknowledged": place.finding.reason or None,
                    }
                    for place in places
                ],
            }
            for file, places in found.items()
        ],
    }


def _counts(places: Sequence[Place]) -> dict[str, int]:
    open_ = [place.finding.level for place in places if not place.finding.reason]
    return {word: open_.count(level) for level, word in _WORDS.items()}
