"""Whatever a message quotes, nothing in it moves a cursor, turns text around or makes a line."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slinky_iac.engine.plugin_process import engine_report
from slinky_iac.errors import ConfigError, DrainBlocked, KubeNotFound, SlinkyError, SlurmrestRefused
from slinky_iac.text import printable

HOSTILE = "\x1b]0;x\x07\u202e\u2028\u0085\ud800\r"


@pytest.mark.parametrize(
    "error",
    [
        SlinkyError(HOSTILE),
        ConfigError((HOSTILE, "b")),
        DrainBlocked(f"gpu-0 is held by {HOSTILE}"),
        KubeNotFound(HOSTILE, status=404),
        SlurmrestRefused(HOSTILE, error_number=1),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_error_of_this_program_shows_a_control_character(error: SlinkyError) -> None:
    assert str(error).replace("\n", "").isprintable()
    assert str(error).encode()


@example(HOSTILE)
@given(st.text())
def test_a_printable_text_has_its_lines_and_nothing_unseen(text: str) -> None:
    shown = printable(text)
    assert len(shown) == len(text)
    assert shown.count("\n") == text.count("\n")
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in shown.replace("\n", ""))
    assert printable(shown) == shown


def test_a_gate_s_line_shows_no_control_character_of_others() -> None:
    said: list[str] = []
    engine_report("urn:x", said.append)("job 7 waits: \x1b[2J\u202ereason\nsecond line")
    assert said == ["job 7 waits: \ufffd[2J\ufffdreason\nsecond line"]
