"""No page has a word that CONTRIBUTING.md rules out, but for those that were there before and may only become fewer."""

from __future__ import annotations

import re

import pytest

from tests.stacks import ROOT
from tests.tree import tracked

WORDS = (
    *("nobody", "whoever", "anew", "is told", "are told", "given up", "by itself", "of no account", "who wants"),
    *("stand in", "stands in", "and kin"),
)
LEFT: dict[str, int] = {
    "docs/configuration.md": 6,
    "docs/outside-hosts.md": 2,
    "docs/policies.md": 14,
}
"""How many of these words a page may still have; a page that isn't listed has none. Lower a number, never raise it."""
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in tracked() if path.suffix == ".md"}
CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
"""Names and output: what a program prints is corrected in the program."""
LIST = re.compile(r"^## Words\n.*?(?=^## )", re.DOTALL | re.MULTILINE)
"""The section of CONTRIBUTING.md that names them, and what to write instead."""


def found(text: str) -> list[str]:
    prose = LIST.sub("", CODE.sub("", text))
    words = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in WORDS)
    return re.findall(rf"\b(?:{words})\b", prose, re.IGNORECASE)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_no_more_of_the_words_than_recorded(page: str) -> None:
    words = found(PAGES[page])
    assert len(words) <= LEFT.get(page, 0), f"{page} has {words}; CONTRIBUTING.md, Words, says what to write instead"


def test_every_recorded_page_is_there_and_has_some_of_the_words() -> None:
    assert set(LEFT) <= set(PAGES)
    assert all(LEFT.values())


def test_contributing_lists_the_words() -> None:
    (listed,) = LIST.findall(PAGES["CONTRIBUTING.md"])
    assert [word for word in WORDS if f'"{word}"' not in listed] == []


def test_names_and_output_are_not_counted() -> None:
    assert found("`nobody`\n\n```\nis told\n```\n") == []
    assert found("Nobody is\ntold") == ["Nobody", "is\ntold"]
