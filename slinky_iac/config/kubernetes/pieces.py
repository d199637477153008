"""Pieces of Kubernetes' objects as rules read them, whatever is in them, and sentences that several rules say. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from slinky_iac.config.shown import name_of, word_of

Faults = Iterator[tuple[str, str]]
Piece = Mapping[str, Any]


def listed(value: Piece, field: str) -> list[Piece]:
    """The mappings of a list; of what isn't a list, none."""
    members = value.get(field)
    return [member for member in members if isinstance(member, Mapping)] if isinstance(members, list | tuple) else []


def mapped(value: Piece, *path: str) -> Piece:
    """The mapping at a path; empty where there is none."""
    for name in path:
        child = value.get(name)
        value = child if isinstance(child, Mapping) else {}
    return value


def texts(value: Piece, field: str) -> list[str]:
    """The texts of a list."""
    members = value.get(field)
    return [text for text in members if isinstance(text, str)] if isinstance(members, list | tuple) else []


def missing(value: Piece, fields: tuple[str, ...]) -> Faults:
    """Fields that Kubernetes requires and the piece lacks."""
    for field in fields:
        if value.get(field) in (None, "", [], {}):
            yield "", f"has no {field}, which Kubernetes requires"


def one_of_these(value: object, words: tuple[str, ...] | list[str]) -> str:
    """That a value is none of a closed list."""
    return f"is {word_of(str(value), words)}, and Kubernetes takes {', '.join(word or 'an empty text' for word in words)}"


def again(every: Iterable[tuple[str, str]]) -> Faults:
    """Texts that come a second time, each with its place."""
    seen = set[str]()
    for place, text in every:
        if text in seen:
            yield place, f"is {name_of(text)} a second time; Kubernetes takes it once"
        seen |= {text} - {""}
