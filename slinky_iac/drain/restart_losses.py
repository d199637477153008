"""Jobs that an update ends that Pulumi alone writes: with the login pods that they run from, and with a slurmctld that keeps
no state. A hook asks right before the write."""

from __future__ import annotations

from collections.abc import Callable

from slinky_iac.cluster.connection import Connection, connected
from slinky_iac.cluster.reach import Reach
from slinky_iac.drain.losses import Change, losers
from slinky_iac.drain.observe import PREVIEW_S, jobs_view
from slinky_iac.drain.sessions import ending
from slinky_iac.drain.words import jobs_in_words
from slinky_iac.errors import SlinkyError


def session_jobs(way: Reach, namespace: str, selector: str, hide: str, cluster: str) -> str:
    """Whose jobs lose their srun or salloc where the pods of a selector are replaced, or why that is not known; ``""`` where
    none does.

    ``hide``: of :attr:`slinky_iac.drain.settings.Settings.hide`. ``cluster``: ClusterName of the stack's slurmctld.
    """
    ends = "its pods would be replaced, "
    unknown, known = f"{ends}and it is unknown which jobs run from them", f"{ends}which ends {{}} of srun and salloc"
    return _lost(way, hide, cluster, lambda session: ending(session, namespace, selector), unknown, known)


def forgotten_jobs(way: Reach, hide: str, cluster: str) -> str:
    """Whose jobs a slurmctld that keeps no state forgets when its pod restarts, or why that is not known; ``""`` where there
    is none. ``hide`` and ``cluster``: as of :func:`session_jobs`."""
    unknown, known = "it is unknown which jobs would be forgotten", "{} would be forgotten"
    return _lost(way, hide, cluster, lambda _: Change(slurmctld=True), unknown, known)


def _lost(way: Reach, hide: str, cluster: str, what: Callable[[Connection], Change], unknown: str, known: str) -> str:
    try:
        with connected(way, budget_s=PREVIEW_S) as session:
            change = what(session)
            lost_jobs = losers(change, jobs_view(session, cluster, hide)) if change else ()
    except SlinkyError as error:
        return f"{unknown}: {error}"
    return known.format(jobs_in_words(lost_jobs)) if lost_jobs else ""
