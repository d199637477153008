"""Which pods slurm-operator would delete, what removing a pod costs, and the cheapest choice of pods.

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
a choice exists only inside the class of pods that the cut divides (:func:`slinky_iac.drain.cost.class_of`).

Choosing takes O(n log n) in pods and one look at each job.

**The operator's ranking**, by which it deletes when ``replicas`` is lowered, for each release that this program supports:
``internal/controller/nodeset/utils/sort.go`` (ActivePods.Less, SplitActivePods) and ``syncNodeSet`` of the
tags 1.0.1 to 1.2.1. The operator takes ``len(all claimed pods) - replicas`` pods from the front of the ranking; pods
that are terminating or failed are counted like any other, and stay in the ranking until they are gone.

One thing can't be foretold. Up to 1.0.4, 1.1.1 and 1.2.0 the comparison says "a before b" and "b before a" of two
cordoned pods that are equal up to that step, so their order is whatever Go's sort makes of it; 1.0.5, 1.1.2 and 1.2.1
continue with the ordinal. Such pods are returned as ``uncertain`` when the cut runs between them. A lower deletion cost
on the selected pods decides before that step, which is why our gate sets one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby
from types import MappingProxyType
from typing import Final

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.losses import held_on
from slinky_iac.drain.settings import Owner
from slinky_iac.drain.words import marked_by
from slinky_iac.kube.objects import Pod
from slinky_iac.releases import OperatorVersion
from slinky_iac.slurmrest.objects import CALM_STATES, Job, Node

INT32_MIN: Final = -(2**31)
_PHASE_WEIGHT: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
"""``podPhaseToWeight``; a phase that isn't in Go's map (Failed, Succeeded) weighs 0, as Pending does."""

Class = tuple[bool, int, bool]


@dataclass(frozen=True)
class Prediction:
    """What the operator will delete."""

    victims: tuple[str, ...]
    """Pods in the order of the ranking; those in ``uncertain`` may be swapped for one another."""
    uncertain: frozenset[str]
    """Pods on both sides of the cut that the operator may take or leave; empty when the prediction is exact."""

    def is_exactly(self, pods: Iterable[str]) -> bool:
        """Whether the operator will surely delete these pods and no others."""
        return not self.uncertain and frozenset(self.victims) == frozenset(pods)


def orders_cordoned_pods(version: OperatorVersion) -> bool:
    """Whether the release compares cordoned pods consistently (slurm-operator pull request 222)."""
    return version.patch >= {0: 5, 1: 2, 2: 1}.get(version.minor, 0)


def overrides_reasons(version: OperatorVersion) -> bool:
    """Whether its scale-in replaces a foreign drain reason on a node that still looks busy to it.

    ``makePodCordonAndDrain(…, overrideReason=true)`` in 1.0.5, 1.1.2 and from 1.2.0 on: then a later cancel would find
    our drain to be the operator's, so the gate waits until the operator has seen the node idle.
    """
    return version.patch >= {0: 5, 1: 2, 2: 0}.get(version.minor, 0)


def class_of(pod: Pod) -> Class:
    """Steps 1 to 3 of the ranking, which no annotation outweighs: unscheduled, phase, not ready; lower goes first."""
    return pod.scheduled, _PHASE_WEIGHT.get(pod.status.phase, 0), pod.ready


HEALTHY: Final[Class] = (True, 2, True)
"""The last class: scheduled, running and ready."""


def predicted_victims(
    pods: Iterable[Pod], replicas: int, version: OperatorVersion, costs: Mapping[str, int] = MappingProxyType({})
) -> Prediction:
    """The pods that the operator deletes to come to ``replicas``, once these ones carry these deletion ``costs`` (int32)."""
    ranked = sorted(pods, key=lambda pod: _fixed_key(pod, costs))
    cut = min(max(len(ranked) - replicas, 0), len(ranked))
    victims = tuple(pod.name for pod in ranked[:cut])
    if orders_cordoned_pods(version) or cut in {0, len(ranked)}:
        return Prediction(victims, frozenset())
    last, first_kept = ranked[cut - 1], ranked[cut]
    tied = _tie_key(last, costs)
    if not (last.cordon and first_kept.cordon and tied == _tie_key(first_kept, costs)):
        return Prediction(victims, frozenset())
    return Prediction(victims, frozenset(pod.name for pod in ranked if pod.cordon and _tie_key(pod, costs) == tied))


def _tie_key(pod: Pod, costs: Mapping[str, int]) -> tuple[Class, int, bool, int]:
    """Steps 1 to 5: class, cost, deadline (an absent one is Go's zero time, the earliest)."""
    deadline = pod.deadline
    return class_of(pod), costs.get(pod.name, pod.deletion_cost), deadline is not None, deadline or 0


def _fixed_key(pod: Pod, costs: Mapping[str, int]) -> tuple[object, ...]:
    """The whole ranking of the fixed releases as a sort key; names come last where the operator has no order.

    Step 8 looks at the time of readiness only between ready pods; step 3 has parted the others before.
    """
    ready_since = pod.ready_changed if pod.ready else None
    newest_ready = (ready_since is not None, -(ready_since or 0))
    return (*_tie_key(pod, costs), not pod.cordon, -pod.ordinal, newest_ready, -pod.created, pod.name)


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
    BLOCKED = 9
    """It is unknown whether it is free, or a person took it out without draining it: can't be made free by us."""


Key = tuple[int, bool, int, int]


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
    wanted = len(candidates) - target
    selected: list[Candidate] = []
    by_class: dict[Class, list[Candidate]] = {}
    for candidate in candidates:
        by_class.setdefault(class_of(candidate.pod), []).append(candidate)
    for _, group in sorted(by_class.items()):
        if wanted <= len(selected):
            break
        paid = {each.holder for each in selected}
        selected.extend(_cheapest(group, wanted - len(selected), paid))
    return tuple(selected)


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
    jobs = held_on(pod.slurm_node, cluster)
    reservations = tuple(reserved.get(pod.slurm_node, ()))
    trouble = _trouble(record, jobs, owner)
    alias = aliases.get(_alias(pod.slurm_node)) if record is None and pod.slurm_node else None
    if alias is not None and not trouble:
        trouble = _named_otherwise(pod.slurm_node, alias)
    end, holder = _last(jobs)
    if pod.terminating:
        kind = Kind.LEAVING
    elif owner.holds(record):
        kind = Kind.OURS
    elif trouble:
        kind = Kind.BLOCKED
    else:
        kind = _kind(record, busy=bool(jobs), endless=end is None)
        if reservations and kind in {Kind.HELD, Kind.IDLE, Kind.BUSY}:
            kind = Kind.RESERVED
    endless = end is None
    return Candidate(pod, kind, jobs, end or 0, endless, holder, record, reservations, trouble)


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


def seen_elsewhere(each: Candidate) -> str:
    """Why a missing record doesn't prove that no job is there, ``""`` where nothing speaks against it.

    The operator strips its Slurm conditions from a pod whose node is not in its Slurm (updateNodeSetPodConditions), within
    a sync; what it continues seeing and we don't is in another Slurm than the one we asked.
    """
    if each.record is not None or not each.pod.slurm_states:
        return ""
    return (
        f"slurm-operator sees {each.node} in Slurm as {'+'.join(sorted(each.pod.slurm_states))}, and the"
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
    ranked = sorted(group, key=lambda each: (each.key, -each.pod.ordinal, each.name))
    if wanted >= len(ranked):
        return ranked
    keys = [each.key for each in ranked]
    edge = keys[wanted - 1]
    first_tied = bisect_left(keys, edge)
    sure, tied = ranked[:first_tied], ranked[first_tied : bisect_right(keys, edge)]
    return sure + _fewest_holders(tied, wanted - len(sure), paid | {each.holder for each in sure} | {None})


def _fewest_holders(tied: Sequence[Candidate], wanted: int, paid: set[int | None]) -> list[Candidate]:
    """``wanted`` of equally dear candidates with the fewest holders besides those ``paid`` for already.

    Largest groups first needs the fewest of them; the last group may be any that suffices, so it is the smallest: the
    job that is then covered whole, or most nearly so.
    """
    taken = [each for each in tied if each.holder in paid][:wanted]
    rest = sorted((each for each in tied if each.holder not in paid), key=lambda each: each.holder or 0)
    groups = [list(members) for _, members in groupby(rest, key=lambda each: each.holder)]
    groups.sort(key=lambda members: (-len(members), -max(each.pod.ordinal for each in members)))
    for at, largest in enumerate(groups):
        missing = wanted - len(taken)
        if len(largest) >= missing:
            fitting = [members for members in groups[at:] if len(members) >= missing]
            return taken + min(fitting, key=len)[:missing]
        taken.extend(largest)
    return taken
