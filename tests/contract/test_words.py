"""No page, message or docstring has a word that CONTRIBUTING.md rules out, and a variable has the noun of what it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.stacks import ROOT
from tests.tree import nodes, python_modules, tracked

WORDS = (
    *("nobody", "whoever", "anew", "is told", "are told", "given up", "by itself", "of no account", "who wants"),
    *("stand in", "stands in", "and kin"),
)
ROOMS = ("slinky_iac", "components", "policies", "lab")
WRITTEN = ("slinky_iac", "components", "policies", "examples", "templates", "docs")
SHIPPED = tuple(
    path
    for path in python_modules()
    if path.relative_to(ROOT).parts[0] in ("__main__.py", "slinky_iac", "components", "policies")
)
NAMELESS = frozenset({"each", "found"})
"""Names of variables that say nothing of what is in them."""
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


def variables(tree: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """What code binds as variables, with its lines: by assignments, loops, comprehensions, parameters and patterns."""
    for node in tree:
        match node:
            case ast.Name(id=name, ctx=ast.Store(), lineno=line) | ast.arg(arg=name, lineno=line):
                yield line, name
            case ast.ExceptHandler(name=str(name), lineno=line) | ast.MatchAs(name=str(name), lineno=line):
                yield line, name
            case ast.MatchStar(name=str(name), lineno=line) | ast.MatchMapping(rest=str(name), lineno=line):
                yield line, name


def test_a_variable_has_the_noun_of_what_it_is() -> None:
    bound = {path: [(line, name) for line, name in variables(nodes(path)) if name in NAMELESS] for path in SHIPPED}
    assert len(bound) > 500, "the code that users get"
    assert by_name(bound) == {}, "CONTRIBUTING.md, House rules: name it by what it is, as node, problems or match"


@pytest.mark.parametrize(
    "code",
    [
        "{} = 1",
        "{}: int = 1",
        "a, *{} = row",
        "({} := 1)",
        "for {} in rows: pass",
        "[1 for a, {} in rows]",
        "with file as {}: pass",
        "def call({}): pass",
        "def call(*{}): pass",
        "lambda {}: 1",
        "try: pass\nexcept OSError as {}: pass",
        "match row:\n case {}: pass",
        "match row:\n case [*{}]: pass",
        "match row:\n case {{'a': 1, **{}}}: pass",
    ],
)
def test_each_way_to_bind_a_variable_is_seen(code: str) -> None:
    assert "found" in [name for _, name in variables(ast.walk(ast.parse(code.format("found"))))]


def test_what_is_no_variable_is_not_counted() -> None:
    said = "def each(self): return self.found(each=found)\ngate.found = {'each': 1}"
    assert [name for _, name in variables(ast.walk(ast.parse(said)))] == ["self"]


def test_contributing_lists_the_words() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (listed,) = LIST.findall(text)
    assert [word for word in WORDS if f'"{word}"' not in listed] == []
    assert [name for name in NAMELESS if f"`{name}`" not in text] == []


def test_names_and_output_are_not_counted() -> None:
    assert found("`nobody`\n\n```\nis told\n```\n") == []
    assert found("Nobody is\ntold") == ["Nobody", "is\ntold"]
