"""What slurmdbd says of jobs: before pods go of which slurmctld knows nothing, and afterwards of those that a drain met.

A drain ends only when its nodes are free, so no job should be lost. Whether that is so, only the accounts can tell. A job is
lost where one of its runs ended NODE_FAIL on such a node since the drain began: so slurmctld ends a job whose node goes,
requeued or not. What its user, its own limit, a preemption or the drain's policy ended is not lost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from slinky_iac.drain.protocol import Cancel, Drain, Observation, Requeue, Step, Undrain
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import GateSettings, Owner, Settings
from slinky_iac.drain.tags import tag_of
from slinky_iac.drain.words import iso, whose
from slinky_iac.errors import DrainLost, SlurmrestError
from slinky_iac.kube.objects import Pod
from slinky_iac.slurmrest.daemons import Accounted
from slinky_iac.slurmrest.objects import Job
from slinky_iac.text import counted

LOST: Final = "NODE_FAIL"
BUDGET_S: Final = 15.0
"""Seconds for one question: where there is no slurmdbd, an update shall not wait for it."""
ROUNDS: Final = 10
"""Questions, a second apart, until slurmdbd has heard of the end of every job: slurmctld tells it with a delay."""


@dataclass
class Met:
    """Nodes that a run drained and the jobs that it saw there, from all its looks."""

    owner: Owner
    nodes: set[str] = field(default_factory=set)
    jobs: dict[int, Job] = field(default_factory=dict)
    since: int | None = None
    """When the first of these nodes was drained, by slurmctld's clock."""
    ended: set[int | str] = field(default_factory=set)
    """Handles of jobs that the policy ended."""
    kept: set[int] = field(default_factory=set)
    """Jobs that ran on a node when it was returned: their end is not waited for."""
    there: dict[str, frozenset[int]] = field(default_factory=dict)
    """Jobs by node in the last look, of nodes that were drained then."""
    anywhere: bool = False
    """A job that was met is lost by a NODE_FAIL on any node: the run was not about nodes alone."""
    stands: str = "The nodes are gone as asked for: `pulumi up` again ends well."
    """What is so after a loss, and what to do."""
    last: Observation | None = None
    """The look that decided the step that :meth:`did` gets."""

    def see(self, seen: Observation) -> None:
        """Add what a look shows."""
        self.last = seen
        if seen.cluster is None:
            return
        self.there = {}
        for pod in seen.pods:
            record = seen.cluster.nodes.get(pod.slurm_node)
            if record is None or not record.drained_or_draining:
                continue
            if not self.owner.owns(record.reason) and tag_of(pod, self.owner) is None:
                continue
            self.nodes.add(pod.slurm_node)
            jobs = {job.job_id: job for job in seen.cluster.jobs(pod.slurm_node)}
            self.jobs |= jobs
            self.there[pod.slurm_node] = frozenset(jobs)
            began = seen.now if record.reason_changed_at.value is None else record.reason_changed_at.value
            self.since = began if self.since is None else min(self.since, began)

    def wait_for(self, jobs: Iterable[Job], now: int, nodes: Iterable[str] = ()) -> None:
        """Add jobs that a look shows, and the nodes that they have to leave."""
        active_jobs = {job.job_id: job for job in jobs if job.active}
        if active_jobs:
            self.nodes |= set(nodes)
            self.jobs |= active_jobs
            self.since = now if self.since is None else self.since

    def did(self, step: Step) -> None:
        """Add what the policy did to jobs, and which jobs continue since their nodes were returned. Jobs of nodes that were
        just drained are met too: they may end before the next look."""
        match step:
            case Drain(nodes) if self.last is not None and self.last.cluster is not None:
                for name in nodes:
                    self.wait_for(self.last.cluster.jobs(name), self.last.now, [name])
            case Requeue(jobs) | Cancel(jobs):
                self.ended |= set(jobs)
            case Undrain(nodes):
                still = set().union(*(jobs for name, jobs in self.there.items() if name not in nodes))
                self.kept |= {job for name in nodes for job in self.there.get(name, ())} - still
            case _:
                pass


def still_running(session: Session, settings: GateSettings, pods: Collection[Pod]) -> str:
    """Jobs that run, by slurmdbd, on pods whose nodes slurmctld has no record of; ``""`` where there is none.

    A slurmctld that lost its state knows neither, and pods do not register a second time. Only runs younger than their pod
    count: earlier ones ended with an earlier pod. Where slurmdbd does not answer, that is said, and nothing held up.
    """
    made = {pod.slurm_node: pod.created for pod in pods}
    if not made:
        return ""
    unknown = f"slurmctld has no record of {', '.join(sorted(made)[:8])}"
    try:
        since, cluster = min(made.values()), settings.cluster
        runs = session.slurm.running(since, cluster=cluster, budget_s=BUDGET_S)
    except SlurmrestError as error:
        text = f"{unknown}, and slurmdbd could not be asked for jobs there: {error}"
        session.report(text, severity="warning", keep=True)
        return ""
    there = {run.job_id for run in runs for node in run.node_names if node in made and run.time.start >= made[node]}
    if not there:
        return ""
    return (
        f"{unknown}, and by slurmdbd these jobs run there: {_numbers(there)}. slurmctld may have lost its state"
        " (StateSaveLocation). Give it its state back, and the gate waits for the jobs; or, if they are over,"
        " `sacctmgr show runawayjobs` ends them in slurmdbd"
    )


def prove(session: Session, settings: Settings, met: Met) -> str:
    """What became of the jobs, in a sentence; ``""`` where nothing was drained. Told as the run's last words, too.

    Raises DrainLost where slurmdbd says that a job was lost.
    """
    if met.since is None:
        return ""
    try:
        runs = _asked(session, settings, met)
    except SlurmrestError as error:
        text = (
            f"{counted(len(met.jobs))} met by the drain; slurmdbd could not be asked, so it is not proven that none was"
            f" lost: {error}"
        )
        session.report(f"{settings.owner.text}: {text}", keep=True)
        return text
    lost = lost_runs(runs, met)
    if lost:
        raise DrainLost(_lost_in_words(settings, met, lost))
    text = _in_words(met, runs)
    session.report(f"{settings.owner.text}: {text}", keep=True)
    return text


def _asked(session: Session, settings: Settings, met: Met) -> tuple[Accounted, ...]:
    """Runs of the jobs that the drain met, and of any other that ended with its node meanwhile."""
    cluster = settings.cluster
    runs: tuple[Accounted, ...] = ()
    for asked in range(ROUNDS):
        runs = session.slurm.accounted(met.jobs, cluster=cluster, budget_s=BUDGET_S)
        if not open_jobs(runs, met) or asked == ROUNDS - 1 or session.pause(1):
            break
    failed = session.slurm.failed_since(met.since or 0, cluster=cluster, budget_s=BUDGET_S)
    return tuple(dict.fromkeys((*runs, *failed)))


def open_jobs(runs: Collection[Accounted], met: Met) -> set[int]:
    """Jobs that slurmdbd doesn't know, or of whose end it hasn't heard since the drain began. Not those that continue."""
    since = met.since or 0
    return met.jobs.keys() - met.kept - {run.job_id for run in runs if not run.goes_on and run.time.end >= since}


def lost_runs(runs: Collection[Accounted], met: Met) -> tuple[Accounted, ...]:
    """Runs that ended with one of these nodes since the drain began. Of a job that was met, one of no known node is one."""
    failed = (run for run in runs if LOST in run.state.current and (not run.time.end or run.time.end >= (met.since or 0)))
    return tuple(
        run
        for run in failed
        if not met.nodes.isdisjoint(run.node_names) or (run.job_id in met.jobs and (met.anywhere or not run.node_names))
    )


def _in_words(met: Met, runs: Collection[Accounted]) -> str:
    """``14 jobs ran on, 0 lost``."""
    ended = {number for number, job in met.jobs.items() if job.handle in met.ended}
    unheard = open_jobs(runs, met) - ended
    kept = met.kept & met.jobs.keys() - ended
    parts = [f"{counted(len(met.jobs) - len(ended) - len(unheard) - len(kept))} ran on"]
    parts += [f"{len(kept)} on returned nodes, whose end was not waited for"] if kept else []
    parts += [f"{len(ended)} ended as onDeadline says"] if ended else []
    parts += [f"{len(unheard)} of whose end slurmdbd has not heard ({_numbers(unheard)})"] if unheard else []
    return ", ".join([*parts, "0 lost"])


def _lost_in_words(settings: Settings, met: Met, lost: Collection[Accounted]) -> str:
    jobs: Mapping[int, Accounted] = {run.job_id: run for run in lost}
    text = "; ".join(_lost(run, met.jobs.get(number)) for number, run in sorted(jobs.items())[:8])
    return (
        f"{settings.owner.text}: {len(jobs)} job(s) of {len({*met.jobs, *jobs})} lost with their nodes, by slurmdbd: {text}."
        f" Tell their users; `sacct -D -j {_numbers(jobs)}` shows each run. A job that slurmctld has not requeued must be"
        f" submitted again. {met.stands} Please report it: no job should be lost by a drain"
    )


def _lost(run: Accounted, job: Job | None) -> str:
    who = str(run.job_id) if job is None else whose(job)
    return f"{who} ({'+'.join(sorted(run.state.current))} on {', '.join(run.node_names[:4])} at {iso(run.time.end or None)})"


def _numbers(jobs: Collection[int]) -> str:
    shown = ",".join(str(number) for number in sorted(jobs)[:8])
    return shown if len(jobs) <= 8 else f"{shown},…"
