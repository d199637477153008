"""The command line itself: help where nothing was asked for, and the command that a wrong one resembles."""

from __future__ import annotations

import pytest

from slinky_iac.commands.cli import COMMANDS, main


def test_without_a_command_it_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], "slinky") == 2
    listed = {line.split()[0] for line in capsys.readouterr().err.splitlines() if line.startswith("    ") and line[4] != " "}
    assert set(COMMANDS) <= listed


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("handof", "slinky: there is no command handof; did you mean handoff? `slinky --help` lists all\n"),
        ("stauts", "slinky: there is no command stauts; did you mean status? `slinky --help` lists all\n"),
        ("xx", "slinky: there is no command xx; `slinky --help` lists all\n"),
    ],
)
def test_a_wrong_command_is_one_line_with_the_nearest(typed: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([typed], "slinky")
    assert ended.value.code == 2
    assert capsys.readouterr().err == said
