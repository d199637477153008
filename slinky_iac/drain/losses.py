"""Who loses a job by a change? The one rule: a preview shows its answer, limits count it, a gate waits until it is empty.
Pure.

Jobs end without their owners' doing in five ways:

* the slurmd that they run on ends: a pod, or a host whose resources or address change under it;
* the record of a node leaves slurmctld: every job that is on it, and every job whose ``--nodelist`` names it, wherever that
  runs or waits. A line that goes, a record that is deleted, and MaxNodeCount under the number of nodes do the same;
* the partition that they run in leaves, or each one of those that they wait in;
* slurmctld ends without its state, or for good: all that isn't over;
* the host ends where srun or salloc runs that asked for them.

slurmctld reads its jobs again with every new slurm.conf (``_sync_jobs_to_conf``, ``_sync_detail_bitmaps``,
``valid_job_resources``, ``gres_job_revalidate`` in read_config.c and gres.c; 24.11 to 26.05), and ends what has lost one of
these as NODE_FAIL. Jobs that can't be read count wherever that can't be excluded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Final

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.slurmrest.objects import UNREADABLE, Job, Node, by_comma

THE_QUEUE: Final = "the queue"
"""What a job that waits loses with slurmctld."""


@dataclass(frozen=True)
class Change:
    """What ends. Names are Slurm's."""

    nodes: frozenset[str] = frozenset()
    """Nodes whose slurmd ends, for good or for a new one of the same name: pods, and hosts that get other resources or
    another address."""
    records: frozenset[str] = frozenset()
    """Nodes whose record leaves slurmctld."""
    partitions: frozenset[str] = frozenset()
    max_nodes: int | None = None
    """MaxNodeCount from now on; None where it isn't lowered."""
    gres: frozenset[str] = frozenset()
    """Types that leave GresTypes."""
    slurmctld: bool = False
    """slurmctld ends and its state with it."""
    sessions: frozenset[str] = frozenset()
    """Hosts of srun and salloc that end: login pods, and pods of clients. As :meth:`of_hosts` makes them."""

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) != field.default for field in fields(self))

    @property
    def hosts(self) -> tuple[str, ...]:
        """Nodes that must be free."""
        return tuple(sorted(self.nodes | self.records))

    @classmethod
    def of_hosts(cls, hosts: Iterable[str]) -> Change:
        """The end of hosts of srun and salloc, as Kubernetes names them."""
        return cls(sessions=frozenset(map(_short, hosts)))


@dataclass(frozen=True)
class Loss:
    """A job that the change ends, and the first thing that it loses by it."""

    job: Job
    what: str
    """``partition batch``, ``node gpu-1``, ``node gpu-1, by --nodelist``, ``the queue``."""


def who_loses(change: Change, cluster: ClusterView) -> tuple[Loss, ...]:
    """Each job that isn't over and that the change would end, once, running ones first."""
    if not change:
        return ()
    losses = (Loss(job, what) for job in _concerned(change, cluster) if (what := next(_lost(job, change, cluster), "")))
    return tuple(sorted(losses, key=lambda loss: (loss.job.waits, loss.job.job_id)))


def losers(change: Change, cluster: ClusterView) -> tuple[Job, ...]:
    """The jobs alone."""
    return tuple(loss.job for loss in who_loses(change, cluster))


def held_on(node: str, cluster: ClusterView) -> tuple[Job, ...]:
    """The jobs that hold up the end of one node and of its record: those on it, then those that run elsewhere and name it.
    One that waits holds nothing up."""
    there = cluster.jobs(node)
    if node not in cluster.nodes:
        return there
    return (*there, *(job for name in (node, None) for job in cluster.naming.get(name, ()) if not job.waits))


def named_by(nodes: Iterable[str], cluster: ClusterView) -> dict[str, tuple[Job, ...]]:
    """Jobs by the name of each of these nodes that their ``--nodelist`` names and that they are not on."""
    unread = cluster.naming.get(None, ())
    jobs_by_node = {node: (*cluster.naming.get(node, ()), *unread) for node in sorted(nodes)}
    return {node: jobs for node, jobs in jobs_by_node.items() if jobs}


def _concerned(change: Change, cluster: ClusterView) -> Iterable[Job]:
    """Jobs that may lose: of nodes and records alone those that are there, or name them."""
    if replace(change, nodes=frozenset(), records=frozenset()):
        return cluster.unfinished
    ends = change.nodes | change.records
    there = [job for node in ends for job in cluster.jobs(node)]
    naming = [job for node in (*change.records, None) for job in cluster.naming.get(node, ())] if change.records else []
    return {job.job_id: job for job in (*there, *cluster.unplaced, *naming)}.values()


def _lost(job: Job, change: Change, cluster: ClusterView) -> Iterator[str]:
    """What the job loses, in order of importance."""
    if _loses_partition(job, change.partitions):
        yield f"partition {job.partitions[0]}" if job.partitions else "a partition that can't be read"
    yield from (f"node {name}" for name in job.node_names if name in change.nodes or name in change.records)
    if job.unplaced and (change.nodes or change.records):
        yield "a node that can't be read"
    if change.records and job.required is None:
        yield "a node, by a --nodelist that can't be read"
    yield from (f"node {name}, by --nodelist" for name in sorted(change.records.intersection(job.required or ())))
    if change.max_nodes is not None and len(cluster.nodes) > change.max_nodes and job.active:
        yield f"its node, as slurmctld would have room for {change.max_nodes} of {len(cluster.nodes)}"
    if change.gres and job.active:
        yield from (
            f"{kind} of {name}" for name in job.node_names for kind in sorted(gres_of(cluster.nodes.get(name)) & change.gres)
        )
    if change.slurmctld:
        yield THE_QUEUE if job.waits else "slurmctld"
    if change.sessions and UNREADABLE in job.job_state:
        yield "an srun or salloc that can't be read"
    if change.sessions and not job.batch_flag and (host := _short(job.allocating_node)) in change.sessions:
        yield f"its srun or salloc in {host}"


def stays_lost(job: Job, change: Change) -> bool:
    """Whether a job that runs would lose all the same once it is requeued: it then waits in the same partitions, with the
    same ``--nodelist``, and nothing requeues an srun or salloc."""
    named = change.records if job.required is None else change.records.intersection(job.required)
    return change.slurmctld or bool(change.sessions or named) or _loses_partition(job, change.partitions)


def _loses_partition(job: Job, going: frozenset[str]) -> bool:
    """A job runs in the first of its partitions, and waits in all of them. So it counts where they can't be read."""
    own = job.partitions
    return bool(going) and (not own or (own[0] in going if not job.waits else going.issuperset(own)))


def gres_of(record: Node | None) -> frozenset[str]:
    """Names of the generic resources of a node."""
    text = "" if record is None else record.gres
    return frozenset(item.partition(":")[0].partition("(")[0] for item in by_comma(text))


def _short(host: str) -> str:
    """A host as srun and salloc send it: up to its first dot (gethostname_short), in small letters."""
    return host.partition(".")[0].casefold()
