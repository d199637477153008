"""No page, no message and no docstring has a word that CONTRIBUTING.md rules out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.stacks import ROOT
from tests.tree import nodes, tracked

WORDS = (
    *("nobody", "whoever", "anew", "is told", "are told", "given up", "by itself", "of no account", "who wants"),
    *("stand in", "stands in", "and kin"),
)
ROOMS = ("slinky_iac", "components", "policies", "lab")
WRITTEN = ("slinky_iac", "components", "policies", "examples", "templates", "docs")
PAGES = tuple(path for path in tracked() if path.suffix == ".md")
MODULES = tuple(path for path in tracked() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in ROOMS)
FILES = tuple(
    path
    for path in tracked()
    if path.suffix in (".sh", ".yaml", ".txt", ".html", ".toml", ".json") and path.relative_to(ROOT).parts[0] in WRITTEN
)
"""Scripts, templates and examples: people read what they print and their comments."""
CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]*`|=nobody\b", re.DOTALL | re.MULTILINE)
"""Names and output: what a program prints is corrected in the program."""
LIST = re.compile(r"^## Words\n.*?(?=^## )", re.DOTALL | re.MULTILINE)
"""The section of CONTRIBUTING.md that names them, and what to write instead."""


WORD = re.compile(r"\b(?:" + "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in WORDS) + r")\b", re.IGNORECASE)
INSTEAD = "CONTRIBUTING.md, Words, says what to write instead"


def found(text: str) -> list[str]:
    if "`" not in text and not WORD.search(text):  # where no code is cut out, no word comes together
        return []
    return WORD.findall(LIST.sub("", CODE.sub("", text)))


def by_name(faults: dict[Path, list]) -> dict[str, list]:
    """The files that have some of the words, with them."""
    return {path.relative_to(ROOT).as_posix(): words for path, words in faults.items() if words}


def test_a_page_has_none_of_the_words() -> None:
    assert by_name({page: found(page.read_text()) for page in PAGES}) == {}, INSTEAD


def test_a_text_of_the_program_has_none_of_the_words() -> None:
    said = {path: [(line, word) for line, text in texts(path) for word in found(text)] for path in MODULES}
    assert by_name(said) == {}, INSTEAD


def test_a_script_a_template_or_an_example_has_none_of_the_words() -> None:
    assert by_name({path: found(path.read_text()) for path in FILES}) == {}, INSTEAD


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Texts of a module with their lines: messages and docstrings."""
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def test_contributing_lists_the_words() -> None:
    (listed,) = LIST.findall((ROOT / "CONTRIBUTING.md").read_text())
    assert [word for word in WORDS if f'"{word}"' not in listed] == []


def test_names_and_output_are_not_counted() -> None:
    assert found("`nobody`\n\n```\nis told\n```\n") == []
    assert found("Nobody is\ntold") == ["Nobody", "is\ntold"]
