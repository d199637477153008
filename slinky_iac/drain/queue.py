"""Jobs as slurm.conf sees them: which partitions and nodes each names, whether it runs, waits or is only remembered.

slurmctld reads its jobs again with every new slurm.conf (``_sync_jobs_to_conf``, 25.11 and 26.05). A job ends NODE_FAIL,
without requeue, where it runs in a partition that is gone, where it waits and none of its partitions is left, and where
its ``--nodelist`` names a node that is gone, wherever it runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from slinky_iac.drain.observe import job_view
from slinky_iac.drain.text import jobs_in_words
from slinky_iac.drain.view import JobView
from slinky_iac.slurmrest.models import Job

_WAITS: Final = frozenset({"PENDING"})


@dataclass(frozen=True)
class Queued:
    """One job that slurmctld remembers."""

    job: JobView
    partitions: tuple[str, ...] = ()
    """In the order of ``--partition``; of a running job the first is the one that it runs in."""
    required: tuple[str, ...] | None = ()
    """Nodes of ``--nodelist``; None where they can't be read."""

    @property
    def waits(self) -> bool:
        """It is pending and holds no node."""
        return not self.job.active and bool(self.job.states & _WAITS)

    @property
    def over(self) -> bool:
        """It has ended, and slurmctld still remembers it (MinJobAge)."""
        return not self.job.active and not self.waits

    def lost_with(self, partitions: Collection[str]) -> bool:
        """Whether it would be killed if these partitions left slurm.conf; so it counts where its own can't be read."""
        if self.over:
            return False
        if not self.partitions:
            return bool(partitions)
        if self.waits:
            return set(self.partitions) <= set(partitions)
        return self.partitions[0] in partitions

    def needs(self, nodes: Collection[str]) -> bool:
        """Whether it is on one of these nodes, or names one; so it does where that can't be told."""
        if self.over:
            return False
        if self.required is None:
            return bool(nodes)
        return not set(nodes).isdisjoint((*self.job.nodes, *self.required))


def queued(job: Job, hide: str = "") -> Queued:
    """A job of slurmrestd's list."""
    names = tuple(name for name in job.partition.split(",") if name)
    return Queued(job_view(job, hide), names, job.required)


def tied_to(jobs: Iterable[Queued], leaving: Collection[str]) -> dict[str, tuple[JobView, ...]]:
    """Jobs by the name of each node that leaves and that their ``--nodelist`` names, running or waiting.

    A job that is on the node anyway is not among them. One whose list can't be read is tied to every node.
    """
    found: dict[str, list[JobView]] = {}
    going = set(leaving)
    for each in jobs:
        if each.over:
            continue
        named = going if each.required is None else going.intersection(each.required)
        for node in named.difference(each.job.nodes):
            found.setdefault(node, []).append(each.job)
    return {node: tuple(there) for node, there in found.items()}


def tied_in_words(tied: Mapping[str, tuple[JobView, ...]]) -> tuple[str, ...]:
    """A sentence for each node that is named by jobs elsewhere or in the queue."""
    return tuple(
        f"{node} is named by --nodelist of {jobs_in_words(jobs)}: slurmctld would end them once the node is gone"
        for node, jobs in sorted(tied.items())
    )
