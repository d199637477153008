"""KEDA's ScaledObject of a NodeSet, while its gate lowers the maximum: paused, then written and given back.

While nodes are drained, an autoscaler would replace them, and lower the number before they are free. So a gate that finds
more replicas than the new maximum pauses KEDA (its annotation, and ours that says who), waits until KEDA has removed its
HorizontalPodAutoscaler, drains, writes the number and the maximum, and takes the pause back. A run that fails takes it back
too, with the old maximum. Where the stack takes the number over from its autoscaler, KEDA stays paused until the engine
removes the ScaledObject, which it does after the gate. A run that was killed leaves the pause: the next run of the gate
takes it over, and so does `drain cancel`. A person's pause is left alone.

The mark is ``stack/nodeset run``, by which an earlier run that still continues doesn't take back a later one's pause.

Today's demand, for previews, is what the autoscaler asks for now, by slurmctld's nodes and jobs. slurmrestd says neither
which jobs are held nor how many nodes a job may take at most: held ones are counted here, and a job for its least number of
nodes. KEDA goes by slurmctld's own metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.driver import Task, drive
from slinky_iac.drain.protocol import Observation, Step, Stop, Wait
from slinky_iac.drain.scaler_steps import ScalerView, pausable, pause_step, resume_step
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import GateSettings
from slinky_iac.drain.words import whose
from slinky_iac.errors import DrainBlocked, SlinkyError
from slinky_iac.node_demand import Demand
from slinky_iac.slurmrest.objects import Job
from slinky_iac.text import counted


class ScalerTask(Task["ScalerView | None"]):
    """Pause, or give back."""

    doing = "pausing the autoscaler"

    settings: GateSettings

    def look(self) -> ScalerView | None:
        """The ScaledObject; None where there is none."""
        return self.session.scaler(self.settings)

    def decide(self, seen: ScalerView | None) -> Step:
        step = pause_step(seen, self.owner, self.session.run)
        if isinstance(step, Wait) and self.session.now() >= self.deadline_at:
            return Stop(
                f"KEDA did not stop scaling within {self.policy.register_deadline_s} s, so nothing was drained. See that its"
                " operator runs, then run `pulumi up` again",
                "deadline",
            )
        return step

    def stays(self) -> str:
        """Nothing but the pause."""
        return "Nothing was drained; the next run takes the pause over."


class ResumeTask(ScalerTask):
    """Give the autoscaler back."""

    doing = "giving the autoscaler back"

    def __init__(self, session: Session, settings: GateSettings, run: str, max_replicas: int | None) -> None:
        super().__init__(session, settings)
        self._run = run
        self._max_replicas = max_replicas

    def decide(self, seen: ScalerView | None) -> Step:
        return resume_step(seen, self.owner, self._run, self._max_replicas)

    def stays(self) -> str:
        return "The autoscaler stays paused; `pulumi up` resumes it."

    def over(self, _last: Step | None) -> SlinkyError | None:
        if self.session.now() < self.deadline_at:
            return None
        return DrainBlocked(f"{self.owner.text}: the autoscaler is still paused. Run `pulumi up` again, which resumes it")


@contextmanager
def standing_still(session: Session, settings: GateSettings, current: int) -> Iterator[bool]:
    """Inside of it KEDA scales nothing, where there are more replicas than the maximum or an earlier run paused it; yields
    whether that is so. After it KEDA continues: with the maximum of the settings, or after an error as before."""
    seen = _seen(session, settings)
    if seen is None or not (settings.leaving or current > settings.target or seen.is_ours(settings.owner)):
        yield False
        return
    try:
        drive(ScalerTask(session, settings))
        yield True
    except SlinkyError:
        _give_back_after_error(session, settings)
        raise
    if not settings.leaving:  # it stays paused until the engine removes it, else it would write the stack's number
        drive(ResumeTask(session, settings, session.run, settings.target))


def _give_back_after_error(session: Session, settings: GateSettings) -> None:
    if not session.engine_lives():
        return  # the next run may have begun, and takes the pause over
    try:
        drive(ResumeTask(session, settings, session.run, None))
    except SlinkyError as error:
        session.report(f"the autoscaler stays paused: {error}", severity="warning", keep=True)


def stop_for_removal(session: Session, settings: GateSettings) -> None:
    """Before a NodeSet is removed: an autoscaler that is still there adds no pod any more. Pulumi removes it before."""
    if _seen(session, settings) is not None:
        drive(ScalerTask(session, settings))


def give_back(session: Session, settings: GateSettings) -> int:
    """Take back a pause of any run of this gate; returns how many steps it took."""
    seen = _seen(session, settings)
    if seen is None or not seen.is_ours(settings.owner):
        return 0
    drive(ResumeTask(session, settings, "", None))
    return 1


def _seen(session: Session, settings: GateSettings) -> ScalerView | None:
    return session.scaler(settings) if pausable(settings) else None


@dataclass(frozen=True)
class Today:
    """One look."""

    demand: Demand
    replicas: int
    too_wide: tuple[Job, ...] = ()
    """Jobs that wait for more nodes than the maximum."""
    elsewhere: int = 0
    """Of the jobs that wait, those that name other partitions too: slurmctld counts each in one only (``part_ptr``)."""


def today(seen: Observation, settings: GateSettings) -> Today | None:
    """The demand in a look; None where Slurm or the NodeSet gave no answer, or not all jobs that wait were read."""
    if seen.cluster is None or seen.nodeset is None or seen.cluster.queue_left_out:
        return None
    waiting = tuple(job for job in seen.cluster.queue if job.waits and settings.owner.nodeset in job.partitions)
    widest = max((job.least for job in waiting), default=0)
    too_wide = tuple(job for job in waiting if job.least > settings.max_replicas and len(job.partitions) == 1)
    elsewhere = sum(len(job.partitions) > 1 for job in waiting)
    return Today(_demand(seen, seen.cluster, len(waiting), widest), seen.nodeset.spec.replicas, too_wide, elsewhere)


def _demand(seen: Observation, cluster: ClusterView, pending: int, widest: int) -> Demand:
    records = [cluster.nodes[pod.slurm_node] for pod in seen.pods if pod.slurm_node in cluster.nodes]
    busy = [node for node in records if node.busy]
    calm = [node for node in records if not node.busy]
    return Demand(
        alloc=len(busy),
        idle=len(calm),
        drained=sum(node.drained_or_draining for node in calm),
        nodes=len(records),
        pending=pending,
        # By job and in the whole cluster, as slurmctld's metric and so the autoscaler counts.
        suspended=sum("SUSPENDED" in job.job_state for job in cluster.unfinished),
        narrow=widest,
        wide=widest,
    )


def in_words(found: Today | None, settings: GateSettings) -> Iterator[tuple[str, bool]]:
    """Sentences for a preview, and whether each is a warning. None: not known, which isn't no demand."""
    name = settings.owner.nodeset
    if found is None:
        yield f"{name}: today's demand is not known: Slurm gave no answer, or too many jobs wait to read them all", False
        return
    demand = found.demand
    wait = f"{counted(demand.waiting, 'job')} wait" if demand.waiting != 1 else "1 job waits"
    widest = f", the widest for {counted(demand.narrow, 'node')}" if demand.narrow > 1 else ""
    asked = demand.asked(settings.step, settings.least, settings.max_replicas)
    if found.elsewhere:
        widest += f" ({found.elsewhere} of them in other partitions too, and slurmctld counts each in one)"
    yield (
        f"{name}: {counted(demand.busy, 'node')} busy, {wait}{widest}: the autoscaler asks for {asked} of at most"
        f" {settings.max_replicas}, and has {found.replicas}",
        False,
    )
    if found.too_wide:
        yield (
            f"{name}: {_some(found.too_wide)}. With maxReplicas {settings.max_replicas} it never starts here, and it keeps"
            " the autoscaler at its maximum. Raise maxReplicas, or cancel the job",
            True,
        )


def _some(jobs: Sequence[Job]) -> str:
    widest = max(jobs, key=lambda job: job.least)
    more = f", as {counted(len(jobs) - 1, 'other job')} does" if len(jobs) > 1 else ""
    return f"job {whose(widest)} waits for {widest.least} nodes{more}"
