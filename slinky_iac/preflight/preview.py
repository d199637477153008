"""What every preview looks at: connections from here, neighbours, and one quick look at Slurm, the way that the gates go.

It takes three seconds at the most, beside the registrations, and says only what is wrong: what could not be asked is the
business of `python -m slinky_iac preflight`, and before the first `pulumi up` there is no slurmrestd to ask.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from slinky_iac.config.findings import Finding, warning
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import SlinkyError
from slinky_iac.preflight.check import Check, Verdict
from slinky_iac.preflight.expiry import expiring
from slinky_iac.preflight.fence import unserved
from slinky_iac.preflight.neighbours import same_name
from slinky_iac.preflight.network_plugin import network_plugin
from slinky_iac.preflight.older_pods import older_pods
from slinky_iac.preflight.reach import kubernetes, unreachable
from slinky_iac.reach import kube_connection

TIMEOUT_S: Final = 3.0
"""Longest wait for the look at Slurm: a preview is looked at by somebody who waits."""
_ANSWER_S: Final = 2.0


def notices(config: StackConfig, env: Mapping[str, str], home: Path) -> tuple[Finding, ...]:
    """All that a preview tells of the world as it is now; ``env`` and ``home`` as the shell has them."""
    slurm = _Look(config, env, home)
    slurm.start()
    began = time.monotonic()
    with kube_connection(config, env, home) as way:
        shut = kubernetes(way, env)
        older = () if shut else (*unserved(config, way), *older_pods(config, way), *network_plugin(config, way))
        here = expiring(config, datetime.now(UTC).date())
        found = (*here, *shut, *unreachable(config), *same_name(config, way), *older)
    slurm.join(max(0.0, began + TIMEOUT_S - time.monotonic()))
    return (*found, *findings(slurm.found))


def findings(checks: Iterable[Check]) -> tuple[Finding, ...]:
    """What is wrong, as a preview says it: with the line to paste at the end."""
    wrong = (each for each in checks if each.verdict in (Verdict.PROBLEM, Verdict.WARNING))
    return tuple(warning(name := f"preflight.{each.name}", _sentence(each), id=name) for each in wrong)


def _sentence(check: Check) -> str:
    place = f", {check.at}" if check.paste and check.at else ""
    pasted = f": {' | '.join(check.paste)}" if check.paste else ""
    return f"{check.subject}: {check.got}. {check.change.rstrip('.:')}{place}{pasted}"


class _Look(threading.Thread):
    """The look, in a thread that nobody waits for at exit; finds nothing where somebody doesn't answer."""

    def __init__(self, config: StackConfig, env: Mapping[str, str], home: Path) -> None:
        super().__init__(daemon=True)
        self._about = (config, env, home)
        self.found: tuple[Check, ...] = ()

    def run(self) -> None:
        try:
            self.found = quick(*self._about)
        except SlinkyError:
            return  # no kubeconfig, no Secret yet, nobody answers: nothing is known, and nothing is said


def quick(config: StackConfig, env: Mapping[str, str], home: Path) -> tuple[Check, ...]:
    """Checks that one short look at slurmctld allows, with the JWT key that the Secret holds. Raises what asking raises."""
    # Only a preview with a cluster needs the clients, and they cost every program a tenth of a second to import.
    from slinky_iac.preflight.quick import ask_quickly, compare  # noqa: PLC0415

    return compare(config, ask_quickly(config, env, home, answer_s=_ANSWER_S))
