"""Jobs that an update ends that Pulumi alone writes: with the login pods that they run from, and with a slurmctld that keeps
no state. A hook asks right before the write."""

from __future__ import annotations

from typing import Final

from slinky_iac.cluster.connection import connected
from slinky_iac.cluster.reach import Reach
from slinky_iac.drain.losses import Change, losers
from slinky_iac.drain.observe import jobs_view
from slinky_iac.drain.sessions import ending
from slinky_iac.drain.words import jobs_in_words
from slinky_iac.errors import SlinkyError

BUDGET_S: Final = 20.0
"""Seconds that one question may take: a preview is looked at by somebody who waits."""


def session_jobs(way: Reach, namespace: str, selector: str, hide: str, cluster: str) -> str:
    """Whose jobs lose their srun or salloc where the pods of a selector are replaced, or why that is not known; ``""`` where
    none does.

    ``hide``: of :attr:`slinky_iac.drain.settings.Settings.hide`. ``cluster``: ClusterName of the stack's slurmctld.
    """
    try:
        with connected(way, budget_s=BUDGET_S) as session:
            change = ending(session, namespace, selector)
            found = losers(change, jobs_view(session, cluster, hide)) if change else ()
    except SlinkyError as error:
        return f"its pods would be replaced, and it is unknown which jobs run from them: {error}"
    return f"its pods would be replaced, which ends {jobs_in_words(found)} of srun and salloc" if found else ""


def forgotten_jobs(way: Reach, hide: str, cluster: str) -> str:
    """Whose jobs a slurmctld that keeps no state forgets when its pod restarts, or why that is not known; ``""`` where there
    is none. ``hide`` and ``cluster``: as of :func:`session_jobs`."""
    try:
        with connected(way, budget_s=BUDGET_S) as session:
            found = losers(Change(slurmctld=True), jobs_view(session, cluster, hide))
    except SlinkyError as error:
        return f"it is unknown which jobs would be forgotten: {error}"
    return f"{jobs_in_words(found)} would be forgotten" if found else ""
