"""What removing a pod costs, and the cheapest choice of pods.

**The stated cost** of a set of pods, compared in this order (smaller is better):

1. Its members' keys, dearest first: ``(kind, no known end, expected end, number of jobs)``; :class:`Kind` is the order
   of dislike. So a busy node is taken only when no idle one is left, the node that is free last decides, then the one
   before it, …
2. The number of distinct *holders*. A node's holder is the job that keeps it longest (of several, the one on most nodes,
   then the lowest id). Nodes of one multi-node job have one holder: its end frees them all.

Ties go to the job that is covered whole, then to higher ordinals. Why holders and not all jobs: choosing nodes so that
their jobs' union is smallest is NP-hard (minimum k-union), whereas every node has one holder, so taking the largest
groups first is exactly minimal. Jobs that end earlier on the same nodes make no one wait longer, and their number counts
in the key.

The operator's own ranking comes first: unscheduled, not running and not ready pods go before any that we could name, so
a choice exists only inside the class of pods that the cut divides (:mod:`slinky_iac.drain.ranking`).

Choosing takes O(n log n) in pods and one look at each job.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby
from typing import Final, TypeVar

from slinky_iac import names
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.losses import held_on
from slinky_iac.drain.ranking import Class, class_of
from slinky_iac.drain.settings import Owner
from slinky_iac.drain.words import marked_by
from slinky_iac.kube.objects import Pod
from slinky_iac.kube.selection import HOSTNAME_OVERRIDE
from slinky_iac.selection import DAEMON
from slinky_iac.slurmrest.objects import CALM_STATES, Job, Node

RESERVATION_HORIZON_S: Final = 24 * 3600
"""A reservation that begins within this time counts as if it had begun."""

_SYSTEM_REASONS: Final = (
    "Not responding",
    "Node unexpectedly rebooted",
    "Node silently failed and came back",
    "ResumeTimeout reached",
    "Pod is terminating",
)
"""Beginnings of reasons that slurmctld or the operator's preStop hook writes: no person stands behind them."""


class Kind(IntEnum):
    """What Slurm knows of a pod's node, in the order in which it is selected."""

    LEAVING = 0
    """The pod is being deleted already."""
    OURS = 1
    """We have drained it before: the choice is retained, so that drains don't wander."""
    UNREGISTERED = 2
    """slurmctld has no record of it: no job can be there."""
    DOWN = 3
    """It is down without anybody's having said so, and runs nothing."""
    HELD = 4
    """A person or the operator drains it and no job is on it: no capacity is lost."""
    IDLE = 5
    BUSY = 6
    """Jobs run and all have an expected end."""
    RESERVED = 7
    """A reservation counts on it, now or within a day."""
    ENDLESS = 8
    """A job without a known end is on it: no time limit, or suspended."""
    NAMED = 9
    """A pending job names it by ``--nodelist``, and would then wait for ever, or end at slurmctld's next start."""
    BLOCKED = 10
    """It is unknown whether it is free, or a person took it out without draining it: can't be made free by us."""


Key = tuple[int, bool, int, int]
Of = TypeVar("Of")


@dataclass(frozen=True)
class Candidate:
    """One pod and what its removal means."""

    pod: Pod
    kind: Kind
    jobs: tuple[Job, ...] = ()
    """Active jobs on its node, and those elsewhere whose ``--nodelist`` names it: slurmctld ends these with its record."""
    end: int = 0
    """When its last job ends; 0 with no job, and when that is unknown (``endless``)."""
    endless: bool = False
    """It is unknown when its jobs end."""
    holder: int | None = None
    """Id of the job that keeps it longest."""
    record: Node | None = None
    reservations: tuple[str, ...] = ()
    trouble: str = ""
    """Why it is BLOCKED, or OURS and not understood."""

    @property
    def name(self) -> str:
        """Its pod's."""
        return self.pod.name

    @property
    def node(self) -> str:
        """Its Slurm node's."""
        return self.pod.slurm_node

    @property
    def drained(self) -> bool:
        """A drain is on its node, ours or another's."""
        return self.record is not None and self.record.drained_or_draining

    @property
    def key(self) -> Key:
        """The first part of the stated cost."""
        return int(self.kind), self.endless, self.end, len(self.jobs)

    @property
    def unforeseen(self) -> bool:
        """It is unknown when its node is free: a job without a known end, a state that no job explains, or no record of a
        node that is there."""
        record = self.record
        unexplained = not self.jobs and record is not None and record.busy
        return self.endless or self.kind is Kind.BLOCKED or unexplained or seen_elsewhere(self) != ""

    @property
    def foreign_hold(self) -> bool:
        """A person or the operator drains it: it counts, and its reason is left alone."""
        return self.drained and self.kind is not Kind.OURS


def assess(pods: Iterable[Pod], cluster: ClusterView, now: int, owner: Owner) -> tuple[Candidate, ...]:
    """A candidate for each pod, in the order given."""
    reserved: dict[str, list[str]] = {}
    for reservation in cluster.reservations:
        end, start = reservation.end_time.value, reservation.start_time.value or 0
        if (end is None or end > now) and start <= now + RESERVATION_HORIZON_S:
            for node in reservation.node_names:
                reserved.setdefault(node, []).append(reservation.name)
    members = tuple(pods)
    unfound = any(pod.slurm_node not in cluster.nodes for pod in members)
    aliases = {_alias(name): name for name in cluster.nodes} if unfound else {}
    return tuple(_candidate(pod, cluster, reserved, owner, aliases) for pod in members)


def choose(candidates: Sequence[Candidate], target: int) -> tuple[Candidate, ...]:
    """The cheapest pods to remove  for ``target`` to be left, in the order in which to remove them .

    Whole classes that the operator takes before all others come first; of the class that the cut divides, the set with
    the smallest stated cost.
    """
    selected: list[Candidate] = []
    for group, wanted in _taken(candidates, lambda candidate: candidate.pod, target):
        selected.extend(_cheapest(group, wanted, {candidate.holder for candidate in selected}))
    return tuple(selected)


def undecided(pods: Iterable[Pod], drained: Mapping[str, Node], owner: Owner, target: int) -> bool:
    """Whether the choice of :func:`choose` may depend on what jobs that wait name: not where there is none, nor once this
    owner has drained enough nodes. ``drained``: drained nodes, by name."""
    return any(
        wanted < len(group)
        and wanted > sum(1 for pod in group if pod.terminating or owner.holds(drained.get(pod.slurm_node)))
        for group, wanted in _taken(tuple(pods), lambda pod: pod, target)
    )


def _taken(members: Collection[Of], pod_of: Callable[[Of], Pod], target: int) -> Iterator[tuple[list[Of], int]]:
    """The classes of the operator's ranking that it takes from, first ones first, and how many of each."""
    by_class: dict[Class, list[Of]] = {}
    for member in members:
        by_class.setdefault(class_of(pod_of(member)), []).append(member)
    left = len(members) - target
    for _, group in sorted(by_class.items()):
        if left <= 0:
            return
        yield group, min(left, len(group))
        left -= len(group)


def drainable(record: Node, owner: Owner) -> bool:
    """Whether a drain of ours would overwrite no person's words.

    slurmctld replaces reason, user and time on every DRAIN with a reason (facts/slurmrestd.md#trap-7), so a node with
    somebody's note, drained or not, is left alone.
    """
    return (
        not record.reason
        or owner.owns(record.reason)
        or record.held_by_operator
        or record.reason.lstrip(" :").startswith(_SYSTEM_REASONS)
    )


def overwrites(host: str, record: Node, owner: Owner) -> str:
    """Why a drain of ours would overwrite a person's words, ``""`` where it wouldn't or the host is drained."""
    if "DRAIN" in record.state or drainable(record, owner):
        return ""
    return (
        f"{marked_by(record)} marked {host} without draining it ({record.reason!r}), and a drain of ours would overwrite "
        "that: drain it by hand with its reason, or return it to service"
    )


def _candidate(
    pod: Pod, cluster: ClusterView, reserved: Mapping[str, list[str]], owner: Owner, aliases: Mapping[str, str]
) -> Candidate:
    record = cluster.nodes.get(pod.slurm_node)
    if record is not None and _of_another(pod, record, owner):
        return Candidate(pod, Kind.LEAVING if pod.terminating else Kind.UNREGISTERED)
    jobs = held_on(pod.slurm_node, cluster)
    reservations = tuple(reserved.get(pod.slurm_node, ()))
    trouble = _trouble(record, jobs, owner)
    alias = aliases.get(_alias(pod.slurm_node)) if record is None and pod.slurm_node else None
    if alias is not None and not trouble:
        trouble = _named_otherwise(pod.slurm_node, alias)
    end, holder = _last(jobs)
    if pod.terminating:
        kind = Kind.LEAVING
    elif why := _named_by_annotation(pod):
        kind, trouble = Kind.BLOCKED, why
    elif owner.holds(record):
        kind = Kind.OURS
    elif trouble:
        kind = Kind.BLOCKED
    else:
        kind = _kind(record, busy=bool(jobs), endless=end is None)
        if reservations and kind in {Kind.HELD, Kind.IDLE, Kind.BUSY}:
            kind = Kind.RESERVED
        in_service = record is not None and not record.drained_or_draining and "DOWN" not in record.state
        if in_service and any(job.waits for job in cluster.naming.get(pod.slurm_node, ())):
            kind = Kind.NAMED
    endless = end is None
    return Candidate(pod, kind, jobs, end or 0, endless, holder, record, reservations, trouble)


def _of_another(pod: Pod, record: Node, owner: Owner) -> bool:
    """Whether the record is another NodeSet's, or a host's: a pod of DaemonSet mode has its Kubernetes node's name in Slurm
    from the start, also while it waits for a place there, and then its slurmd has never run."""
    waits = pod.metadata.labels.get(names.LABEL_SCALING_MODE) == DAEMON and not pod.scheduled
    return waits and not record.registered_by(owner.nodeset) and not owner.owns(record.reason)


def _last(jobs: Sequence[Job]) -> tuple[int | None, int | None]:
    """When the last of ``jobs`` ends (None: unknown; 0: there is none), and the id of the node's holder."""
    ends = [job.expected_end for job in jobs]
    known = [end for end in ends if end is not None]
    last = max(known, default=0) if len(known) == len(ends) else None
    holders = [job for job, end in zip(jobs, ends, strict=True) if end == last]
    widest = max(holders, key=lambda job: (len(job.node_names), -job.job_id), default=None)
    return last, widest.job_id if widest is not None else None


def _trouble(record: Node | None, jobs: Sequence[Job], owner: Owner) -> str:
    """Why we couldn't make the node free, ``""`` when nothing is in the way."""
    if record is None:
        return "jobs are listed on it though slurmctld has no record of it" if jobs else ""
    if record.trouble:
        return record.trouble
    if not record.known:
        return f"its state {record.state_text} is not understood"
    if not record.drained_or_draining and not drainable(record, owner):
        return f"{marked_by(record)} marked it without draining it: {record.reason!r}"
    return ""


def _alias(name: str) -> str:
    """What two names of one host have in common: its first label, in small letters."""
    return name.partition(".")[0].casefold()


def seen_elsewhere(candidate: Candidate) -> str:
    """Why a missing record doesn't prove that no job is there, ``""`` where nothing speaks against it.

    The operator strips its Slurm conditions from a pod whose node is not in its Slurm (updateNodeSetPodConditions), within
    a sync; what it continues seeing and we don't is in another Slurm than the one we asked.
    """
    if candidate.record is not None or not candidate.pod.slurm_states:
        return ""
    return (
        f"slurm-operator sees {candidate.node} in Slurm as {'+'.join(sorted(candidate.pod.slurm_states))}, and the"
        " slurmrestd asked here has no record of it. If this lasts for over a minute, it is another cluster's: check"
        " slurmrest.url"
    )


def _named_otherwise(node: str, record: str) -> str:
    """A pod in the host's network is known to Kubernetes and to the operator by its node's name, to slurmctld by
    `hostname -s`: no record under the one name says nothing about the host."""
    return (
        f"slurmctld has no record of {node}, and one of {record}, which may be the same host: jobs there would not be seen."
        " Kubernetes node names must be those of `hostname -s`"
    )


def _named_by_annotation(pod: Pod) -> str:
    """Why nothing is known of a pod in the host's network whose Kubernetes node has the annotation that names pods of
    DaemonSet mode: the operator goes by that name, and slurmd registers by `hostname -s`. ``""`` for another pod."""
    spec = pod.spec
    daemon = spec.host_network and spec.node_name and pod.metadata.labels.get(names.LABEL_SCALING_MODE) == DAEMON
    if not daemon or not spec.hostname or _alias(spec.hostname) == _alias(spec.node_name):
        return ""
    return (
        f"its pod is in the network of Kubernetes node {spec.node_name}, where slurmd registers under that node's name, and"
        f" slurm-operator calls it {spec.hostname}, by an annotation of the Kubernetes node: jobs there would not be seen."
        f" Drain {spec.node_name} in Slurm, wait for its jobs, and remove the annotation (`kubectl annotate node"
        f" {spec.node_name} {HOSTNAME_OVERRIDE}-`)"
    )


def _kind(record: Node | None, *, busy: bool, endless: bool) -> Kind:
    """The kind of a node that nothing is wrong with, and that isn't ours yet."""
    if record is None:
        return Kind.UNREGISTERED
    if endless:
        return Kind.ENDLESS
    if busy or not record.state & CALM_STATES:
        return Kind.BUSY
    if record.drained_or_draining:
        return Kind.HELD
    return Kind.DOWN if "DOWN" in record.state else Kind.IDLE


def _cheapest(group: Sequence[Candidate], wanted: int, paid: set[int | None]) -> list[Candidate]:
    """``wanted`` candidates of one class with the smallest stated cost, cheapest first.

    ``paid``: holders of the pods that the operator takes before this class.
    """
    ranked = sorted(group, key=lambda candidate: (candidate.key, -candidate.pod.ordinal, candidate.name))
    if wanted >= len(ranked):
        return ranked
    keys = [candidate.key for candidate in ranked]
    edge = keys[wanted - 1]
    first_tied = bisect_left(keys, edge)
    sure, tied = ranked[:first_tied], ranked[first_tied : bisect_right(keys, edge)]
    return sure + _fewest_holders(tied, wanted - len(sure), paid | {candidate.holder for candidate in sure} | {None})


def _fewest_holders(tied: Sequence[Candidate], wanted: int, paid: set[int | None]) -> list[Candidate]:
    """``wanted`` of equally dear candidates with the fewest holders besides those ``paid`` for already.

    Largest groups first needs the fewest of them; the last group may be any that suffices, so it is the smallest: the
    job that is then covered whole, or most nearly so.
    """
    taken = [candidate for candidate in tied if candidate.holder in paid][:wanted]
    rest = sorted(
        (candidate for candidate in tied if candidate.holder not in paid), key=lambda candidate: candidate.holder or 0
    )
    groups = [list(members) for _, members in groupby(rest, key=lambda candidate: candidate.holder)]
    groups.sort(key=lambda members: (-len(members), -max(candidate.pod.ordinal for candidate in members)))
    for at, largest in enumerate(groups):
        missing = wanted - len(taken)
        if len(largest) >= missing:
            fitting = [members for members in groups[at:] if len(members) >= missing]
            return taken + min(fitting, key=len)[:missing]
        taken.extend(largest)
    return taken
