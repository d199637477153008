"""What a test module or a bench covers: the files that it imports, and for one on an engine or a lab the program and the
commands that it names.

By their import statements, so that no list has to be kept; read as text, which is ten times faster than as a syntax tree. No
change of a file is judged: one of a comment makes a run old too, which costs a run and hides nothing.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from slinky_iac.commands.listing import COMMANDS
from tests.stacks import ROOT

ON_A_LAB: Final = ("e2e", "faults", "integration")
"""Folders of tests/ whose modules run the program itself, and so do those that import one of them."""
BENCHES: Final = "bench"
RECORDS: Final = Path("tests/figures.py")
"""What a bench writes its figures down with changes none of them."""
_FROM: Final = re.compile(r"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n(]+)", re.MULTILINE)
_IMPORT: Final = re.compile(r"^[ \t]*import[ \t]+(.+)$", re.MULTILINE)
_WORD: Final = re.compile(r"[\w.]+")
PROGRAM: Final = ("__main__.py", "Pulumi.dev.yaml", "slinky_iac/commands/cli.py")


@functools.cache
def covered(module: Path) -> tuple[Path, ...]:
    """Files of this project, from the root, sorted. ``module``: a test or bench file, from the root."""
    first = [module, *(folder / "conftest.py" for folder in module.parents if (ROOT / folder / "conftest.py").is_file())]
    found = _closure(first, {RECORDS} if module.parts[1] == BENCHES else set())
    if any(file.parts[0] == "tests" and file.parts[1] in ON_A_LAB for file in found):
        found |= _closure(list(map(Path, PROGRAM)))
        text = "".join(_text(file) for file in sorted(found) if file.parts[0] == "tests")
        named = [
            each.dotted
            for name, each in COMMANDS.items()
            if each.module and (f'"{name}"' in text or f"slinky_iac {name}" in text)
        ]
        found |= _closure([file for name in named for file in _files(name)])
    return tuple(sorted(found))


def digest(files: tuple[Path, ...]) -> str:
    """Twelve hex digits of names and contents, as they are on the disk."""
    made = hashlib.sha256()
    for file in files:
        made.update(f"{file}\0".encode() + _content(file))
    return made.hexdigest()[:12]


@functools.cache
def _content(file: Path) -> bytes:
    return hashlib.sha256((ROOT / file).read_bytes()).digest()


def _closure(first: list[Path], but: Collection[Path] = ()) -> set[Path]:
    found: set[Path] = set()
    todo = list(first)
    while todo:
        file = todo.pop()
        if file not in found and file not in but:
            found.add(file)
            todo += _imported(file) if file.suffix == ".py" else ()
    return found


@functools.cache
def _imported(file: Path) -> tuple[Path, ...]:
    return tuple(path for name in _names(file) for path in _files(name))


def _names(file: Path) -> Iterator[str]:
    for package, imported in _FROM.findall(_text(file)):
        level = len(package) - len(package.lstrip("."))
        above = file.parts[: len(file.parts) - level] if level else ()
        whole = ".".join((*above, *filter(None, package.split("."))))
        yield whole
        yield from (f"{whole}.{name}" for name in _WORD.findall(imported))
    for imported in _IMPORT.findall(_text(file)):
        yield from _WORD.findall(imported)


@functools.cache
def _files(name: str) -> tuple[Path, ...]:
    """Files that the import of a module runs: its packages' and its own. Empty where it isn't of this project."""
    parts = name.split(".")
    found = [Path(*parts[:count], "__init__.py") for count in range(1, len(parts) + 1)]
    return tuple(file for file in (*found, Path(*parts).with_suffix(".py")) if (ROOT / file).is_file())


@functools.cache
def _text(file: Path) -> str:
    return (ROOT / file).read_text()


def named_by_tests(module: Path) -> frozenset[Path]:
    """Files of the lab that a module's own test files import themselves: what has to be made before it runs."""
    own = (file for file in covered(module) if file.parts[0] == "tests")
    return frozenset(path for file in own for path in _imported(file) if path.parts[0] == "lab")
