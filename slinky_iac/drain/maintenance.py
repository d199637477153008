"""Bare-metal slurmd hosts: drained, held and returned by `pulumi up`, by the same rules as pods.

Wanted are a set of held hosts and a set of active ones. Only hosts that the configuration names, or named until now, are
looked at, and only drains of ours are lifted. A host that a person has drained counts as held, and is neither renamed nor
returned by us; one that a person has marked without draining it can't be drained without overwriting their words, so it is
refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.closed import Record
from slinky_iac.drain.cost import overwrites
from slinky_iac.drain.driver import Task, drive
from slinky_iac.drain.free import registered_wrongly, why_not_free
from slinky_iac.drain.lease import RENEW_S
from slinky_iac.drain.members import wrongly
from slinky_iac.drain.observe import cluster_view, require_cluster
from slinky_iac.drain.plan import planned_job
from slinky_iac.drain.proof import Met, prove
from slinky_iac.drain.protocol import Done, Drain, Step, Stop, Undrain, Wait
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import OutsideSettings, Owner
from slinky_iac.drain.words import distinct, marked_by, named, waiting_line
from slinky_iac.drain.written_plan import SCHEMA, Plan
from slinky_iac.errors import (
    DrainDeadline,
    KubeNotFound,
    SlinkyError,
    SlurmrestElsewhere,
    SlurmrestGarbage,
    SlurmrestUnreachable,
)
from slinky_iac.slurmrest.objects import Job, Node


@dataclass(frozen=True)
class HostsPlan:
    """What one look at the hosts asks for."""

    drains: tuple[str, ...] = ()
    """Held hosts without a drain, and without anybody's words on them."""
    returns: tuple[str, ...] = ()
    """Active hosts whose drain is ours, and such that the configuration has dropped."""
    waiting: tuple[str, ...] = ()
    """A sentence for each held host that isn't free yet."""
    refused: tuple[str, ...] = ()
    """A sentence for each host that can't become what is wanted without harm to somebody's words."""
    notices: tuple[str, ...] = ()
    """A sentence for each host that is, by somebody else's drain, not quite what is wanted, and is left so."""
    unknown: tuple[str, ...] = ()
    """Wanted hosts that slurmctld doesn't know."""
    jobs: tuple[Job, ...] = ()
    """On the held hosts that aren't free."""


def plan_hosts(
    held: Sequence[str], active: Sequence[str], cluster: ClusterView, owner: Owner, now: int, dropped: Iterable[str] = ()
) -> HostsPlan:
    """Decide for hosts by name."""
    drains: list[str] = []
    returns: list[str] = []
    waiting: list[str] = []
    jobs: dict[int, Job] = {}
    refused: list[str] = []
    notices: list[str] = []
    unknown = tuple(host for host in (*held, *active) if host not in cluster.nodes)
    for host, record in _known(held, cluster):
        if trouble := overwrites(host, record, owner):
            refused.append(trouble)
            continue
        if "DRAIN" not in record.state:
            drains.append(host)
        elif record.drained_or_draining and not owner.holds(record):
            notices.append(f"{host} is held by {marked_by(record)}'s drain ({record.reason!r}), which is left as it is")
        if unfree := why_not_free(host, cluster, now):
            waiting.append(unfree)
            jobs |= {job.job_id: job for job in cluster.jobs(host)}
    for host, record in _known((*active, *dropped), cluster):
        if owner.holds(record) and registered_wrongly(record):
            notices.append(wrongly(record))
        elif owner.holds(record):
            returns.append(host)
        elif record.drained_or_draining and host in active:
            notices.append(f"{host} stays out of service by {marked_by(record)}'s drain: {record.reason!r}")
    held_by = tuple(jobs.values())
    return HostsPlan(tuple(drains), tuple(returns), tuple(waiting), tuple(refused), tuple(notices), unknown, held_by)


def _known(hosts: Iterable[str], cluster: ClusterView) -> Iterable[tuple[str, Node]]:
    return ((host, cluster.nodes[host]) for host in hosts if host in cluster.nodes)


class LinesTask(Task[tuple[str, ...]]):
    """Wait until slurmctld in Kubernetes knows new hosts: it reads their lines some time after the Controller got them."""

    settings: OutsideSettings
    doing = "maintenance"

    def look(self) -> tuple[str, ...]:
        """A sentence on what is missing; none where nothing is."""
        try:
            unknown = _decided(self.session, self.settings, _look(self.session, self.settings)).unknown
        except (SlurmrestUnreachable, SlurmrestGarbage) as error:  # a slurmctld before its first node lists none at all
            return (str(error),)
        return (f"waiting for slurmctld to read the NodeName= line of {', '.join(unknown)}",) if unknown else ()

    def ended(self, _seen: tuple[str, ...]) -> str:
        return "slurmctld has read the hosts' lines"

    def decide(self, seen: tuple[str, ...]) -> Step:
        """A line that isn't read in time is :class:`HostsTask`'s to refuse."""
        return Wait(seen[0]) if seen and self.session.now() < self.deadline_at else Done()


class HostsTask(Task[HostsPlan]):
    """Hold what is to be held, until it is free; return the rest."""

    settings: OutsideSettings
    doing = "maintenance"
    beat_s = RENEW_S

    def __init__(self, session: Session, settings: OutsideSettings) -> None:
        met = Met(settings.owner, stands="The hosts are held as asked for: `pulumi up` again ends well.")
        super().__init__(session, settings, settings.policy.deadline_s, met)

    def look(self) -> HostsPlan:
        self.beat()
        cluster = _look(self.session, self.settings)
        for host in self.settings.held:
            self.met.wait_for(cluster.jobs(host), self.session.now(), [host])
        return _decided(self.session, self.settings, cluster)

    def decide(self, seen: HostsPlan) -> Step:
        if refused := (*seen.refused, *_unknown_in_words(seen, self.settings)):
            return Stop(f"nothing was drained or returned. {'; '.join(refused)}", "blocked")
        if seen.returns:
            return Undrain(seen.returns)
        if seen.drains:
            return Drain(seen.drains, self.owner.reason("maintenance"), None)  # for as long as it takes
        if not seen.waiting:
            return Done()
        if self.session.now() >= self.deadline_at:
            return Stop(self._over("; ".join(seen.waiting)), "deadline")
        held, now = len(self.settings.held), self.session.now()
        then = "they are held for maintenance"
        return Wait(waiting_line(held - len(seen.waiting), held, seen.jobs, now, self.patience, then, "hosts"), seen.waiting)

    def ended(self, _seen: HostsPlan) -> str:
        held = named(self.settings.held)
        return f"held and free: {held}" if held else "all hosts are in service"

    def beat(self) -> None:
        Record(self.session, self.settings).keep()

    def act(self, step: Step) -> None:
        self.beat()
        super().act(step)

    def unanswered(self, error: SlinkyError) -> SlinkyError:
        return DrainDeadline(f"{self.owner.text}: {self._over(str(error))}")

    def over(self, _last: Step | None) -> SlinkyError | None:
        """A drain or a return that doesn't take."""
        if isinstance(_last, Wait) or self.session.now() < self.deadline_at:
            return None
        return DrainDeadline(f"{self.owner.text}: {self._over('slurmctld does not carry out what it accepted')}")

    def _over(self, why: str) -> str:
        return (
            f"the deadline is over and these hosts are not free: {why}. Nothing was killed, they stay drained; run `pulumi"
            " up` again to continue, or set their state to active"
        )


def maintain(session: Session, settings: OutsideSettings) -> None:
    """Drain the hosts that are to be held and wait until they are free; return those that are to work.

    Raises DrainDeadline where jobs still run at the end of the wait: the hosts stay drained; DrainLost where slurmdbd says
    that a job was lost meanwhile.
    """
    if settings.inside:
        drive(LinesTask(session, settings))
    with Record(session, settings).leased():
        task = HostsTask(session, settings)
        for text in drive(task).notices:
            session.report(text, severity="warning", keep=True)
        prove(session, settings, task.met)


def plan(session: Session, settings: OutsideSettings) -> Plan | None:
    """Which hosts will be drained and returned, and whose jobs are waited for; None where nothing is to do."""
    cluster = _look(session, settings)
    hosts_plan = _decided(session, settings, cluster)
    refused = (*hosts_plan.refused, *(() if settings.inside else _unknown_in_words(hosts_plan, settings)))
    if not hosts_plan.drains and not hosts_plan.returns and not refused:
        return None
    return Plan(
        schema=SCHEMA,
        drains=hosts_plan.drains,
        returns=hosts_plan.returns,
        jobs=tuple(map(planned_job, distinct(job for host in hosts_plan.drains for job in cluster.jobs(host)))),
        refused=refused,
        notices=hosts_plan.notices,
    )


def release(session: Session, settings: OutsideSettings) -> None:
    """Return every host that this stack holds.

    Where it was to hold none, a slurmrestd that doesn't answer is reported and stops nothing: only an update that was cut
    short can have left a drain then. Else raises what the clients raise.
    """
    try:
        cluster = _look(session, settings)
    except (SlurmrestUnreachable, SlurmrestGarbage, SlurmrestElsewhere, KubeNotFound) as error:
        if settings.held:
            raise
        left = "no bare-metal host was held by this stack, so none was returned; `scontrol show nodes` shows a drain that an"
        session.report(f"{error} {left} update cut short may have left", severity="warning", keep=True)
        return
    hosts_plan = plan_hosts((), (), cluster, settings.owner, session.now(), (*settings.held, *settings.active))
    if hosts_plan.returns:
        with Record(session, settings).leased():
            session.act(Undrain(hosts_plan.returns), settings.owner)
    if not settings.inside:  # the gate of a Controller removes its record itself
        Record(session, settings).remove()


def _unknown_in_words(hosts_plan: HostsPlan, settings: OutsideSettings) -> tuple[str, ...]:
    """A sentence for each wanted host that slurmctld doesn't know, with what to do about it."""
    todo = "give its NodeName= line to the outside slurm.conf, or take it out of external.slurmdHosts"
    if settings.inside:
        todo = (
            f"it has not read its new configuration in {settings.policy.register_deadline_s} s. Look at slurmctld's pod,"
            " then run `pulumi up` again"
        )
    return tuple(f"slurmctld knows no node {host}: {todo}" for host in hosts_plan.unknown)


def _look(session: Session, settings: OutsideSettings) -> ClusterView:
    """Raises SlurmrestElsewhere where another cluster's slurmctld answers: it may have hosts of the same names."""
    cluster = cluster_view(session.slurm, hide=settings.hide)
    require_cluster(cluster.name, settings.cluster)
    return cluster


def _decided(session: Session, settings: OutsideSettings, cluster: ClusterView) -> HostsPlan:
    return plan_hosts(settings.held, settings.active, cluster, settings.owner, session.now(), settings.dropped)
