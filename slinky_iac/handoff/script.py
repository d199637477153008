"""The check that each role runs on itself: a shell script with no more of ``check.sh`` than it needs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from slinky_iac.handoff.model import Sheet
from slinky_iac.host_shell import TRUSTED

LIBRARY = Path(__file__).with_name("check.sh")


def words(call: tuple[str, ...]) -> str:
    """A call of a shell function, every word quoted where it must be."""
    return " ".join(shlex.quote(word) for word in call)


def functions_for(calls: Iterable[str]) -> str:
    """The part of the library that ``calls`` need: its head and the functions named, with those that they name in turn.

    User data of a cloud has little room, so a script holds no more than it uses.
    """
    head, *pieces = re.split(r"(?m)^(?=\w+\(\) \{)", f"{LIBRARY.read_text()}\n{TRUSTED}")
    bodies = {piece.split("(", 1)[0]: piece for piece in pieces}
    used: set[str] = set()
    wanted = set(calls)
    while wanted:
        used |= wanted
        mentioned = {word for name in wanted for word in re.findall(r"\w+", bodies[name])}
        wanted = (mentioned & bodies.keys()) - used
    return head + "".join(body for name, body in bodies.items() if name in used)


def check_script(sheet: Sheet, cluster: str) -> str:
    """The whole check of a role: the functions, then one line a thing that must hold."""
    calls = "".join(f"{words(call)}\n" for call in sheet.checks)
    listing = f" With --missing only the lines to add to {sheet.edits} are printed." if sheet.edits else ""
    return f"""\
#!/bin/bash
# Is this host a {sheet.role} of the Slurm cluster {cluster}, as its stack says?{listing}
# Made by `python -m slinky_iac handoff`. Run it as root.
set -uf
{functions_for(call[0] for call in sheet.checks)}
{calls}
exit "$wrong"
"""
