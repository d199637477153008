"""A screen that renews itself: it ends when its subject does, or by Ctrl-C, which ends nothing else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from slinky_iac.commands.cli import main
from slinky_iac.commands.output import watch


def test_without_a_terminal_each_screen_stays_until_the_last(capsys: pytest.CaptureFixture[str]) -> None:
    frames = iter([("1 of 2\n", False), ("2 of 2\n", True)])
    widths: list[int] = []

    def frame(width: int) -> tuple[str, bool]:
        widths.append(width)
        return next(frames)

    watch(frame, 90, every=0)
    assert capsys.readouterr().out == "1 of 2\n2 of 2\n"
    assert widths == [90, 90]


def test_ctrl_c_ends_the_view_and_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    def frame(_width: int) -> tuple[str, bool]:
        raise KeyboardInterrupt

    watch(frame, 90)
    assert capsys.readouterr().out == ""


def test_in_a_terminal_each_screen_is_written_over_the_one_before() -> None:
    program = (
        "from slinky_iac.commands.output import watch\n"
        "frames = iter([('one\\n', False), ('two\\n', True)])\n"
        "watch(lambda width: next(frames), 90, every=0)\n"
    )
    ours, theirs = pty.openpty()
    done = subprocess.run([sys.executable, "-c", program], stdout=theirs, stdin=theirs, timeout=60, check=True)
    os.close(theirs)
    shown = os.read(ours, 4096).decode()
    os.close(ours)
    assert done.returncode == 0
    assert shown.startswith("\x1b[2J\x1b[Hone\x1b[K")
    assert shown.count("\x1b[H") == 2
    assert shown.endswith("\x1b[J")


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "86401", "five", "9" * 30])
@pytest.mark.parametrize("command", [["status", "--watch"], ["drain", "watch"]])
def test_a_pause_that_is_none_is_refused(command: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a pause it would ask slurmctld again and again."""
    with pytest.raises(SystemExit, match="2"):
        main([*command, f"--every={text}"])
    assert "a pause is a whole number of seconds from 1 to 86400" in capsys.readouterr().err


def test_a_pause_of_one_screen_is_no_silent_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--every", "5"]) == 2
    assert "--every is for --watch" in capsys.readouterr().err
