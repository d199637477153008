"""What a drain looks at, as frozen values: pods, Slurm nodes, jobs, reservations, the NodeSet itself.

The planner and the step decider see nothing else: no client, no clock, no Output. Times are whole seconds since the
epoch. ``drain/observe.py`` makes these from the answers of Kubernetes and slurmrestd.

Source of the states: facts/slurmrestd.md#node-states; ``src/common/slurm_protocol_defs.c`` (node_state_string, job flags).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from slinky_iac import names

BUSY_STATES: Final = frozenset({"ALLOCATED", "MIXED", "COMPLETING"})
"""Node states in which work is on the node; the operator's own IsNodeDrained tests exactly these."""
CALM_BASES: Final = frozenset({"IDLE", "DOWN"})
"""Base states that, with DRAIN, can be free."""
_NODE_BASES: Final = frozenset({"IDLE", "DOWN", "ALLOCATED", "MIXED", "UNKNOWN", "ERROR", "FUTURE"})
_FINISHED: Final = frozenset(
    {
        "COMPLETED",
        "CANCELLED",
        "FAILED",
        "TIMEOUT",
        "NODE_FAIL",
        "PREEMPTED",
        "BOOT_FAIL",
        "DEADLINE",
        "OUT_OF_MEMORY",
    }
)
_RESTS: Final = _FINISHED | {"PENDING"}
"""Base states in which a job holds no node, unless a flag says more."""
STANDS_STILL: Final = frozenset({"SUSPENDED", "STOPPED"})
"""A job that holds its nodes and does nothing: suspended, its nodes have no CPU allocated."""
_WAITS: Final = frozenset({"PENDING"})
_ON_NODES: Final = frozenset({"RUNNING", "SUSPENDED"})
UNREADABLE: Final = "UNREADABLE"
"""Stands in the states of a job of which states or nodes can't be read (slurmrest/models.py)."""


@dataclass(frozen=True)
class PodView:
    """One pod of a NodeSet, terminating and failed ones included (the operator counts them all)."""

    name: str
    ordinal: int
    node: str
    """Name of its Slurm node."""
    scheduled: bool = True
    """Whether Kubernetes has given it a node."""
    phase: str = "Running"
    ready: bool = True
    terminating: bool = False
    deletion_cost: int = 0
    """``pod-deletion-cost`` as the operator reads it: 0 when absent or no int32."""
    cost_text: str | None = None
    """The annotation as written, None when absent: what a cancel puts back."""
    deadline: int | None = None
    """``pod-deadline``, written by the operator from the jobs' ends; None when absent."""
    cordon: bool = False
    """``pod-cordon`` is true."""
    gate: str = ""
    """Our owner tag as written (names.ANNOTATION_GATE), ``""`` when absent."""
    ready_since: int | None = None
    """Last change of the Ready condition, to either side."""
    created: int = 0
    operator_states: frozenset[str] = frozenset()
    """``SlurmNodeState*`` conditions in capitals (``DRAIN``, ``MIXED``): the operator's view of Slurm, up to 30 s old."""
    operator_reason: str = ""
    """The drain reason in that view (message of the Drain condition)."""
    trouble: str = ""
    """Why it doesn't run, in Kubernetes' words; for messages only."""
    revision: str = ""
    """Which template made it, as the operator counts them."""

    @property
    def healthy(self) -> bool:
        """Scheduled, running and ready: the pods that the operator ranks last (ActivePods.Less steps 1 to 3)."""
        return self.scheduled and self.phase == "Running" and self.ready


@dataclass(frozen=True)
class NodeView:
    """One Slurm node, from the list (a single GET is stale: facts/slurmrestd.md#trap-3)."""

    name: str
    states: frozenset[str]
    """Base state and flags, in capitals."""
    reason: str = ""
    reason_user: str = ""
    reason_at: int | None = None
    """When the reason was set; None when there is none."""
    resume_after: int | None = None
    """When slurmctld itself undrains the node; None for never."""
    alloc_cpus: int = 0
    unreadable: str = ""
    """What of the record can't be read; then ``states`` says nothing, and so nothing may be concluded."""
    features: frozenset[str] = frozenset()
    partitions: frozenset[str] = frozenset()

    @property
    def drained_flag(self) -> bool:
        """DRAIN is set and not about to be lifted."""
        return "DRAIN" in self.states and "UNDRAIN" not in self.states

    @property
    def known(self) -> bool:
        """Exactly one base state, and one that says something: else nothing may be concluded from the record."""
        bases = self.states & _NODE_BASES
        return not self.unreadable and len(bases) == 1 and not bases & {"UNKNOWN", "ERROR", "FUTURE"}

    def held_by_operator(self) -> bool:
        """The reason is slurm-operator's. Releases differ in the blank after the colon, so the prefix has none."""
        return self.reason.startswith(names.OPERATOR_REASON_PREFIX)


@dataclass(frozen=True)
class JobView:
    """One job, array task or het component that slurmctld listed."""

    job_id: int
    states: frozenset[str]
    """Base state and flags, in capitals."""
    nodes: tuple[str, ...] = ()
    """Names of the nodes allocated to it, expanded."""
    user: str = ""
    partition: str = ""
    label: str = ""
    """The id that users know: ``12``, ``12_3`` for an array task, ``12+1`` for a het component."""
    task: str = ""
    """``12_3`` for a task of an array, ``""`` for any other job."""
    name: str = ""
    start: int | None = None
    end: int | None = None
    """Expected end by its time limit; None without a limit, or where Slurm doesn't say."""
    requeueable: bool = False
    unreadable: str = ""
    """What of the record can't be read, naming the job. It holds its nodes; where those can't be read, every node."""

    @property
    def shown(self) -> str:
        """The label, or the bare id."""
        return self.label or str(self.job_id)

    @property
    def handle(self) -> int | str:
        """By what Slurm is told to act on this job and no other.

        The last task that leaves an array keeps the array's id, and slurmctld takes a bare array id for every task of it:
        those that wait and those on other nodes (job_mgr.c: foreach_job_by_id, job_requeue2).
        """
        return self.task or self.job_id

    @property
    def active(self) -> bool:
        """Whether it may hold its nodes: anything but pending or finished alone (facts/slurmrestd.md#when-a-node-is-free).

        ``COMPLETED`` with ``COMPLETING`` is active (its epilog runs), and so are two base states at once, and a state this
        program never heard of. ``REVOKED`` (the job runs in another cluster of a federation) makes no difference.
        """
        rest = self.states - {"REVOKED"}
        return len(rest) != 1 or not rest <= _RESTS

    @property
    def homeless(self) -> bool:
        """It runs, and Slurm doesn't say where, or in bytes that can't be read. (A job that only completes and has no node
        left was lost before.)"""
        if self.nodes:
            return False
        return UNREADABLE in self.states or (bool(self.states & _ON_NODES) and "COMPLETING" not in self.states)

    @property
    def expected_end(self) -> int | None:
        """When it leaves its nodes at the latest, None when nobody can say: a suspended job's clock stands still."""
        return None if self.states & STANDS_STILL else self.end


@dataclass(frozen=True)
class Queued:
    """One job that slurmctld remembers."""

    job: JobView
    partitions: tuple[str, ...] = ()
    """In the order of ``--partition``; of a running job the first is the one that it runs in."""
    required: tuple[str, ...] | None = ()
    """Nodes of ``--nodelist``; None where they can't be read."""
    features: str = ""
    """``--constraint`` as its owner wrote it."""
    least: int = 1
    """Fewest nodes that it takes."""

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


@dataclass(frozen=True)
class ReservationView:
    """A reservation, as far as a drain cares."""

    name: str
    nodes: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True)
class NodeSetView:
    """The NodeSet custom resource: spec and status counts, and who else writes its replicas."""

    name: str
    replicas: int
    """``spec.replicas``."""
    generation: int = 1
    observed_generation: int = 1
    updated: int | None = None
    """``status.updatedReplicas``; None when the status lacks it."""
    on_delete: bool = False
    """The update strategy is OnDelete: old pods are no sign of a rollout."""
    autoscalers: tuple[str, ...] = ()
    """HPAs and KEDA ScaledObjects that target it, ``kind/name``."""
    deleting: bool = False
    """It has a deletion timestamp."""
    frozen: str | None = None
    """Text of the annotation names.ANNOTATION_FREEZE; None when absent."""
    permitted: bool = False
    """A gate has permitted a number or the deletion (names.ANNOTATION_PERMIT), and nothing was written since: the fence in
    the API server still lets it through."""
    revision: str = ""
    """Which template new pods are made from, of the generation that the operator has observed; ``""`` where not known."""
    template: str = ""
    """Digest of that template as this program rendered it; ``""`` in NodeSets of releases that did not write it."""

    def rolling(self, pods: int) -> bool:
        """Whether a rolling update is on: fewer up-to-date pods than pods."""
        return not self.on_delete and self.updated is not None and self.updated < min(pods, self.replicas)


@dataclass(frozen=True)
class ClusterView:
    """Slurm's side of one look: nodes and jobs by node. ``jobs`` must have been asked for after ``nodes``."""

    nodes: Mapping[str, NodeView]
    jobs_on: Mapping[str, tuple[JobView, ...]]
    """Active jobs by node name."""
    homeless: tuple[JobView, ...] = ()
    """Running or suspended jobs for which Slurm names no node: they could be anywhere."""
    reservations: tuple[ReservationView, ...] = ()
    name: str = ""
    """ClusterName of the slurmctld that answered; ``""`` where slurmrestd does not say."""
    queue: tuple[Queued, ...] = ()
    """Jobs that wait, and those that name nodes; ended ones are not among them."""
    queue_left_out: int = 0
    """Jobs that wait and are not in ``queue``."""

    @classmethod
    def of(
        cls,
        nodes: Iterable[NodeView],
        jobs: Iterable[JobView],
        reservations: Iterable[ReservationView] = (),
        *,
        name: str = "",
        queue: Iterable[Queued] = (),
        queue_left_out: int = 0,
    ) -> ClusterView:
        """Index ``nodes`` and the active ones of ``jobs`` by node name (one pass each)."""
        by_node: dict[str, list[JobView]] = {}
        homeless: list[JobView] = []
        for job in jobs:
            if job.active:
                if job.homeless:
                    homeless.append(job)
                for node in set(job.nodes) if len(job.nodes) > 1 else job.nodes:
                    by_node.setdefault(node, []).append(job)
        return cls(
            nodes={node.name: node for node in nodes},
            jobs_on={node: tuple(there) for node, there in by_node.items()},
            homeless=tuple(homeless),
            reservations=tuple(reservations),
            name=name,
            queue=tuple(each for each in queue if each.waits or (each.required != () and not each.over)),
            queue_left_out=queue_left_out,
        )

    def jobs(self, node: str) -> tuple[JobView, ...]:
        """Active jobs on ``node``."""
        return self.jobs_on.get(node, ())
