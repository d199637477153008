"""Tests give the library arguments; they replace nothing of it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.stacks import ROOT
from tests.tree import nodes, python_modules

PATCHING = re.compile(r"\b(setattr|patch\.object|patch)\(")


def test_no_test_replaces_a_function_of_ours() -> None:
    """What a test gives instead is an argument, so that the way it is given is the code's own."""
    tests = [path for path in python_modules() if path.is_relative_to(ROOT / "tests") and PATCHING.search(path.read_text())]
    assert {path.relative_to(ROOT): names for path in tests if (names := replaced(path))} == {}


def replaced(path: Path) -> list[str]:
    """What of the library a test module replaces: through a name that it imports, or by a dotted name."""
    imports = [node for node in nodes(path) if isinstance(node, ast.Import | ast.ImportFrom)]
    ours = {
        alias.asname or alias.name.split(".")[0]
        for node in imports
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).split(".")[0] in {"slinky_iac", "components"}
    }
    calls = [node for node in nodes(path) if isinstance(node, ast.Call) and PATCHING.search(f"{ast.unparse(node.func)}(")]
    targets = [ast.unparse(call.args[0]).strip("'\"") for call in calls if call.args]
    return [name for name in targets if re.split(r"[.(]", name)[0] in ours | {"slinky_iac", "components"}]
