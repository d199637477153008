"""Jobs that end with a login pod: those that srun or salloc hold from it.

A job of sbatch goes on without the host where it was submitted. An srun ends its job when it is killed; salloc's allocation
stays, without the shell that used it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from slinky_iac.cluster.reach import Reach
from slinky_iac.drain.observe import job_view
from slinky_iac.drain.session import open_session
from slinky_iac.drain.text import jobs_in_words
from slinky_iac.drain.view import JobView
from slinky_iac.errors import SlinkyError
from slinky_iac.kube.login_pods import login_hosts
from slinky_iac.slurmrest.objects import Job

BUDGET_S: Final = 20.0


def in_the_way(way: Reach, loginset: str, hide: str) -> str:
    """Whose jobs a replacement of the login set's pods ends, or why that is not known; ``""`` where none does.

    ``hide``: of :meth:`slinky_iac.drain.policy.DrainPolicy.hide_by`.
    """
    try:
        with open_session(way, "", budget_s=BUDGET_S, report=_silent) as session:
            hosts = login_hosts(session.kube, way.namespace, loginset)
            found = interactive(session.slurm.jobs().jobs, hosts, hide) if hosts else ()
    except SlinkyError as error:
        return f"its pods would be replaced, and which jobs run from them is not known: {error}"
    return f"its pods would be replaced, and with them end {jobs_in_words(found)} of srun and salloc" if found else ""


def interactive(jobs: Iterable[Job], hosts: Collection[str], hide: str = "") -> tuple[JobView, ...]:
    """Jobs that srun or salloc asked for on one of ``hosts`` and that are not over. One that waits is one too."""
    names = {_label(host) for host in hosts}
    here = (job for job in jobs if not job.batch_flag and _label(job.allocating_node) in names)
    views = (job_view(job, hide) for job in here)
    return tuple(view for view in views if view.active or "PENDING" in view.states)


def _label(host: str) -> str:
    """slurmctld is told the host's name up to its first dot (gethostname_short)."""
    return host.partition(".")[0].casefold()


def _silent(message: str, *, severity: str = "info", keep: bool = False) -> None:
    del message, severity, keep
