"""Decoders of msgspec, each built once, one after the other.

msgspec 0.22 registers a type before the types of its fields are there. A second thread that decodes the same type at that
moment reads what isn't there yet, and the whole process ends by a segmentation fault (run). Gates are threads of one
process, so each type gets its decoder under a lock, and no thread uses one that isn't complete.
"""

from __future__ import annotations

import threading
from typing import Any, Final, TypeVar

import msgspec

Kind = TypeVar("Kind")
_LOCK: Final = threading.Lock()
_BUILT: Final[dict[type, msgspec.json.Decoder[Any]]] = {}


def decoder(kind: type[Kind]) -> msgspec.json.Decoder[Kind]:
    """The decoder of a type. Its ``decode`` raises what msgspec's does."""
    with _LOCK:
        if kind not in _BUILT:
            _BUILT[kind] = msgspec.json.Decoder(kind)
        return _BUILT[kind]
