"""Bare-metal slurmd hosts: drained, held and returned by `pulumi up`, by the same rules as pods.

Only hosts that the configuration names are looked at, and only drains of ours are lifted. A host that somebody else
drains counts as held.
"""

from __future__ import annotations

from typing import Any

from slinky_iac.drain.describe import job_props
from slinky_iac.drain.free import Free, verdict
from slinky_iac.drain.observe import cluster_view
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import OutsideSettings
from slinky_iac.drain.view import ClusterView
from slinky_iac.errors import DrainBlocked, DrainDeadline, SlurmrestUnreachable


def plan(session: Session, settings: OutsideSettings) -> dict[str, Any]:
    """Which hosts will be drained and returned, and whose jobs are waited for; empty where nothing is to do."""
    cluster = cluster_view(session.slurm)
    drains, returns = _changes(settings, cluster)
    if not drains and not returns:
        return {}
    jobs = {job.job_id: job for host in drains for job in cluster.jobs(host)}
    return {
        "schema": 1,
        "drains": list(drains),
        "returns": list(returns),
        "jobs": [job_props(job) for _, job in sorted(jobs.items())],
    }


def maintain(session: Session, settings: OutsideSettings) -> None:
    """Drain the hosts that are to be held and wait until they are free; return those that are to work.

    Raises DrainDeadline where jobs still run at the end of the wait: the hosts stay drained.
    """
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
        if session.pause(settings.policy.poll_s):
            raise DrainBlocked(f"{settings.owner.text}: interrupted; what is drained stays drained, `pulumi up` goes on")


def release(session: Session, settings: OutsideSettings) -> None:
    """Return every host that this stack holds."""
    cluster = cluster_view(session.slurm)
    session.undrain_hosts(_ours(settings, cluster, (*settings.held, *settings.active)), settings.owner)


def _round(session: Session, settings: OutsideSettings) -> tuple[str, ...]:
    """One look and what it asks for; returns what is waited for."""
    try:
        cluster = cluster_view(session.slurm)
        unknown = [host for host in (*settings.held, *settings.active) if host not in cluster.nodes]
        if unknown:
            raise DrainBlocked(
                f"{settings.owner.text}: slurmctld knows no node {', '.join(unknown)}; nothing was drained. Give its"
                " NodeName= line to the outside slurm.conf, or take it out of external.slurmdHosts"
            )
        drains, returns = _changes(settings, cluster)
        if returns:
            session.undrain_hosts(returns, settings.owner)
        if drains:
            session.drain_hosts(drains, settings.owner.reason("maintenance"))
        if drains or returns:
            return tuple(drains or returns)
        return tuple(f"{host}: {why}" for host in settings.held if (why := _not_free(host, cluster, session.now())))
    except SlurmrestUnreachable as error:
        return (str(error),)


def _not_free(host: str, cluster: ClusterView, now: int) -> str:
    judged = verdict(host, cluster, now)
    return "" if isinstance(judged, Free) else judged.why


def _changes(settings: OutsideSettings, cluster: ClusterView) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Hosts to drain (not held by anybody) and hosts to return (held by us)."""
    drains = tuple(host for host in settings.held if host in cluster.nodes and not cluster.nodes[host].drained_flag)
    return drains, _ours(settings, cluster, settings.active)


def _ours(settings: OutsideSettings, cluster: ClusterView, hosts: tuple[str, ...]) -> tuple[str, ...]:
    records = (cluster.nodes.get(host) for host in hosts)
    return tuple(
        record.name
        for record in records
        if record is not None and record.drained_flag and settings.owner.owns(record.reason)
    )
