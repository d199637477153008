"""The line that counts while a command waits: on a terminal only, and gone when the answer is there."""

from __future__ import annotations

import io

import pytest

from slinky_iac.commands.output import CLEAR, LONG_S, line, waiting_line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_says_what_is_awaited_and_leaves_nothing_behind() -> None:
    out = Terminal()
    with waiting_line(out, "preflight: connecting"):
        pass
    assert "preflight: connecting …" in out.getvalue()
    assert out.getvalue().endswith(CLEAR)


def test_a_failure_ends_it_too() -> None:
    out = Terminal()
    with pytest.raises(KeyboardInterrupt), waiting_line(out, "asking"):
        raise KeyboardInterrupt
    assert out.getvalue().endswith(CLEAR)


def test_a_file_gets_nothing() -> None:
    out = io.StringIO()
    with waiting_line(out, "asking"):
        pass
    assert out.getvalue() == ""


def test_a_long_wait_says_what_may_take_that_long() -> None:
    assert line("asking", 3, "an image may be downloading") == "asking … 3 s"
    assert line("asking", LONG_S, "an image may be downloading") == f"asking … {LONG_S} s; an image may be downloading"
