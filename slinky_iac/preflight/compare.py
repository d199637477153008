"""All checks in one order, the worst first. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight import check_conf, check_keys, check_lines, check_reach, check_versions
from slinky_iac.preflight.check import Check, Verdict
from slinky_iac.preflight.facts import Facts

CHECKS: Final[tuple[Callable[[StackConfig, Facts], Iterator[Check]], ...]] = (
    *check_reach.CHECKS,
    *check_keys.CHECKS,
    *check_versions.CHECKS,
    *check_conf.CHECKS,
    *check_lines.CHECKS,
)
FROM_HERE: Final[tuple[Callable[[StackConfig, Facts], Iterator[Check]], ...]] = (
    check_reach.api_server,
    check_reach.from_here,
)
"""What is left where only connections from here are asked for."""


def checks(config: StackConfig, facts: Facts, *, from_here_only: bool = False) -> tuple[Check, ...]:
    """Everything that follows from the facts; the worst first, else in the order of the modules."""
    found = [each for one in (FROM_HERE if from_here_only else CHECKS) for each in one(config, facts)]
    order = list(Verdict)
    return tuple(sorted(found, key=lambda each: order.index(each.verdict)))
