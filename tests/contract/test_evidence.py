"""The page that names a test for each finding names tests that exist."""

from __future__ import annotations

import ast
import re

from tests.stacks import ROOT

PAGE = (ROOT / "docs" / "evidence" / "security.md").read_text()
DOCUMENTS = (ROOT / "docs" / "evidence" / "tasks.md").read_text().partition("two documents, line by line")[2]
ROWS = re.findall(r"^\| (\d+) \| .*\| (.*) \|$", PAGE, re.MULTILINE)


def test_every_finding_has_a_row_and_a_test() -> None:
    assert [int(number) for number, _ in ROWS] == list(range(1, 25))
    assert all(re.search(r"`tests/", named) for _, named in ROWS)


def test_every_line_of_the_documents_about_people_has_a_test() -> None:
    rows = re.findall(r"^\| ([^|]*\d[^|]*) \| [^|]* \| (`tests/[^|]*) \|$", DOCUMENTS, re.MULTILINE)
    assert len(rows) == DOCUMENTS.count("\n| ") - 1
    assert all(re.search(r"`test_\w+`", named) for _, named in rows)


def test_every_test_that_is_named_exists() -> None:
    documents = re.findall(r"^\| ([^|]*) \| [^|]* \| (`tests/[^|]*) \|$", DOCUMENTS, re.MULTILINE)
    for number, named in [*ROWS, *documents]:
        file = ""
        for word in re.findall(r"`([^`]+)`", named):
            if word.startswith("tests/"):
                file = word
                assert (ROOT / file).exists(), (number, word)
            elif word.startswith("test_"):
                tree = ast.parse((ROOT / file).read_text())
                assert word in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (number, word)
