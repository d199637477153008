"""Messages about failures outside the program name the cause, never an exception class or an error number."""

from __future__ import annotations

import ast
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from slinky_iac import causes
from slinky_iac.commands.children import TooMuchPrintedError
from tests.stacks import ROOT
from tests.tree import nodes, tracked

INTERNAL = re.compile(r"Errno|[A-Z][a-z]+(Error|Exception|Timeout|Expired)\b|FileNotFound")
MODULES = tuple(
    path for path in tracked() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in ("slinky_iac", "components")
)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file or directory", "ssh"), "`ssh` isn't installed here, or isn't in PATH"),
        (PermissionError(13, "Permission denied", "ssh"), "`ssh` may not be run by this user"),
        (OSError(8, "Exec format error", "ssh"), "`ssh` can't be run: exec format error"),
        (subprocess.TimeoutExpired(["ssh", "ctl"], 120), "`ssh` didn't end within 120 s"),
        (TooMuchPrintedError("it printed more than 10 bytes"), "`ssh`: it printed more than 10 bytes"),
    ],
)
def test_a_command_that_did_not_run(error: OSError | subprocess.TimeoutExpired, said: str) -> None:
    assert causes.of_command(["ssh", "ctl"], error) == said


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file or directory", "x"), "no such file or directory"),
        (PermissionError(13, "Permission denied", "x"), "permission denied"),
        (UnicodeDecodeError("ascii", b"\xff", 0, 1, "ordinal not in range"), "it isn't plain text"),
        (OSError(), "the system doesn't say why"),
    ],
)
def test_a_file_that_was_not_read(error: OSError | UnicodeError, said: str) -> None:
    assert causes.of_file(error) == said


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (socket.gaierror(-2, "Name or service not known"), "the name is not known here"),
        (ConnectionRefusedError(111, "Connection refused"), "connection refused"),
        (OSError(113, "No route to host"), "no route to host"),
        (TimeoutError("timed out"), "no answer in time"),
        (UnicodeEncodeError("idna", "a..b", 0, 1, "label empty"), "it isn't a host's name"),
        (OSError(), "the system doesn't say why"),
    ],
)
def test_a_connection_that_was_not_made(error: OSError | UnicodeError, said: str) -> None:
    assert causes.of_connection(error) == said


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("nodes"), "a field is missing"),
        (IndexError("list index out of range"), "a field is missing"),
        (TypeError("'int' object is not iterable"), "a field has another type"),
        (AttributeError("'int' object has no attribute 'get'"), "a field has another type"),
        (RecursionError("maximum recursion depth exceeded"), "it is nested too deep"),
        (OverflowError("int too large"), "a number is too large"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "a text isn't UTF-8"),
    ],
)
def test_data_of_another_shape(error: Exception, said: str) -> None:
    assert causes.of_shape(error) == said


def test_no_message_names_the_class_of_an_exception() -> None:
    """``type(x).__name__`` is for a repr, for an AssertionError, and for the type of a program's argument."""
    allowed = {
        ("components/connection.py", "type(value).__name__"),
        ("components/plain_data.py", "type(value).__name__"),
    }
    found = {(path.relative_to(ROOT).as_posix(), text) for path in MODULES for text in _class_names(path)}
    assert found - allowed == set()
    assert found >= allowed


def _class_names(path: Path) -> Iterator[str]:
    own = {
        id(below)
        for each in nodes(path)
        if (isinstance(each, ast.FunctionDef) and each.name == "__repr__")
        or (isinstance(each, ast.Raise) and each.exc is not None and ast.unparse(each.exc).startswith("AssertionError("))
        for below in ast.walk(each)
    }
    for each in nodes(path):
        if isinstance(each, ast.Attribute) and each.attr in ("__name__", "__qualname__") and id(each) not in own:
            text = ast.unparse(each)
            if text.startswith("type(") or ".__class__" in text:
                yield text


def test_no_message_quotes_the_system_s_error_as_python_prints_it() -> None:
    """``[Errno 13] Permission denied: '/x'`` comes of ``str(error)``; and a class, of ``repr(error)``."""
    found = [(path.relative_to(ROOT).as_posix(), text) for path in MODULES for text in _raw(path)]
    assert found == []


def _raw(path: Path) -> Iterator[str]:
    if path.name == "causes.py":
        return
    for handler in (each for each in nodes(path) if isinstance(each, ast.ExceptHandler) and each.name and each.type):
        assert handler.type is not None
        of_system = re.search(r"\b(OSError|TimeoutExpired|Exception)\b", ast.unparse(handler.type))
        for each in ast.walk(handler):
            if isinstance(each, ast.FormattedValue) and ast.unparse(each.value) == handler.name:
                if of_system or each.conversion == ord("r"):
                    yield f"line {each.lineno}"
            elif isinstance(each, ast.Call) and ast.unparse(each) == f"repr({handler.name})":
                yield f"line {each.lineno}"


@pytest.mark.parametrize("name", ["of_command", "of_file", "of_connection", "of_shape"])
def test_no_words_are_python_s(name: str) -> None:
    told = getattr(causes, name)
    errors = {
        "of_command": (OSError(5, "Input/output error"), subprocess.TimeoutExpired("x", 1), OSError()),
        "of_file": (OSError(5, "Input/output error"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x")),
        "of_connection": (OSError(5, "Input/output error"), socket.gaierror(-3, "x"), TimeoutError()),
        "of_shape": (KeyError("a"), TypeError("b"), RecursionError("c"), ValueError("d")),
    }[name]
    for error in errors:
        words = told(["x"], error) if name == "of_command" else told(error)
        assert words
        assert not INTERNAL.search(words)
