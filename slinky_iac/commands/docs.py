"""`slinky docs`: the manual's pages, from the installed package."""

from __future__ import annotations

import argparse
import difflib
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from slinky_iac.commands.new import shipped
from slinky_iac.errors import ProjectError
from slinky_iac.text import printable

CODES = "exit codes: 0 printed; 1 there is no such page or heading; 2 wrong arguments"
_HEADING: Final = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_BLOCK: Final = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
"""A block of code, whose comments look like headings."""
_MOST: Final = 3
"""Pages that are named where a word is none."""
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
        has = ", ".join(
            f"`slinky docs {each}`" for each in places(arguments.page, {at: page.read_text() for at, page in found.items()})
        )
        seen = f"the word is in {has}; " if has else ""
        raise ProjectError(f"there is no page {printable(name)}; {meant}{seen}`slinky docs` lists all")
    text = found[name].read_text()
    print(text if arguments.heading is None else part(text, arguments.heading, name), end="")
    return 0


def headings(text: str) -> list[re.Match[str]]:
    """The headings of a page: marks, words and where each begins. A comment in a block of code is none."""
    plain = _BLOCK.sub(lambda block: " " * len(block[0]), text)
    return list(_HEADING.finditer(plain))


def places(word: str, texts: Mapping[str, str]) -> list[str]:
    """Arguments of `slinky docs` that print a part with this word, at most one a page: those first whose heading has
    it, then those with the most of it. ``texts``: the pages by name."""
    wanted = _plain(word)
    whole = re.compile(rf"\b{re.escape(wanted)}s?\b") if wanted else re.compile(r"(?!)")
    found: list[tuple[bool, int, str]] = []
    for page, text in texts.items():
        heads = headings(text)
        ends = [*(each.start() for each in heads[1:]), len(text)]
        counts = [
            (bool(whole.search(_plain(head[2]))), len(whole.findall(_plain(text[head.start() : end]))), head)
            for head, end in zip(heads, ends, strict=True)
        ]
        titled, count, best = max(counts, key=lambda each: each[:2])
        if count:
            words = re.sub(r"[^\w ./:,<>-]+", " ", re.sub(r"\\(?=[<>])", "", best[2])).strip()
            found.append((titled, count, page if len(best[1]) == 1 else f"{page} {shlex.quote(words)}"))
    found.sort(key=lambda each: each[:2], reverse=True)
    return [command for _, _, command in found[:_MOST]]


def _plain(text: str) -> str:
    """The words of a text, in small letters, with one blank between them."""
    return re.sub(r"\W+", " ", text.lower()).strip()


def part(text: str, heading: str, page: str) -> str:
    """A page from the heading of these words to the next of its rank: from the one that has no others, else from the first
    that has them. Raises :class:`ProjectError`."""
    heads = headings(text)
    wanted = _plain(heading)
    having = [each for each in heads if wanted in _plain(each[2])]
    start = next((each for each in having if wanted == _plain(each[2])), next(iter(having), None))
    if start is None:
        raise ProjectError(
            f"page {page} has no heading with {printable(heading)!r}; `slinky docs {page} | grep '^#'` lists them"
        )
    end = next((each for each in heads if each.start() > start.start() and len(each[1]) <= len(start[1])), None)
    return text[start.start() : end.start() if end else len(text)].rstrip("\n") + "\n"
