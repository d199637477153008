"""Reading of one long list out of a JSON answer, row by row and while it arrives.

slurmrestd writes 8 to 10 kB for a job, so a busy cluster's list of jobs is hundreds of MB, of which we need a hundredth.
Here one row and one piece of the answer are in memory at once. A row that can't be read costs that row, not the list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Protocol

from slinky_iac.kube.wire import AnswerTooLargeError

MOST_ROW = 64 << 20
"""Bytes of one row."""
MOST_REST = 1 << 20
"""Bytes before the list, and behind it."""
_BLANK = re.compile(r"[ \t\r\n]*")
_BLANKS = re.compile(rb"[ \t\r\n]*+")
_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\]]', re.DOTALL)
"""A whole string, or one of the signs that open and close; a lone quote is a string whose end hasn't come yet."""
_scan = json.JSONDecoder().raw_decode


class Take(Protocol):
    """Gets one row."""

    def __call__(self, row: bytes, *, certain: bool) -> bool:
        """False where it can't be read; with ``certain`` it was cut at its end, and it must cope with it as it is."""


class RowSieve:
    """Gives ``take`` each element of the top-level list ``key`` and keeps the rest, with that list empty, as the body.

    A JSON value ends at one place only, so a row that can be read was cut at its end, however that was found: mostly by
    the line between two rows, as slurmrestd indents them. Where it can't be read, brackets and strings are counted.
    """

    def __init__(self, key: str, take: Take, hide: Callable[[bytes], bytes] = bytes) -> None:
        """``hide`` takes out of a row what must not be seen."""
        self._key = key
        self._take = take
        self._hide = hide
        self._held = bytearray()
        self._head: bytes | None = None
        self._between: bytes | None = None
        """What stands between two rows; None until the first has come, empty where it would prove nothing."""
        self._after = False
        """Whether a row has just ended, so that a comma or the list's end comes next."""
        self._closed = False
        self._broken = False
        self._scanned = self._searched = self._depth = 0

    def feed(self, chunk: bytes) -> None:
        """The next piece of the answer. :raises AnswerTooLargeError: one row, or all but the rows, is over the bound."""
        self._held += chunk
        self._proceed(last=False)
        most = MOST_REST if self._head is None or self._closed or self._broken else MOST_ROW
        if len(self._held) > most:
            raise AnswerTooLargeError(
                f"its answer isn't a list of {self._key} ({most} bytes of it are in no row): look at slurmrestd's log"
            )

    def rest(self) -> bytes:
        """The answer without its rows, once it is whole; no JSON where the list has no end."""
        self._proceed(last=True)
        if self._head is None:
            return bytes(self._held)
        return self._head + bytes(self._held) if self._closed else self._head

    def _proceed(self, *, last: bool) -> None:
        if self._head is None and not self._begun():
            return
        at = 0
        while not self._closed and not self._broken:
            end = self._step(at, last=last)
            if end is None:
                break
            at = end
        if at:
            del self._held[:at]
            self._scanned = max(self._scanned - at, 0)
            self._searched = max(self._searched - at, 0)

    def _begun(self) -> bool:
        """Whether the list has begun; all up to its bracket becomes the head."""
        at = _list_in(self._held.decode("latin-1"), self._key)
        if at is None:
            return False
        self._head = bytes(self._held[:at])
        del self._held[:at]
        return True

    def _step(self, at: int, *, last: bool) -> int | None:
        """Where reading continues after one more row, comma or the list's end; None: that hasn't come yet."""
        start = self._skip(at)
        sign = self._held[start : start + 1]
        if not sign:
            return None
        if sign == b"]" and (self._after or self._between is None):
            self._closed = True
            return start
        if self._after:
            self._broken = sign != b","
            self._after = False
            self._scanned = self._searched = start + 1
            self._depth = 0
            return start + 1
        if sign != b"{":
            self._broken = True
            return None
        if self._between is None:
            lead = bytes(self._held[at:start])
            self._between = b"}," + lead + b"{" if b"\n" in lead else b""
        return self._row(start, last=last)

    def _row(self, start: int, *, last: bool) -> int | None:
        if self._between and not last:
            position = self._held.find(self._between, max(self._searched, start))
            if position < 0:
                self._searched = max(len(self._held) - len(self._between) + 1, start)
                return None
            if self._take(self._cut(start, position + 1), certain=False):
                self._after = True
                return position + 1
            self._searched = position + 1
        end = self._end(start)
        if end is not None:
            self._take(self._cut(start, end), certain=True)
            self._after = True
        return end

    def _cut(self, start: int, end: int) -> bytes:
        return self._hide(bytes(self._held[start:end]))

    def _end(self, start: int) -> int | None:
        """Where the value that begins at ``start`` ends, by its brackets; None where that hasn't come yet."""
        for mark in _MARK.finditer(self._held, max(self._scanned, start)):
            sign = mark[0]
            if sign == b'"':
                self._scanned = mark.start()
                return None
            if sign in b"{[":
                self._depth += 1
            elif sign in b"}]":
                self._depth -= 1
                if self._depth == 0:
                    return mark.end()
        self._scanned = len(self._held)
        return None

    def _skip(self, at: int) -> int:
        blank = _BLANKS.match(self._held, at)
        return blank.end() if blank is not None else at


def _list_in(text: str, key: str) -> int | None:
    """The place after the bracket that opens the top-level list ``key``; None where it isn't there, or not yet."""
    at = _expect(text, 0, "{")
    while at is not None:
        name, colon = _value(text, _skip(text, at))
        value = _expect(text, colon, ":")
        if value is None or not isinstance(name, str):
            return None
        value = _skip(text, value)
        if name == key:
            return _expect(text, value, "[")
        _, end = _value(text, value)
        at = _expect(text, end, ",")
    return None


def _value(text: str, at: int) -> tuple[object, int | None]:
    try:
        return _scan(text, at)
    except (ValueError, RecursionError):
        return None, None


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank is not None else at


def _expect(text: str, at: int | None, sign: str) -> int | None:
    """The place after ``sign``, blanks before it skipped; None where something else is there."""
    if at is None:
        return None
    at = _skip(text, at)
    return at + 1 if text[at : at + 1] == sign else None
