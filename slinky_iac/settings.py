"""Sections of the configuration as types of mappings, for annotations of a program: ``NodeSetSettings``, ``DrainSettings``.

Type checkers and editors read settings.pyi beside this file, which has the names and types of every setting. While a
program runs a section is a plain ``dict``, and `pulumi preview` judges it as it judges a stack's file.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> type[dict[str, Any]]:
    """The type of a section: ``dict``. Raises AttributeError for a name that no section has."""
    if not name.endswith("Settings"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return dict
