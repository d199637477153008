"""No page and no message has a word that CONTRIBUTING.md rules out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.stacks import ROOT
from tests.tree import tracked

WORDS = (
    *("nobody", "whoever", "anew", "is told", "are told", "given up", "by itself", "of no account", "who wants"),
    *("stand in", "stands in", "and kin"),
)
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in tracked() if path.suffix == ".md"}
MODULES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for path in tracked()
    if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in ("slinky_iac", "components", "policies", "lab")
}
FILES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for path in tracked()
    if path.suffix in (".sh", ".yaml", ".txt", ".html", ".toml", ".json")
    and path.relative_to(ROOT).parts[0] in ("slinky_iac", "components", "policies", "examples", "templates", "docs")
}
"""Scripts, templates and examples: people read what they print and their comments."""
CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]*`|=nobody\b", re.DOTALL | re.MULTILINE)
"""Names and output: what a program prints is corrected in the program."""
LIST = re.compile(r"^## Words\n.*?(?=^## )", re.DOTALL | re.MULTILINE)
"""The section of CONTRIBUTING.md that names them, and what to write instead."""


def found(text: str) -> list[str]:
    prose = LIST.sub("", CODE.sub("", text))
    words = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in WORDS)
    return re.findall(rf"\b(?:{words})\b", prose, re.IGNORECASE)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_none_of_the_words(page: str) -> None:
    words = found(PAGES[page])
    assert words == [], f"{page} has {words}; CONTRIBUTING.md, Words, says what to write instead"


@pytest.mark.parametrize("module", MODULES)
def test_a_text_of_the_program_has_none_of_the_words(module: str) -> None:
    words = [(line, word) for line, text in texts(MODULES[module]) for word in found(text)]
    assert words == [], f"{module} has {words}; CONTRIBUTING.md, Words, says what to write instead"


@pytest.mark.parametrize("file", FILES)
def test_a_script_a_template_or_an_example_has_none_of_the_words(file: str) -> None:
    words = found(FILES[file])
    assert words == [], f"{file} has {words}; CONTRIBUTING.md, Words, says what to write instead"


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Texts of a module with their lines: what people may read. Docstrings are for who reads the code."""
    tree = ast.parse(source)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    remarks = {id(each.value) for body in bodies for each in body if isinstance(each, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in remarks:
            yield node.lineno, node.value


def test_docstrings_are_for_who_reads_the_code() -> None:
    source = 'def f():\n    """Nobody."""\n    return "Whoever"\nX = 1\n"""anew"""\n'
    assert [text for _, text in texts(source)] == ["Whoever"]


def test_contributing_lists_the_words() -> None:
    (listed,) = LIST.findall(PAGES["CONTRIBUTING.md"])
    assert [word for word in WORDS if f'"{word}"' not in listed] == []


def test_names_and_output_are_not_counted() -> None:
    assert found("`nobody`\n\n```\nis told\n```\n") == []
    assert found("Nobody is\ntold") == ["Nobody", "is\ntold"]
