"""Keys for tests: as good as random, and the same at each run. What repeats itself is refused as a key."""

from __future__ import annotations

import base64
import hashlib


def raw_key(word: str, size: int = 64) -> bytes:
    """The bytes of a key; another word is another key."""
    return hashlib.shake_256(word.encode()).digest(size)


def text_key(word: str, size: int = 64) -> bytes:
    """The same as a text of letters and digits."""
    return base64.b64encode(raw_key(word, size)).replace(b"+", b"a").replace(b"/", b"b").rstrip(b"=")[:size]
