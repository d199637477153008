"""The pages that name a test for each finding, and for each way in, name tests and policies that exist."""

from __future__ import annotations

import ast
import re

from tests.stacks import ROOT
from tests.tree import syntax_tree, tracked

PAGE = (ROOT / "docs" / "evidence" / "security.md").read_text()
DOCUMENTS = (ROOT / "docs" / "evidence" / "tasks.md").read_text().partition("Four documents, line by line")[2]
ATTACKS = (ROOT / "docs" / "security.md").read_text()
ROWS = re.findall(r"^\| (\d+b?) \| .*\| (.*) \|$", PAGE, re.MULTILINE)


def test_every_finding_has_a_row_and_a_test() -> None:
    numbers = [number for number, _ in ROWS]
    first, second = numbers[:24], numbers[24:]
    assert first == [str(number) for number in range(1, 25)]
    assert second == sorted(set(second), key=lambda number: (int(number.rstrip("b")), number))
    assert all(re.search(r"`tests/", named) for _, named in ROWS)


def test_every_line_of_the_documents_has_a_test() -> None:
    lines, guide = DOCUMENTS.split("## The hybrid guide")
    for table, place in ((lines, r"[^|]*\d[^|]*"), (guide, r"[^|]*")):
        rows = re.findall(rf"^\| ({place}) \| [^|]* \| (`tests/[^|]*) \|$", table, re.MULTILINE)
        assert len(rows) == table.count("\n| ") - 1
        assert all(re.search(r"`test_\w+`", named) for _, named in rows)


def test_every_test_that_a_page_of_evidence_names_exists() -> None:
    """Modules and functions: a run that a page tells of can be looked up."""
    modules = {path.stem for path in tracked() if path.name.startswith("test_")}
    functions = {
        node.name
        for path in tracked()
        if path.name.startswith("test_") and path.suffix == ".py"
        for node in syntax_tree(path).body
        if isinstance(node, ast.FunctionDef)
    }
    for page in sorted((ROOT / "docs" / "evidence").glob("*.md")):
        assert set(re.findall(r"`(test_\w+)`", page.read_text())) - modules - functions == set(), page


def test_every_policy_that_is_named_against_an_attack_is_a_rule() -> None:
    rules = set(re.findall(r"^### (\S+)$", (ROOT / "docs" / "policies.md").read_text(), re.MULTILINE))
    named = {
        word
        for _, said in re.findall(r"polic(y|ies) ((?:`[a-z-]+`(?:, )?)+)", ATTACKS)
        for word in re.findall(r"`(.+?)`", said)
    }
    assert len(named) > 4
    assert named <= rules


def test_every_test_that_is_named_exists() -> None:
    attacks = [("attack", line) for line in ATTACKS.splitlines() if "tests/" in line]
    assert len(attacks) > 20
    documents = re.findall(r"^\| ([^|]*) \| [^|]* \| (`tests/[^|]*) \|$", DOCUMENTS, re.MULTILINE)
    for number, named in (*ROWS, *documents, *attacks):
        file = ""
        for word in re.findall(r"`([^`]+)`", named):
            if word.startswith("tests/"):
                file = word
                assert (ROOT / file).exists(), (number, word)
            elif word.startswith("test_"):
                tree = syntax_tree(ROOT / file)
                assert word in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (number, word)
