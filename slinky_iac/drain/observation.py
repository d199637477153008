"""One snapshot of the world, and what is wanted of it: the two arguments of the step decider."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.policy import DrainPolicy
from slinky_iac.drain.settings import Owner
from slinky_iac.kube.objects import NodeSet, Pod
from slinky_iac.releases import OperatorVersion
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
    autoscalers: tuple[str, ...] = ()
    """HPAs and KEDA ScaledObjects that write the NodeSet's replicas, ``kind/name``."""
    restapi_ready: bool = True
    """Whether the operator's slurmrestd is available: without it the operator is blind."""
    problem: str = ""

    @cached_property
    def pods_by_name(self) -> dict[str, Pod]:
        """Pods by name."""
        return {pod.name: pod for pod in self.pods}

    @cached_property
    def outdated(self) -> frozenset[str]:
        """Pods that were made from an earlier template, as far as the operator has observed the NodeSet."""
        latest = "" if self.nodeset is None else self.nodeset.revision
        return frozenset(pod.name for pod in self.pods if latest and pod.revision and pod.revision != latest)


@dataclass(frozen=True)
class Goal:
    """What one run of the gate wants."""

    owner: Owner
    current: int
    """Replicas that this run set out from: any third value means that somebody else writes them."""
    target: int
    policy: DrainPolicy
    deadline_at: int
    """End of this run's wait for jobs, in seconds since the epoch."""
    why: str
    """For the reason of our drains, e.g. ``scale-in 3->1``."""
    teardown: bool = False
    """All pods go because the NodeSet goes: neither ranking, costs nor the operator's view matter."""
    writes: bool = True
    """Whether this run writes ``replicas`` at its end; an autoscaler's number is the autoscaler's to write."""
    run: str = ""
    """Stamp of this run, part of every drain reason that it writes. The operator shows a node's reason on its pod, so a
    pod that shows this stamp proves that the operator has looked at Slurm since the run began."""
    by: str = ""
    """Who asked for this run, for the reason (:mod:`slinky_iac.actor`)."""
    cluster: str = ""
    """ClusterName that slurmctld must answer with; ``""`` where it is not known."""
    rolls: int = 0
    """Pods of an earlier template that the gate replaces at once; 0: it replaces none, and what is ours on them is given
    back like all else."""

    @property
    def reason(self) -> str:
        """Reason of this run's drains."""
        plain = self.owner.reason(f"{self.why} (run {self.run})" if self.run else self.why)
        named = f"{plain} by {self.by}" if self.by else plain
        return named if len(named) <= MAX_REASON else plain

    @property
    def ends_at(self) -> int:
        """End of the run itself, in seconds since the epoch: past the deadline where the policy acts at the deadline."""
        return self.deadline_at + self.policy.overtime_s
