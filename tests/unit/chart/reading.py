"""Values of the chart, written in a test, as `slinky import-chart` reads them."""

from __future__ import annotations

from typing import Any

from slinky_iac.config.chart.release import read
from slinky_iac.config.chart.said import Read
from tests.stacks import read_yaml


def found(text: str, line: tuple[int, int] = (1, 2), release: str = "slurm") -> Read:
    """All that is read: settings, what is left out, notes."""
    return read(read_yaml(text), release=release, namespace="slurm", line=line)


def taken(text: str, line: tuple[int, int] = (1, 2)) -> tuple[dict[str, Any], dict[str, str]]:
    """Settings, and what is left out with why."""
    read_ = found(text, line)
    return read_.taken.settings, dict(read_.taken.left)
