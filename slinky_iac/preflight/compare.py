"""All checks in one order, the worst first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.registry import PARTS
from slinky_iac.preflight import (
    check_accounting,
    check_conf,
    check_encryption,
    check_keys,
    check_lines,
    check_pods,
    check_reach,
    check_registration,
    check_resources,
    check_trial,
    check_versions,
)
from slinky_iac.preflight.check import At, Check, Expect, Run, Verdict
from slinky_iac.preflight.facts import Facts

_WRITTEN: Final = "by `pulumi up`: the operator writes slurm.conf; lines without a setting go under controller.extraConf"
_INSIDE: Final = {At.SLURM_CONF: _WRITTEN, At.RESTARTED: _WRITTEN, At.SLURMCTLD: "in slurmctld's pod"}
"""Where lines go that belong to a slurmctld in Kubernetes, which has no host and no admin of its own."""


@cache
def expected() -> tuple[Expect, ...]:
    """Every row, in the order of the report."""
    return (
        *check_reach.EXPECTED,
        *check_reach.METRICS,
        *check_encryption.CERTIFICATES,
        *check_keys.EXPECTED,
        *(row for part in PARTS for row in part.checks()),
        *check_accounting.LEVEL,
        *check_versions.EXPECTED,
        *check_encryption.STATE,
        *check_trial.EXPECTED,
        *check_accounting.EXPECTED,
        *check_conf.EXPECTED,
        *check_lines.EXPECTED,
        *check_registration.EXPECTED,
        *check_pods.EXPECTED,
        *check_resources.EXPECTED,
        *(row for part in PARTS for row in part.last_checks()),
        *check_encryption.EXPECTED,
    )


def checks(config: StackConfig, facts: Facts, *, from_here_only: bool = False) -> tuple[Check, ...]:
    """Everything that follows from the facts; the worst first, else in the order of the rows."""
    order = list(Verdict)
    run = Run.HERE if from_here_only else Run.CLIENTS if not config.auth.makes_daemons else Run.WHOLE
    results: Iterable[Check] = acknowledged(judged(run, config, facts), config.acknowledged)
    if config.slurmctld.pods and not facts.slurm.way and facts.kube.restapi is False and not from_here_only:
        results = _before_it_is_made(results)
    return tuple(sorted(results, key=lambda check: order.index(check.verdict)))


def _before_it_is_made(results: Iterable[Check]) -> Iterator[Check]:
    """With slurmctld in Kubernetes and nothing up yet, that is all there is to say about it."""
    yield Check(
        "slurmctld",
        Verdict.UNKNOWN,
        "slurmctld and slurmrestd",
        "Kubernetes",
        "not created yet: `pulumi up` creates both, and the operator writes a slurm.conf that fits",
        "Run preflight again after `pulumi up`",
    )
    of_these = ("slurmctld", "slurmrestd")
    yield from (e for e in results if not (e.verdict is Verdict.UNKNOWN and (e.source in of_these or e.name in of_these)))


def judged(run: Run, config: StackConfig, facts: Facts) -> Iterator[Check]:
    """What the rows of one run say, with the places of lines as they are where slurmctld runs."""
    places = _INSIDE if config.slurmctld.owns_conf else {}
    for row in expected():
        if run in row.runs:
            yield from (replace(check, at=places.get(check.at, check.at)) for check in row.checks(config, facts))


def acknowledged(given_checks: Iterable[Check], reasons: Mapping[str, str]) -> Iterator[Check]:
    """The same checks. A warning that ``reasons`` has by its id has the reason; so has a problem, by its id and the one
    thing that it is of, and is a warning then. Any other problem never has one."""
    for check in given_checks:
        reason = reasons.get(f"{check.id}@{check.of}" if check.of else check.id, "")
        if check.verdict is Verdict.PROBLEM and check.of and reason:
            yield replace(check, verdict=Verdict.WARNING, reason=reason)
        else:
            yield replace(check, reason=reason) if check.verdict is Verdict.WARNING else check
