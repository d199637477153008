"""Today's demand, for previews: what the autoscaler asks for now, by slurmctld's nodes and jobs.

slurmrestd says neither which jobs are held nor how many nodes a job may take at most: held ones are counted here, and a job
for its least number of nodes. KEDA goes by slurmctld's own metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.settings import GateSettings
from slinky_iac.drain.words import whose
from slinky_iac.node_demand import Demand
from slinky_iac.parts.autoscale.pause_steps import Told
from slinky_iac.slurmrest.objects import Job
from slinky_iac.text import counted


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


def in_words(look: Today | None, settings: GateSettings) -> Iterator[tuple[str, bool]]:
    """Sentences for a preview, and whether each is a warning. None: not known, which isn't no demand."""
    name = settings.owner.nodeset
    if look is None:
        yield f"{name}: today's demand is not known: Slurm gave no answer, or too many jobs wait to read them all", False
        return
    demand, told = look.demand, Told.of(settings)
    wait = f"{counted(demand.waiting, 'job')} wait" if demand.waiting != 1 else "1 job waits"
    widest = f", the widest for {counted(demand.narrow, 'node')}" if demand.narrow > 1 else ""
    asked = demand.asked(told.step, told.least, settings.max_replicas)
    if look.elsewhere:
        widest += f" ({look.elsewhere} of them in other partitions too, and slurmctld counts each in one)"
    yield (
        f"{name}: {counted(demand.busy, 'node')} busy, {wait}{widest}: the autoscaler asks for {asked} of at most"
        f" {settings.max_replicas}, and has {look.replicas}",
        False,
    )
    if look.too_wide:
        yield (
            f"{name}: {_some(look.too_wide)}. With maxReplicas {settings.max_replicas} it never starts here, and it keeps"
            " the autoscaler at its maximum. Raise maxReplicas, or cancel the job",
            True,
        )


def _some(jobs: Sequence[Job]) -> str:
    widest = max(jobs, key=lambda job: job.least)
    more = f", as {counted(len(jobs) - 1, 'other job')} does" if len(jobs) > 1 else ""
    return f"job {whose(widest)} waits for {widest.least} nodes{more}"
