"""One snapshot of a stack's world, as gates, status, drift, preflight and key rotations all take it: NodeSets with their
pods from Kubernetes, nodes and jobs from Slurm, in the types of the wire (:mod:`slinky_iac.kube.objects`,
:mod:`slinky_iac.slurmrest.objects`).

Order matters: pods before nodes before jobs. A node that registers meanwhile isn't taken for one without a pod. A job that
begins after the node list was made is in the job list, so what both call free was free
(facts/slurmrestd.md#when-a-node-is-free).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from slinky_iac.errors import KubeNotFound
from slinky_iac.kube.objects import NodeSet, Pod
from slinky_iac.selection import DAEMON
from slinky_iac.slurmrest.controller import Reservation
from slinky_iac.slurmrest.objects import Job, Node

if TYPE_CHECKING:  # what only decides loads no client
    from slinky_iac.kube.client import KubeClient


@dataclass(frozen=True)
class Workers:
    """A NodeSet and its pods."""

    nodeset: NodeSet | None = None
    """None: there is none (any more)."""
    pods: tuple[Pod, ...] = ()
    """All that it claims, terminating and failed ones too."""

    @property
    def wanted(self) -> int:
        """Pods that it is to have; 0 where there is none."""
        if self.nodeset is None:
            return 0
        on_each = self.nodeset.spec.scaling_mode == DAEMON
        return self.nodeset.status.desired if on_each else self.nodeset.spec.replicas

    @property
    def staying(self) -> tuple[Pod, ...]:
        """Its pods without those that terminate."""
        return tuple(pod for pod in self.pods if not pod.terminating)

    @property
    def ready(self) -> tuple[Pod, ...]:
        """Of these, the ready ones: each should have a node in Slurm."""
        return tuple(pod for pod in self.staying if pod.ready)

    @classmethod
    def look(cls, kube: KubeClient, namespace: str, resource: str) -> Workers:
        """As Kubernetes has them now. Raises what the client raises, but for a NodeSet that isn't there."""
        try:
            nodeset = kube.nodeset(namespace, resource)
        except KubeNotFound:
            return cls()
        return cls(nodeset, kube.pods_of(namespace, nodeset))


def pods_by_node(workers: Iterable[Workers]) -> dict[str, Pod]:
    """All pods by the name of their Slurm node."""
    return {pod.slurm_node: pod for group in workers for pod in group.pods}


@dataclass(frozen=True)
class ClusterView:
    """Slurm's side of one look: nodes and jobs by node. ``jobs`` must have been asked for after ``nodes``."""

    nodes: Mapping[str, Node]
    jobs_on: Mapping[str, tuple[Job, ...]]
    """Active jobs by node name."""
    unplaced: tuple[Job, ...] = ()
    """Running or suspended jobs for which Slurm names no node: they could be anywhere."""
    reservations: tuple[Reservation, ...] = ()
    name: str = ""
    """ClusterName of the slurmctld that answered; ``""`` where slurmrestd does not say."""
    queue: tuple[Job, ...] = ()
    """Jobs that wait, and those that name nodes; ended ones are not among them."""
    queue_left_out: int = 0
    """Jobs that wait and are not in ``queue``."""

    @classmethod
    def of(
        cls,
        nodes: Iterable[Node],
        jobs: Iterable[Job],
        reservations: Iterable[Reservation] = (),
        *,
        name: str = "",
        queue_left_out: int = 0,
    ) -> ClusterView:
        """Index ``nodes`` and the active ones of ``jobs`` by node name (one pass each)."""
        by_node: defaultdict[str, list[Job]] = defaultdict(list)
        unplaced: list[Job] = []
        queue: list[Job] = []
        for job in jobs:
            if job.active:
                for node in job.node_names:
                    by_node[node].append(job)
                if job.unplaced:
                    unplaced.append(job)
                if job.required_nodes:
                    queue.append(job)
            elif job.waits:
                queue.append(job)
        return cls(
            nodes={node.name: node for node in nodes},
            jobs_on={node: tuple(there) for node, there in by_node.items()},
            unplaced=tuple(unplaced),
            reservations=tuple(reservations),
            name=name,
            queue=tuple(queue),
            queue_left_out=queue_left_out,
        )

    @cached_property
    def unfinished(self) -> tuple[Job, ...]:
        """All jobs of this look that aren't over, each once."""
        placed = (job for there in self.jobs_on.values() for job in there)
        return tuple({job.job_id: job for job in (*placed, *self.unplaced, *self.queue)}.values())

    def jobs(self, node: str) -> tuple[Job, ...]:
        """Active jobs on ``node``."""
        return self.jobs_on.get(node, ())

    @cached_property
    def naming(self) -> Mapping[str | None, tuple[Job, ...]]:
        """Jobs that aren't over by each node that their ``--nodelist`` names and that they are not on; None: it can't be
        read."""
        jobs: defaultdict[str | None, list[Job]] = defaultdict(list)
        for job in self.queue:
            for node in (None,) if job.required is None else set(job.required).difference(job.node_names):
                jobs[node].append(job)
        return {node: tuple(there) for node, there in jobs.items()}
