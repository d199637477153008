"""The values of the protocol: what one look shows, what a run wants, and the steps, which a gate carries out one at a time.

Each step is idempotent and may be cut short at any point: the next look finds what is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Final, Literal

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.marks import Mark, Unmark
from slinky_iac.drain.settings import DrainPolicy, Owner
from slinky_iac.kube.objects import NodeSet, Pod
from slinky_iac.kube.selection import Machine
from slinky_iac.releases import OperatorVersion
from slinky_iac.selection import Selects
from slinky_iac.slurmrest.drains import MAX_REASON


@dataclass(frozen=True)
class Observation:
    """What was seen in one look, pods first, then the node list, then the job list."""

    now: int
    version: OperatorVersion
    pods: tuple[Pod, ...] = ()
    """All pods that the NodeSet claims, terminating and failed ones too."""
    nodeset: NodeSet | None = None
    """None when there is no such NodeSet (any more)."""
    cluster: ClusterView | None = None
    """None when Slurm could not be asked; ``problem`` says why."""
    writers: tuple[str, ...] = ()
    """What else writes the NodeSet's replicas, ``kind/name`` (:mod:`slinky_iac.kube.scalers`)."""
    restapi_ready: bool = True
    """Whether the operator's slurmrestd is available; else the operator is blind."""
    problem: str = ""
    free_machines: frozenset[str] | None = None
    """Kubernetes nodes for new pods of a NodeSet on the host network; None where that wasn't asked for, or may not be."""
    machines: tuple[Machine, ...] | None = None
    """All Kubernetes nodes; None where they weren't asked for, without DaemonSet mode."""
    neighbours: Mapping[str, str] = field(default_factory=dict)
    """NodeSets of pods whose Slurm nodes' names a new pod of this one would take in DaemonSet mode, by these names."""
    cordoned: frozenset[str] = frozenset()
    """Pods that slurm-operator has cordoned to remove them, and that it is to keep again since."""

    @property
    def unasked(self) -> str:
        """That Slurm could not be asked, and why."""
        return f"Slurm could not be asked: {self.problem.rstrip('.')}"

    @cached_property
    def pods_by_name(self) -> dict[str, Pod]:
        """Pods by name."""
        return {pod.name: pod for pod in self.pods}

    @cached_property
    def outdated(self) -> frozenset[str]:
        """Pods that were made from an earlier template, as far as the operator has observed the NodeSet."""
        latest = "" if self.nodeset is None else self.nodeset.revision
        return frozenset(pod.name for pod in self.pods if latest and pod.revision and pod.revision != latest)


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long one run waits for jobs, and what it did to them."""

    policy: DrainPolicy
    deadline_at: int
    """End of the wait for jobs, in seconds since the epoch."""
    signalled: Mapping[int | str, int] = field(default_factory=dict)
    """When this run signalled jobs, by their handles."""

    @property
    def ends_at(self) -> int:
        """End of the run itself, in seconds since the epoch: past the deadline where the policy acts at the deadline."""
        return self.deadline_at + self.policy.overtime_s


@dataclass(frozen=True)
class Goal(Patience):
    """What one run of the gate wants."""

    owner: Owner
    current: int
    """Replicas that this run set out from: any third value means that somebody else writes them."""
    target: int
    why: str
    """For the reason of our drains, e.g. ``scale-in 3->1``."""
    selects: Selects | None = None
    """With DaemonSet mode, which Kubernetes nodes are asked for; then the numbers are those of pods, and none is written."""
    teardown: bool = False
    """All pods go because the NodeSet goes: neither ranking, costs nor the operator's view matter."""
    writes: bool = True
    """Whether this run writes ``replicas`` at its end; an autoscaler's is not."""
    run: str = ""
    """Stamp of this run, in every drain reason that it writes. The operator shows a node's reason on its pod, so a pod that
    shows this stamp proves that the operator has looked at Slurm since the run began."""
    by: str = ""
    """Who asked for this run, for the reason (:mod:`slinky_iac.drain.requester`)."""
    cluster: str = ""
    """ClusterName that slurmctld must answer with; ``""`` where it is not known."""
    rolls: int = 0
    """Pods of an earlier template that the gate replaces at once; 0: none, and what is ours on them is given back."""

    @property
    def reason(self) -> str:
        """Reason of this run's drains."""
        plain = self.owner.reason(f"{self.why} (run {self.run})" if self.run else self.why)
        named = f"{plain} by {self.by}" if self.by else plain
        return named if len(named) <= MAX_REASON else plain


WITHOUT_SLURMRESTD: Final = (
    "`slinky docs operations 'Without slurmrestd'` says how to remove NodeSets without Slurm's answer"
)
NEXT_STEP: Final = "`pulumi up` again continues where this run ended; `slinky drain cancel` undoes it."


@dataclass(frozen=True)
class Step:
    """What one look asks for next."""

    doing: ClassVar[str] = ""

    @property
    def words(self) -> str:
        """What is done now, for the progress line."""
        named = (tuple(getattr(self, name)) for name in ("nodes", "pods", "jobs", "states") if hasattr(self, name))
        members: tuple[object, ...] = next(named, (getattr(self, "pod", ""),))
        shown = ", ".join(str(getattr(member, "pod", member)) for member in members[:8])
        return f"{self.doing}: {shown}{' …' if len(members) > 8 else ''}"


@dataclass(frozen=True)
class OnNodes(Step):
    """A step of nodes, by name."""

    nodes: tuple[str, ...]


@dataclass(frozen=True)
class OnJobs(Step):
    """A step of jobs, each by its handle (:attr:`slinky_iac.slurmrest.objects.Job.handle`)."""

    jobs: tuple[int | str, ...]


@dataclass(frozen=True)
class SetCosts(Step):
    """Annotate pods with deletion cost and tag (one patch a pod, both annotations in it)."""

    doing = "marking the pods that go"
    pods: tuple[Mark, ...]


@dataclass(frozen=True)
class TriggerSync(Step):
    """Touch a pod's tag so that the operator looks now, with a fresh list of nodes (eventhandler_pod.go)."""

    doing = "making the operator look"
    pods: tuple[Mark, ...]


@dataclass(frozen=True)
class Drain(OnNodes):
    """DRAIN with our reason, one bulk update, then a re-read. None of these nodes carried a person's reason."""

    doing = "draining"
    reason: str
    resume_after_s: int | None
    """Seconds until slurmctld returns them; None for never."""


@dataclass(frozen=True)
class RenewHold(OnNodes):
    """Set ``marks`` (that a hold is being set), and ``pod-cordon`` on ``cordoned`` in the same writes. Then at once DRAIN
    with ``resume_after`` and without a reason, on nodes that are drained by us: moves the dead man's switch. Under a mark
    whose hold isn't set, a person's own end of a drain is taken for ours, and cleared."""

    doing = "renewing the hold"
    resume_after_s: int
    marks: tuple[Mark, ...] = ()
    cordoned: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClearHold(Step):
    """Take our hold from under other people's drains, which stay; then set ``marks`` (that there is none any more)."""

    doing = "clearing our hold under other people's drains of"
    ends: Mapping[str, int]
    """By node, the ``resume_after`` that is cleared, where it still is this one."""
    marks: tuple[Mark, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes, by name."""
        return tuple(self.ends)


@dataclass(frozen=True)
class CordonAnnotate(Step):
    """Set ``pod-cordon=true``: only after the operator has seen our drain, which it would lift otherwise."""

    doing = "cordoning the pods"
    pods: tuple[str, ...]


@dataclass(frozen=True)
class Release(Step):
    """Take our annotations back from pods. Comes before :class:`Undrain`: an annotation left would drain again."""

    doing = "taking marks back"
    pods: tuple[Unmark, ...]


class RevokePermit(Step):
    """Take back from the NodeSet a permission that no write has used, if the NodeSet is still the one of this look."""

    doing = "taking an unused permission back"


class Undrain(OnNodes):
    """UNDRAIN nodes whose drain is ours."""

    doing = "returning nodes"


@dataclass(frozen=True)
class SetReason(OnNodes):
    """Reason-only update of nodes with our reason: DOWN after our UNDRAIN, or drained by an earlier run, for this one's."""

    doing = "writing the reason of"
    reason: str


class Resume(OnNodes):
    """RESUME nodes whose record an earlier pod of the same name left DOWN or drained."""

    doing = "returning what earlier pods left behind"


@dataclass(frozen=True)
class ClosePartitions(Step):
    """Set partitions' states to such as take no new job; ``before`` is what they were, written down first."""

    doing = "closing partitions"
    states: Mapping[str, str]
    before: Mapping[str, str]


@dataclass(frozen=True)
class WriteConf(Step):
    """Write the Controller's ``extraConf``, if it is still the one of this look (its uid and resourceVersion are the
    condition)."""

    text: str

    @property
    def words(self) -> str:
        return "writing slurm.conf"


@dataclass(frozen=True)
class DeleteOwned(Step):
    """Delete what the gate stands after, on the same condition: the Controller, and so slurmctld; what makes login pods."""

    what: str
    """``LoginSet slurm-login-main``."""

    @property
    def words(self) -> str:
        return f"deleting {self.what}"


@dataclass(frozen=True)
class SetReplicas(Step):
    """Write ``spec.replicas``, if the NodeSet is still the one of this look (its resourceVersion is the condition)."""

    replicas: int
    pods: tuple[str, ...] = ()
    """Pods that the operator will delete; empty where the number is raised."""

    @property
    def words(self) -> str:
        return f"writing replicas: {self.replicas}"


@dataclass(frozen=True)
class DeleteNodeSet(Step):
    """Delete the NodeSet, if it is still the one of this look (its uid and resourceVersion are the condition)."""

    doing = "deleting the NodeSet; its pods"
    pods: tuple[str, ...] = ()


@dataclass(frozen=True)
class Replaced:
    """A pod that goes so that the operator makes another."""

    pod: str
    record: str = ""
    """Slurm's record of its node, which goes first: slurmctld takes features, GRES, CPUs and memory of a pod only when its
    registration makes the record. ``""``: the pod deletes it, or slurmctld doesn't let it go."""


@dataclass(frozen=True)
class DeletePods(Step):
    """Delete pods, each if it is still the one of this look (its uid and resourceVersion are the condition): as many as are
    asked for at once, since what the look proved grows old."""

    doing = "deleting, so that the operator makes new ones"
    pods: tuple[Replaced, ...]


@dataclass(frozen=True)
class Wait(Step):
    """Nothing to do but look again."""

    why: str
    progress: tuple[str, ...] = ()
    """A line for each node that is waited for."""
    soon: bool = False
    """What is waited for takes a second or two: the operator was told to look a moment ago."""


class Requeue(OnJobs):
    """Requeue jobs, as the policy says at the deadline."""

    doing = "requeueing jobs"


@dataclass(frozen=True)
class Signal(OnJobs):
    """Send the policy's signal to jobs."""

    doing = "signalling jobs"
    signal: str


class Cancel(OnJobs):
    """Cancel jobs whose grace period after the signal is over, as the policy says."""

    doing = "cancelling jobs"


@dataclass(frozen=True)
class Done(Step):
    """Everything asked for is so, by this very look."""

    pods: tuple[str, ...] = ()
    """Selected pods that are drained, or are being deleted."""


@dataclass(frozen=True)
class Stop(Step):
    """End without having come to the goal."""

    why: str
    cause: Literal["blocked", "deadline"]
    """blocked → DrainBlocked, deadline → DrainDeadline."""
    undo: bool = False
    """Carry out the undo steps before ending."""
