"""The files of the project: those that git tracks, and the Python modules on disk."""

from __future__ import annotations

import ast
import functools
import subprocess
from pathlib import Path

from tests.stacks import ROOT

ROOMS = ("components", "slinky_iac", "policies", "lab", "tests")


@functools.cache
def tracked() -> tuple[Path, ...]:
    """Files that are committed or would be: all but the ignored ones."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    return tuple(sorted(path for name in listed.split("\0") if name and (path := ROOT / name).is_file()))


@functools.cache
def python_modules() -> tuple[Path, ...]:
    """Python modules of all rooms and the program itself."""
    return tuple(path for path in tracked() if path.suffix == ".py" and _room(path) in {*ROOMS, "__main__.py"})


@functools.cache
def syntax_tree(path: Path) -> ast.Module:
    """A module's syntax tree, for all checks of one process."""
    return ast.parse(path.read_text(), path.name)


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a module's syntax tree, walked once for all checks of one process."""
    return tuple(ast.walk(syntax_tree(path)))


def _room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]
