"""Variables and arguments of raw containers: what leads a daemon elsewhere is refused once, and levels of logs are free."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.config.findings import Level
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from tests.stacks import minimal


def errors(**sections: Any) -> list[str]:
    return [str(each) for each in findings(load(minimal(**sections))) if each.level is Level.ERROR and ".raw." in each.path]


@pytest.mark.parametrize(
    ("name", "is_free"),
    [
        ("SLURMRESTD_DEBUG", True),
        ("SLURMRESTD_DEBUG_STDERR", True),
        ("SLURMRESTD_DEBUG_SYSLOG", True),
        ("SLURMRESTD_JSON", True),
        ("SLURMRESTD_DEBUGGER", False),
        ("SLURMRESTD_SECURITY", False),
        ("SLURMRESTD_AUTH_TYPES", False),
        ("SLURMRESTD_LISTEN", False),
        ("SLURMRESTD_OPENAPI_PLUGINS", False),
        ("SLURMRESTD_NEW", False),
        ("slurmrestd_listen", False),
    ],
)
def test_of_slurmrestd_s_variables_levels_of_logs_are_free(name: str, is_free: bool) -> None:
    found = errors(restapi={"raw": {"container": {"env": [{"name": name, "value": "debug"}]}}})
    assert len(found) == (not is_free), found


@pytest.mark.parametrize(
    ("args", "refused"),
    [
        (["-d", "v0.0.43"], ["-d"]),
        (["-d", "-a"], ["-d", "-a"]),
        (["-d=v0.0.43", "stray"], ["-d", "stray"]),
        (["-t", "4", "-d", "v0.0.43", "-v"], ["-d"]),
        (["--max-connections", "9"], []),
    ],
)
def test_the_value_of_a_refused_argument_is_no_second_error(args: list[str], refused: list[str]) -> None:
    found = errors(restapi={"raw": {"container": {"args": args}}})
    assert [each.split("has ")[1].split(",")[0] for each in found] == refused
