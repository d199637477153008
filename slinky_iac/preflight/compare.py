"""All checks in one order, the worst first. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight import (
    check_admin,
    check_certificates,
    check_conf,
    check_encryption,
    check_keys,
    check_lines,
    check_munge,
    check_reach,
    check_state,
    check_tokens,
    check_versions,
    fence,
)
from slinky_iac.preflight.check import ON_SLURMCTLD, RESTARTED, SLURM_CONF, Check, Verdict, unknown
from slinky_iac.preflight.facts import Facts

Rule = Callable[[StackConfig, Facts], Iterator[Check]]
CHECKS: Final[tuple[Rule, ...]] = (
    *check_reach.CHECKS,
    *check_certificates.CHECKS,
    *check_keys.CHECKS,
    *check_tokens.CHECKS,
    *check_admin.CHECKS,
    *check_versions.CHECKS,
    *fence.CHECKS,
    *check_state.CHECKS,
    *check_conf.CHECKS,
    *check_lines.CHECKS,
    *check_encryption.CHECKS,
)
FROM_HERE: Final[tuple[Rule, ...]] = (check_reach.api_server, check_reach.from_here, *check_certificates.CHECKS)
"""What is left where only connections from here are asked for."""
_WRITTEN: Final = "by `pulumi up`: the operator writes slurm.conf; what no setting says goes under controller.extraConf"
_INSIDE: Final = {SLURM_CONF: _WRITTEN, RESTARTED: _WRITTEN, ON_SLURMCTLD: "in slurmctld's pod"}
"""Where lines go that belong to a slurmctld in Kubernetes, which has no host and no admin of its own."""


def checks(config: StackConfig, facts: Facts, *, from_here_only: bool = False) -> tuple[Check, ...]:
    """Everything that follows from the facts; the worst first, else in the order of the modules."""
    order = list(Verdict)
    all_of_them = (*check_munge.CHECKS, *check_state.CHECKS) if config.keys.auth == "auth/munge" else CHECKS
    found = judged(FROM_HERE if from_here_only else all_of_them, config, facts)
    if config.controller.external is None and not facts.slurm.way and facts.kube.restapi is False and not from_here_only:
        found = _before_it_is_made(found)
    return tuple(sorted(found, key=lambda each: order.index(each.verdict)))


def _before_it_is_made(found: Iterable[Check]) -> Iterator[Check]:
    """With slurmctld in Kubernetes and nothing up yet, that is all there is to say about it."""
    yield unknown(
        "slurmctld",
        "slurmctld and slurmrestd",
        "Kubernetes",
        "not made yet: `pulumi up` makes both, and the operator writes a slurm.conf that fits",
        "Run preflight again after `pulumi up`",
    )
    of_these = ("slurmctld", "slurmrestd")
    yield from (e for e in found if not (e.verdict is Verdict.UNKNOWN and (e.source in of_these or e.name in of_these)))


def judged(rules: Iterable[Rule], config: StackConfig, facts: Facts) -> Iterator[Check]:
    """What these rules say, with the places of lines as they are where slurmctld runs."""
    places = _INSIDE if config.controller.external is None else {}
    for rule in rules:
        for each in rule(config, facts):
            yield replace(each, at=places.get(each.at, each.at))
