"""`slinky docs`: the manual's pages, from the installed package, and the row of a message."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from slinky_iac.commands.new import shipped
from slinky_iac.errors import ProjectError
from slinky_iac.text import closest, printable

CODES = "exit codes: 0 printed; 1 no page, row or heading has these words; 2 wrong arguments"
_HEADING: Final = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_BLOCK: Final = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
"""A block of code, whose comments look like headings."""
_MOST: Final = 3
"""Pages that are named where a word is none."""
_ROWS: Final = ("on-call", "troubleshooting")
"""Pages whose tables have a row for each thing that is seen or said."""
_BAR: Final = re.compile(r"(?<!\\)\|")
_RULE: Final = re.compile(r"\|[-| :]+\|$")
"""The line below a table's titles."""
_BAR_IN_A_CELL: Final = re.compile(r"\\(?=\|)")
"""The backslash that Markdown wants before a bar of a table's cell: in a command to paste it is too much."""
_LINK: Final = re.compile(r"\[([^\]]*)\]\(([\w./-]*)(?:#([\w-]+))?\)")
_BETWEEN: Final = re.compile(r"…|<[^>]*>|\(…\)|\b\d+\b")
"""What a quoted message has in place of a name or a number."""
_LEAST: Final = 12
"""Characters of a quoted message that a longer text must have, to be that message."""
_SMALL: Final = re.compile(
    "a|an|and|are|at|by|for|from|has|have|in|is|isn|it|its|of|on|or|s|t|that|the|to|was|were|with", re.ASCII
)
"""Words that say nothing of what a message is about."""
_TABLE: Final = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
_WIDEST: Final = 140
"""Characters of a table's line up to which it is printed as it is."""
_TITLE: Final = re.compile(r"^# (.+)$", re.MULTILINE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    page = "its name, such as keys, or words of a message, whose row is printed; by default all are listed"
    parser.add_argument("page", nargs="?", metavar="PAGE", help=page)
    of_it = "words of one of its headings: that part alone. Or more words of the message"
    parser.add_argument("words", nargs="*", metavar="WORDS", help=of_it)


def pages() -> dict[str, Path]:
    """All pages by name."""
    return {path.stem: path for path in sorted(shipped("docs").glob("*.md"))}


def run(arguments: argparse.Namespace) -> int:
    """Print a page. Raises :class:`ProjectError` where there is none; returns the exit code."""
    paths = pages()
    if arguments.page is None:
        print("\n".join(f"{name:<20} {_TITLE.search(path.read_text())[1]}" for name, path in paths.items()))  # type: ignore[index]
        return 0
    name = Path(arguments.page).stem if arguments.page.endswith(".md") else arguments.page
    every, heading = " ".join((name, *arguments.words)), " ".join(arguments.words)
    if name not in paths:
        print("\n".join(_without_a_page(every, paths)))
        return 0
    text = _BAR_IN_A_CELL.sub("", paths[name].read_text())
    try:
        texts = {at: page.read_text() for at, page in paths.items()} if heading else {}
        print(readable(part(text, heading, name), name, texts) if heading else text, end="")
    except ProjectError:  # a message may begin with a page's name
        having = [row for page in _ROWS for row in rows(page, paths[page].read_text()) if row.is_of(every)]
        if not having:
            raise
        print("\n".join(_without_a_page(every, paths)))
    return 0


def _without_a_page(words: str, paths: Mapping[str, Path]) -> Iterator[str]:
    """What is known of words that aren't a page's name. Raises :class:`ProjectError` where that is nothing."""
    texts = {at: page.read_text() for at, page in paths.items()}
    every = [row for page in _ROWS for row in rows(page, texts[page])]
    having = [row for row in every if row.is_of(words)] or [row for row in every if row.has_all(words)][:_MOST]
    shown = {f"{row.page} {shlex.quote(row.heading)}" for row in having}
    elsewhere = [f"slinky docs {place}" for place in places(words, texts) if place not in shown]
    near = closest(words, paths)
    if not having and not elsewhere:
        meant = f"did you mean {near}? " if near else ""
        raise ProjectError(
            f"there is no page {printable(words)}, and no page has these words; {meant}`slinky docs` lists all pages."
            " Of a message give a few words without names and numbers"
        )
    for row in having:
        yield from (*row.shown(texts), "")
    if near:
        yield f"Did you mean the page? slinky docs {near}"
    if elsewhere:
        yield f"{printable(words)} is on these pages{' too' if having else ''}:"
        yield from elsewhere


@dataclass(frozen=True)
class Row:
    """A row of a page's table."""

    page: str
    heading: str
    titles: tuple[str, ...]
    cells: tuple[str, ...]

    def is_of(self, words: str) -> bool:
        """Whether its first cell has these words, or quotes a message that they have."""
        wanted = _plain(words)
        if not wanted:
            return False
        if re.search(rf"\b{re.escape(wanted)}\b", _plain(self.cells[0])):
            return True
        return any(_quotes(quote, wanted) for quote in re.findall(r"`([^`]+)`", self.cells[0]))

    def has_all(self, words: str) -> bool:
        """Whether its first cell has each of these words, wherever; those that any sentence has don't count."""
        wanted = {word for word in _plain(words).split() if _SMALL.fullmatch(word) is None}
        return bool(wanted) and wanted <= {*_plain(self.cells[0]).split()}

    def shown(self, texts: Mapping[str, str]) -> Iterator[str]:
        """Its cells, each on one line, so that no command is broken. A link is the command that prints its page."""
        yield f"{self.page}, {self.heading}"
        for title, cell in zip(self.titles, self.cells, strict=True):
            yield f"  {title}: {_LINK.sub(lambda link: _printed(link, self.page, texts), cell)}"


def readable(text: str, page: str, texts: Mapping[str, str]) -> str:
    """A part of a page, each table that is wider than a screen as its rows, with a line a cell."""

    def shown(table: re.Match[str]) -> str:
        if max(map(len, table[0].splitlines())) <= _WIDEST:
            return table[0]
        return "\n".join("\n".join(list(row.shown(texts))[1:]) + "\n" for row in rows(page, f"# {page}\n{table[0]}"))

    return _TABLE.sub(shown, text)


def rows(page: str, text: str) -> Iterator[Row]:
    """All rows of a page's tables."""
    heads, lines, at = headings(text), text.splitlines(keepends=True), 0
    titles: tuple[str, ...] = ()
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("|"):
            cells = tuple(_BAR_IN_A_CELL.sub("", cell.strip()) for cell in _BAR.split(line.strip())[1:-1])
            if _RULE.match(below):
                titles = cells
            elif not _RULE.match(line):
                heading = next(head[2] for head in reversed(heads) if head.start() <= at)
                yield Row(page, heading, titles, cells)
        at += len(line)


def anchor(heading: str) -> str:
    """The address of a heading in its page, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _quotes(message: str, wanted: str) -> bool:
    """Whether plain words have each piece of a quoted message, in its order."""
    pieces = [plain for piece in _BETWEEN.split(message) if (plain := _plain(piece))]
    if sum(map(len, pieces)) < _LEAST:
        return False
    return re.search(r"\b.*\b".join(map(re.escape, pieces)), wanted) is not None


def _printed(link: re.Match[str], page: str, texts: Mapping[str, str]) -> str:
    """A link's words with the command that prints what it leads to."""
    name = Path(link[2]).stem if link[2] else page
    if "/" in link[2] or name not in texts:
        return link[1]
    if link[3] is None:
        return f"{link[1]} (`slinky docs {name}`)"
    heading = next((head[2] for head in headings(texts[name]) if anchor(head[2]) == link[3]), "")
    words = max(re.split(r"\w*'\w*\s*", re.sub(r"[`<>]", "", heading)), key=len).strip()  # a shell's quotes frighten
    return f"{link[1]} (`slinky docs {name} {shlex.quote(words)}`)"


def headings(text: str) -> list[re.Match[str]]:
    """The headings of a page: marks, words and where each begins. A comment in a block of code is none."""
    plain = _BLOCK.sub(lambda block: " " * len(block[0]), text)
    return list(_HEADING.finditer(plain))


def places(word: str, texts: Mapping[str, str]) -> list[str]:
    """Arguments of `slinky docs` that print a part with this word, at most one a page: those first whose heading has
    it, then those with the most of it. ``texts``: the pages by name."""
    wanted = _plain(word)
    plural = "s?" if len(wanted) > len("ha") else ""  # `has` is no plural of HA
    whole = re.compile(rf"\b{re.escape(wanted)}{plural}\b") if wanted else re.compile(r"(?!)")
    hits: list[tuple[bool, int, str]] = []
    for page, text in texts.items():
        heads = headings(text)
        ends = [*(head.start() for head in heads[1:]), len(text)]
        counts = [
            (bool(whole.search(_plain(head[2]))), len(whole.findall(_plain(text[head.start() : end]))), head)
            for head, end in zip(heads, ends, strict=True)
        ]
        titled, count, best = max(counts, key=lambda candidate: candidate[:2])
        if count:
            words = re.sub(r"[^\w ./:,<>-]+", " ", re.sub(r"\\(?=[<>])", "", best[2])).strip()
            hits.append((titled, count, page if len(best[1]) == 1 else f"{page} {shlex.quote(words)}"))
    hits.sort(key=lambda hit: hit[:2], reverse=True)
    return [command for _, _, command in hits[:_MOST]]


def _plain(text: str) -> str:
    """The words of a text, in small letters, with one blank between them."""
    return re.sub(r"\W+", " ", text.lower()).strip()


def part(text: str, heading: str, page: str) -> str:
    """A page from the heading of these words to the next of its rank: from the one that has no others, else from the first
    that has them. Raises :class:`ProjectError`."""
    heads = headings(text)
    wanted = _plain(heading)
    having = [head for head in heads if wanted in _plain(head[2])]
    start = next((head for head in having if wanted == _plain(head[2])), next(iter(having), None))
    if start is None:
        raise ProjectError(
            f"page {page} has no heading with {printable(heading)!r}; `slinky docs {page} | grep '^#'` lists them"
        )
    end = next((head for head in heads if head.start() > start.start() and len(head[1]) <= len(start[1])), None)
    return text[start.start() : end.start() if end else len(text)].rstrip("\n") + "\n"
