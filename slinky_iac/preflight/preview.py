"""What every preview looks at: connections from here, neighbours, one quick look at Slurm, the way that the gates go, and
whether the API server would make the stack's pods.

It takes three seconds at the most, beside the registrations, and says only what is wrong: what could not be asked is the
business of `slinky preflight`, and before the first `pulumi up` there is no slurmrestd to ask.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from slinky_iac.cluster_access import kube_connection
from slinky_iac.config.findings import Finding, Setting
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import SlinkyError
from slinky_iac.parts.registry import parts_of
from slinky_iac.preflight.check import Check, Run, Verdict
from slinky_iac.preflight.connectivity import kubernetes, unreachable
from slinky_iac.preflight.kube_questions import OTHERS, SAME_NAME, answered

TIMEOUT_S: Final = 3.0
"""Longest wait for the looks: a preview is looked at by somebody who waits."""
_ANSWER_S: Final = 2.0
Look = Callable[[StackConfig, Mapping[str, str], Path], tuple[Check, ...]]


def quick(config: StackConfig, env: Mapping[str, str], home: Path) -> tuple[Check, ...]:
    """Checks that one short look at slurmctld allows, with the JWT key that the Secret holds. Raises what asking raises,
    KubeUnreachable among it."""
    with kube_connection(config, env, home) as way:
        _ = way.access
        # Only a preview with a cluster needs the clients, and they cost every program two tenths of a second to import.
        from slinky_iac.preflight.ask_slurm import ask_quickly  # noqa: PLC0415
        from slinky_iac.preflight.compare import judged  # noqa: PLC0415

        return tuple(judged(Run.PREVIEW, config, ask_quickly(config, way, answer_s=_ANSWER_S)))


def refused_pods(config: StackConfig, env: Mapping[str, str], home: Path) -> tuple[Check, ...]:
    """Pods of daemons, and of NodeSets that change, that the API server refuses now, in its own words. A full quota isn't
    one: pods that run fill it. For an account that may create no pods there are none. Raises what asking raises."""
    with kube_connection(config, env, home) as way:
        _ = way.access
        from slinky_iac.kube.pods import ShortPodClient  # noqa: PLC0415 - see above
        from slinky_iac.kube.wire import Retry, Timeouts  # noqa: PLC0415 - see above
        from slinky_iac.preflight.ask_verdicts import ask_verdicts  # noqa: PLC0415 - see above
        from slinky_iac.preflight.check_pods import verdicts  # noqa: PLC0415 - see above

        bounds = Timeouts(connect_s=_ANSWER_S, read_s=_ANSWER_S, write_s=_ANSWER_S)
        kube = way.client(ShortPodClient, budget_s=_ANSWER_S, timeouts=bounds, retry=Retry(tries=1))
        checks = verdicts(config, ask_verdicts(kube, config, changed=True))
    return tuple(check for check in checks if check.verdict is Verdict.PROBLEM)


def notices(
    config: StackConfig,
    env: Mapping[str, str],
    home: Path,
    looks: Iterable[Look] = (quick, refused_pods),
    longest_s: float = TIMEOUT_S,
    *,
    unknown: Collection[str] = (),
) -> tuple[Finding, ...]:
    """All that a preview tells of the world as it is now; ``env`` and ``home`` as the shell has them. ``looks`` are made
    beside each other and waited for ``longest_s``. ``unknown``: placeholders for what another resource of the program will
    give. They are not tried, and the world isn't compared with them."""
    threads = [_Preflight(partial(look, config, env, home)) for look in looks if not unknown]
    for thread in threads:
        thread.start()
    began = time.monotonic()
    with kube_connection(config, env, home) as way:
        shut = kubernetes(way, env)
        today = datetime.now(UTC).date()
        here = (notice for part in parts_of(config) for notice in part.notices(config, today))
        asked = [*answered(config, way, (SAME_NAME, *(() if shut else OTHERS)))]
        own_findings = (*here, *shut, *unreachable(config, unknown), *asked)
    for thread in threads:
        thread.join(max(0.0, began + longest_s - time.monotonic()))
    return (*own_findings, *(told for thread in threads for told in findings(thread.found)))


def findings(checks: Iterable[Check]) -> tuple[Finding, ...]:
    """What is wrong, as a preview says it: with the line to paste at the end."""
    wrong = (check for check in checks if check.verdict in (Verdict.PROBLEM, Verdict.WARNING))
    return tuple(Setting(check.of or check.id).warning(_sentence(check), id=check.id) for check in wrong)


def _sentence(check: Check) -> str:
    place = f", {check.at}" if check.paste and check.at else ""
    pasted = f": {' | '.join(check.paste)}" if check.paste else ""
    return f"{check.subject}: {check.got}. {check.change.rstrip('.:')}{place}{pasted}"


class _Preflight(threading.Thread):
    """A look, in a thread that no exit waits for; finds nothing where an answer is missing."""

    def __init__(self, look: Callable[[], tuple[Check, ...]]) -> None:
        super().__init__(daemon=True)
        self._look = look
        self.found: tuple[Check, ...] = ()

    def run(self) -> None:
        try:
            self.found = self._look()
        except SlinkyError:
            return  # no kubeconfig, no Secret yet, no answer: nothing is known, and nothing is said
