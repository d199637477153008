"""YAML that somebody else wrote, as plain values; what can't be read is never quoted, for it may be a secret.

PyYAML takes a time that grows with the square of the nesting of brackets, and its errors quote the text: a tag such as
!!bool before a token raises whatever it likes, with the token in it.
"""

from __future__ import annotations

import re
from typing import Final

import yaml

DEEPEST: Final = 100
"""Brackets within brackets; no kubeconfig and no stack file has ten."""
_BRACKET: Final = re.compile(r"[\[\]{}]")


class NotYamlError(ValueError):
    """The text isn't YAML, or nested deeper than any that a person writes. ``line``: where, from 1; 0: not known."""

    def __init__(self, line: int = 0) -> None:
        self.line = line
        super().__init__(f"isn't YAML{f' at line {line}' if line else ''}")


def read(text: str) -> object:
    """The value of a document. Raises :class:`NotYamlError`, and nothing else."""
    require_shallow(text)
    try:
        return yaml.safe_load(text)
    except Exception as error:  # see above
        mark = getattr(error, "problem_mark", None)
        raise NotYamlError(mark.line + 1 if mark is not None else 0) from None


def require_shallow(text: str) -> None:
    """Raises :class:`NotYamlError` for brackets within more brackets than PyYAML reads in a time that anybody waits."""
    depth = 0
    for found in _BRACKET.finditer(text):
        depth = depth + 1 if found[0] in "[{" else max(depth - 1, 0)
        if depth > DEEPEST:
            raise NotYamlError(text.count("\n", 0, found.start()) + 1)
