"""Jobs that end without a drain: with the login pods that they run from, and with a slurmctld that keeps no state."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from slinky_iac.cluster.connection import connected
from slinky_iac.cluster.reach import Reach
from slinky_iac.drain.observe import another_cluster, shown
from slinky_iac.drain.words import jobs_in_words
from slinky_iac.errors import SlinkyError
from slinky_iac.kube.pods import login_hosts
from slinky_iac.slurmrest.objects import Job

BUDGET_S: Final = 20.0
"""Seconds that one question may take: a preview is looked at by somebody who waits."""


def login_jobs(way: Reach, loginset: str, hide: str, cluster: str) -> str:
    """Whose jobs a replacement of the login set's pods ends, or why that is not known; ``""`` where none does.

    A job of sbatch continues without the host where it was submitted. An srun ends its job when it is killed; salloc's
    allocation stays, without the shell that used it.

    ``hide``: of :attr:`slinky_iac.drain.settings.Settings.hide`. ``cluster``: ClusterName of the stack's slurmctld.
    """
    unknown = "its pods would be replaced, and it is unknown which jobs run from them:"
    try:
        with connected(way, budget_s=BUDGET_S) as session:
            hosts = login_hosts(session.kube, way.namespace, loginset)
            if not hosts:
                return ""
            jobs = session.slurm.jobs_after(session.steady(), wanted="live")
            if another := another_cluster(session.slurm, jobs, cluster):
                return f"{unknown} {another}"
            found = interactive(jobs.jobs, hosts, hide)
    except SlinkyError as error:
        return f"{unknown} {error}"
    return f"its pods would be replaced, which ends {jobs_in_words(found)} of srun and salloc" if found else ""


def forgotten_jobs(way: Reach, hide: str, cluster: str) -> str:
    """Whose jobs a slurmctld that keeps no state forgets when its pod restarts, or why that is not known; ``""`` where there
    is none. ``hide`` and ``cluster``: as of :func:`login_jobs`."""
    unknown = "it is unknown which jobs would be forgotten:"
    try:
        with connected(way, budget_s=BUDGET_S) as session:
            jobs = session.slurm.jobs()
            if another := another_cluster(session.slurm, jobs, cluster):
                return f"{unknown} {another}"
            found = unfinished(jobs.jobs, hide)
    except SlinkyError as error:
        return f"{unknown} {error}"
    return f"{jobs_in_words(found)} would be forgotten" if found else ""


def unfinished(jobs: Iterable[Job], hide: str = "") -> tuple[Job, ...]:
    """Jobs that run or wait."""
    return tuple(shown(job, hide) for job in jobs if not job.over)


def interactive(jobs: Iterable[Job], hosts: Collection[str], hide: str = "") -> tuple[Job, ...]:
    """Jobs that srun or salloc asked for on one of ``hosts`` and that are not over. One that waits is one too."""
    names = {_label(host) for host in hosts}
    here = (job for job in jobs if not job.batch_flag and _label(job.allocating_node) in names)
    return unfinished(here, hide)


def _label(host: str) -> str:
    """srun and salloc send the host's name up to its first dot (gethostname_short)."""
    return host.partition(".")[0].casefold()
