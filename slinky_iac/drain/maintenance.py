"""Bare-metal slurmd hosts: drained, held and returned by `pulumi up`, by the same rules as pods.

Only hosts that the configuration names, or named until now, are looked at, and only drains of ours are lifted. A host that
somebody else drains counts as held.
"""

from __future__ import annotations

from typing import Any

from slinky_iac.drain.describe import job_props
from slinky_iac.drain.observe import cluster_view
from slinky_iac.drain.outside import HostsPlan, plan_hosts
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import OutsideSettings
from slinky_iac.drain.view import ClusterView
from slinky_iac.drain.waiting import rest
from slinky_iac.errors import DrainBlocked, DrainDeadline, KubeNotFound, SlurmrestGarbage, SlurmrestUnreachable


def plan(session: Session, settings: OutsideSettings) -> dict[str, Any]:
    """Which hosts will be drained and returned, and whose jobs are waited for; empty where nothing is to do."""
    cluster = cluster_view(session.slurm, hide=settings.policy.hide_by(settings.owner.stack))
    found = _decided(session, settings, cluster)
    refused = (*found.refused, *(() if settings.inside else _strangers(found, settings)))
    if not found.drains and not found.returns and not refused:
        return {}
    jobs = {job.job_id: job for host in found.drains for job in cluster.jobs(host)}
    return {
        "schema": 1,
        "drains": list(found.drains),
        "returns": list(found.returns),
        "jobs": [job_props(job) for _, job in sorted(jobs.items())],
        "refused": list(refused),
        "notices": list(found.notices),
    }


def maintain(session: Session, settings: OutsideSettings) -> None:
    """Drain the hosts that are to be held and wait until they are free; return those that are to work.

    Raises DrainDeadline where jobs still run at the end of the wait: the hosts stay drained.
    """
    if settings.inside:
        _await_lines(session, settings)
    deadline = session.now() + settings.policy.deadline_s
    while True:
        waiting = _round(session, settings)
        if not waiting:
            return
        if session.now() >= deadline:
            raise DrainDeadline(
                f"{settings.owner.text}: the deadline is over and these hosts are not free: {'; '.join(waiting)}. Nothing"
                " was killed, they stay drained; run `pulumi up` again to go on, or set their state to active"
            )
        session.report(f"waiting for {'; '.join(waiting[:3])}")
        rest(session, settings.owner, settings.policy.poll_s, "maintenance")


def release(session: Session, settings: OutsideSettings) -> None:
    """Return every host that this stack holds.

    Where it was to hold none, a slurmrestd that doesn't answer is told and stops nothing: only an update that was cut short
    can have left a drain then. Else raises what the clients raise.
    """
    try:
        cluster = cluster_view(session.slurm, hide=settings.policy.hide_by(settings.owner.stack))
    except (SlurmrestUnreachable, SlurmrestGarbage, KubeNotFound) as error:
        if settings.held:
            raise
        left = "no bare-metal host was held by this stack, so none was returned; `scontrol show nodes` shows a drain that an"
        session.report(f"{error} {left} update cut short may have left", severity="warning", keep=True)
        return
    found = plan_hosts((), (), cluster, settings.owner, session.now(), (*settings.held, *settings.active))
    session.undrain_hosts(found.returns, settings.owner)


def _await_lines(session: Session, settings: OutsideSettings) -> None:
    """Wait until slurmctld in Kubernetes knows new hosts: it reads their lines some time after the Controller got them."""
    read_by = session.now() + settings.policy.register_deadline_s
    while session.now() < read_by:
        try:
            unknown = _decided(session, settings, cluster_view(session.slurm)).unknown
        except (SlurmrestUnreachable, SlurmrestGarbage) as error:  # a slurmctld before its first node lists none at all
            session.report(str(error))
        else:
            if not unknown:
                return
            session.report(f"waiting for slurmctld to read the NodeName= line of {', '.join(unknown)}")
        rest(session, settings.owner, settings.policy.poll_s, "maintenance")


def _round(session: Session, settings: OutsideSettings) -> tuple[str, ...]:
    """One look and what it asks for; returns what is waited for. Raises DrainBlocked where a host is somebody else's or
    slurmctld doesn't know it."""
    try:
        found = _decided(session, settings, cluster_view(session.slurm, hide=settings.policy.hide_by(settings.owner.stack)))
        if refused := (*found.refused, *_strangers(found, settings)):
            raise DrainBlocked(f"{settings.owner.text}: nothing was drained or returned. {'; '.join(refused)}")
        session.undrain_hosts(found.returns, settings.owner)
        if found.drains:
            session.drain_hosts(found.drains, settings.owner.reason("maintenance"))
    except SlurmrestUnreachable as error:
        return (str(error),)
    return found.drains or found.returns or found.waiting


def _strangers(found: HostsPlan, settings: OutsideSettings) -> tuple[str, ...]:
    """A sentence for each wanted host that slurmctld doesn't know, with what to do about it."""
    todo = "give its NodeName= line to the outside slurm.conf, or take it out of external.slurmdHosts"
    if settings.inside:
        todo = (
            f"it has not read its new configuration in {settings.policy.register_deadline_s} s. Look at slurmctld's pod,"
            " then run `pulumi up` again"
        )
    return tuple(f"slurmctld knows no node {host}: {todo}" for host in found.unknown)


def _decided(session: Session, settings: OutsideSettings, cluster: ClusterView) -> HostsPlan:
    return plan_hosts(settings.held, settings.active, cluster, settings.owner, session.now(), settings.dropped)
