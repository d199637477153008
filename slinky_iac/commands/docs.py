"""`slinky docs`: the manual's pages, from the installed package."""

from __future__ import annotations

import argparse
import difflib
import re
from pathlib import Path
from typing import Final

from slinky_iac.commands.new import shipped
from slinky_iac.errors import ProjectError
from slinky_iac.text import printable

CODES = "exit codes: 0 printed; 1 there is no such page or heading; 2 wrong arguments"
_HEADING: Final = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_BLOCK: Final = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
"""A block of code, whose comments look like headings."""
_TITLE: Final = re.compile(r"^# (.+)$", re.MULTILINE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("page", nargs="?", metavar="PAGE", help="its name, such as keys; by default all are listed")
    parser.add_argument("heading", nargs="?", metavar="HEADING", help="words of one of its headings: that part alone")


def pages() -> dict[str, Path]:
    """All pages by name."""
    return {each.stem: each for each in sorted(shipped("docs").glob("*.md"))}


def run(arguments: argparse.Namespace) -> int:
    """Print a page. Raises :class:`ProjectError` where there is none; returns the exit code."""
    found = pages()
    if arguments.page is None:
        print("\n".join(f"{name:<20} {_TITLE.search(each.read_text())[1]}" for name, each in found.items()))  # type: ignore[index]
        return 0
    name = Path(arguments.page).stem if arguments.page.endswith(".md") else arguments.page
    if name not in found:
        near = difflib.get_close_matches(name, found, n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise ProjectError(f"there is no page {printable(name)}; {meant}`slinky docs` lists all")
    text = found[name].read_text()
    print(text if arguments.heading is None else part(text, arguments.heading, name), end="")
    return 0


def headings(text: str) -> list[re.Match[str]]:
    """The headings of a page: marks, words and where each begins. A comment in a block of code is none."""
    plain = _BLOCK.sub(lambda block: " " * len(block[0]), text)
    return list(_HEADING.finditer(plain))


def part(text: str, heading: str, page: str) -> str:
    """A page from the first heading that has these words to the next of its rank. Raises :class:`ProjectError`."""
    heads = headings(text)
    wanted = re.sub(r"\W+", " ", heading.lower()).strip()
    start = next((each for each in heads if wanted in re.sub(r"\W+", " ", each[2].lower())), None)
    if start is None:
        raise ProjectError(
            f"page {page} has no heading with {printable(heading)!r}; `slinky docs {page} | grep '^#'` lists them"
        )
    end = next((each for each in heads if each.start() > start.start() and len(each[1]) <= len(start[1])), None)
    return text[start.start() : end.start() if end else len(text)].rstrip("\n") + "\n"
