"""From JSON to the types of the library."""

from __future__ import annotations

from typing import TypeVar

import msgspec

Read = TypeVar("Read")


def read(kind: type[Read], body: object) -> Read:
    """``body`` as it would be read from JSON."""
    return msgspec.convert(body, kind)
