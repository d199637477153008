"""The marks we leave on pods (a deletion cost that puts them first, and a tag that says whose mark it is), and giving back
what is ours, and nothing else.

The tag (names.ANNOTATION_GATE) carries all that a later run, with no memory of this one, needs to continue or to undo:
the owner, the cost we set and the one that was there before, when jobs were signalled, when the operator was asked to
look.
Compact JSON, a wire format: ``{"cost":-1000000000,"nudged_at":null,"owner":"dev/gpu","signal_at":null,"was":null}``.

Order of an undo: the permission on the NodeSet, annotations of pods, then the drain (with ``pod-cordon`` left on, the
operator would drain the node again), then the reason of a node that stays down. A drain is ours by its reason, an
annotation by its tag; whatever carries neither is left alone, also where we suspect our own hand in it.

What the operator is already deleting is not given back: a node undrained then takes a job and loses it with the pod. So
pods beyond ``spec.replicas`` keep drain and marks until they are gone, and nothing is given back while the operator has
not yet seen the newest spec.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final

from slinky_iac import names
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.cost import INT32_MIN, predicted_victims
from slinky_iac.drain.protocol import Mark, Observation, Release, RevokePermit, SetReason, Step, Undrain, Unmark, Wait
from slinky_iac.drain.settings import Owner
from slinky_iac.errors import StateError
from slinky_iac.kube.objects import Pod
from slinky_iac.slurmrest.objects import Node

BASE_COST: Final = -1_000_000_000
"""Deletion cost of pods that we select; lower still where a retained pod has been given so low a cost by somebody."""


TRIGGER_EVERY_S: Final = 10
ANSWER_S: Final = 5
"""How long after a nudge the operator's look may be expected: two of its syncs, of a second each, and some."""


@dataclass(frozen=True)
class Tag:
    """What our annotation on a pod says."""

    owner: str
    """``stack/nodeset``."""
    cost: int
    """The deletion cost that we set."""
    was: str | None = None
    """The deletion cost annotation as it was before, None when there was none."""
    signal_at: int | None = None
    """When the jobs on its node were sent the policy's signal."""
    nudged_at: int | None = None
    """When the operator was last asked to look: any change of a pod makes it sync, and refresh its view of Slurm first."""

    def text(self) -> str:
        """The annotation's value."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> Tag | None:
        """The tag in an annotation's value; None where it isn't one that this program wrote."""
        try:
            raw = json.loads(text)
        except (ValueError, RecursionError):  # who may patch a pod may nest as deep as he likes
            return None
        if not isinstance(raw, dict):
            return None
        raw = {"nudged_at": None, **raw}  # the first releases wrote none
        if raw.keys() != {field.name for field in fields(cls)}:
            return None
        times = (raw["signal_at"], raw["nudged_at"])
        if not isinstance(raw["owner"], str) or type(raw["cost"]) is not int or not isinstance(raw["was"], str | None):
            return None
        return cls(**raw) if all(at is None or type(at) is int for at in times) else None


def tag_of(pod: Pod, owner: Owner) -> Tag | None:
    """Our tag on ``pod``; None when there is none, or it is somebody else's."""
    tag = Tag.read(pod.gate) if pod.gate else None
    return tag if tag is not None and tag.owner == owner.text else None


def foreign_tags(pods: Iterable[Pod], owner: Owner) -> tuple[Pod, ...]:
    """Pods that carry a gate tag that isn't ours: another stack, or text we never wrote."""
    return tuple(pod for pod in pods if pod.gate and tag_of(pod, owner) is None)


def cost_below(retained: Iterable[Pod]) -> int | None:
    """A cost under that of every retained pod; None when one has the lowest there is."""
    lowest = min((pod.deletion_cost for pod in retained), default=0)
    cost = min(BASE_COST, lowest - 1)
    return cost if cost >= INT32_MIN else None


def mark(pod: Pod, owner: Owner, cost: int) -> Mark:
    """The mark that ``pod`` must carry; a cost found before our first mark is remembered, and retained over renewals."""
    tag = tag_of(pod, owner)
    if tag is None:
        ours = pod.cost_text == str(cost)  # somebody took the tag and left the cost: not a value to put back
        tag = Tag(owner=owner.text, cost=cost, was=None if ours else pod.cost_text)
    return Mark(pod=pod.name, cost=cost, tag=replace(tag, cost=cost).text())


def is_marked(pod: Pod, wanted: Mark) -> bool:
    """Whether ``pod`` carries exactly this mark."""
    return pod.gate == wanted.tag and pod.deletion_cost == wanted.cost


def signalled(pod: Pod, owner: Owner, at: int) -> Mark | None:
    """The mark of ``pod`` with the time of the signal; None for a pod without our tag."""
    tag = tag_of(pod, owner)
    if tag is None:
        return None
    return Mark(pod=pod.name, cost=tag.cost, tag=replace(tag, signal_at=at).text())


def triggered(pod: Pod, owner: Owner, at: int) -> Mark | None:
    """The mark of ``pod`` with the time of a nudge; None where it was nudged a moment ago, or isn't marked by us."""
    tag = tag_of(pod, owner)
    if tag is None or (tag.nudged_at is not None and tag.nudged_at > at - TRIGGER_EVERY_S):
        return None
    return Mark(pod=pod.name, cost=tag.cost, tag=replace(tag, nudged_at=at).text())


def just_triggered(pod: Pod, owner: Owner, at: int) -> bool:
    """Whether the operator was told to look at ``pod`` so lately that its answer is on its way."""
    tag = tag_of(pod, owner)
    return tag is not None and tag.nudged_at is not None and tag.nudged_at > at - ANSWER_S


def unmark(pod: Pod, tag: Tag, *, uncordon: bool) -> Unmark:
    """What to take back from a pod that carries our ``tag``."""
    return Unmark(pod=pod.name, restore_cost=pod.cost_text == str(tag.cost), was=tag.was, uncordon=uncordon)


ENTRY: Final = "held"


@dataclass(frozen=True)
class Held:
    """What is closed or drained before a change of slurm.conf: partitions with the state that they had, and hosts.

    Remembered in a ConfigMap: a partition has no field for whose its state is, and an annotation on the Controller would
    restart slurmctld's pod (operator 1.1 and newer copy them to it). Wire format: one entry ``held``, JSON
    ``{"began":null,"hosts":[],"partitions":{"batch":"UP"}}``.
    """

    partitions: Mapping[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    began: int | None = None
    """When slurmctld last began with a configuration, as it was before the Controller got the new one."""

    def __bool__(self) -> bool:
        return bool(self.partitions or self.hosts)

    def text(self) -> str:
        """The entry's value."""
        plain = {"partitions": dict(self.partitions), "hosts": sorted(self.hosts), "began": self.began}
        return json.dumps(plain, sort_keys=True, separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> Held:
        """The value back. Raises StateError where it isn't one that this program wrote."""
        try:
            raw: Any = json.loads(text)
            partitions = {str(name): str(state) for name, state in raw["partitions"].items()}
            hosts, began = raw["hosts"], raw["began"]
            if not isinstance(hosts, list) or not (began is None or type(began) is int):
                raise TypeError  # noqa: TRY301 - as other shapes that this program never wrote
            return cls(partitions, tuple(str(host) for host in hosts), began)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise StateError(
                "the ConfigMap of closed partitions can't be read, so whose they are isn't known; nothing was changed. See"
                " `kubectl get configmaps`, set the partitions right by scontrol, and delete it"
            ) from None


def place(controller: str) -> str:
    """Name of the ConfigMap."""
    return names.shorten(f"{controller}-closed-partitions")


RELEASED_REASON: Final = "Not responding (drain taken back by slinky-iac)"
"""For a node that is down: UNDRAIN leaves the reason there, and slurmctld's own words were overwritten by our drain. With
``Not responding`` in it the operator treats the node as slurmctld's (IsNodeDownForUnresponsive)."""


FOR_A_CORDON: Final = "Pod ("
"""How the operator's reason begins where it drained a node for its pod. For a cordoned Kubernetes node: ``Node (``."""


def undo_steps(seen: Observation, owner: Owner, keep: Collection[str] = ()) -> tuple[Step, ...]:
    """All that is left to give back, but for what is on these pods, in order; a Wait at the end where something can't be
    given back yet. Empty when nothing of ours is there. A run that was cut off before its write leaves a permission."""
    permit = (RevokePermit(),) if seen.nodeset is not None and seen.nodeset.permitted else ()
    return (*permit, *release_steps(seen, owner, keep, podless=True))


def release_steps(seen: Observation, owner: Owner, keep: Collection[str], *, podless: bool = False) -> tuple[Step, ...]:
    """Steps that give back our marks and drains on all pods and their nodes but these, and with ``podless`` our drains on
    nodes that have no pod."""
    kept = {pod.slurm_node for pod in seen.pods if pod.name in keep}
    others = {pod.slurm_node for pod in seen.pods if pod.name not in keep}
    steps: list[Step] = []
    doomed = _doomed(seen)
    tagged = ((pod, tag_of(pod, owner)) for pod in seen.pods if pod.name not in keep)
    marked = [(pod, tag) for pod, tag in tagged if tag is not None]
    unmarks = tuple(_unmark(pod, tag, seen.cluster) for pod, tag in marked if pod.name not in doomed)
    if unmarks:
        steps.append(Release(unmarks))
    if seen.cluster is None and seen.nodeset is None and not seen.pods:
        return ()  # no NodeSet, so nobody asked: its pods took the marks with them, and nothing is behind its nodes
    if seen.cluster is None:
        return (*steps, Wait(f"Slurm could not be asked which drains are ours: {seen.problem}"))
    doomed_nodes = {pod.slurm_node for pod in seen.pods if pod.name in doomed}
    records = seen.cluster.nodes
    wanted = records.keys() - kept if podless else records.keys() & others
    ours = [node for name, node in records.items() if name in wanted and owner.owns(node.reason)]
    free_to_go = [node for node in ours if node.name not in doomed_nodes]
    drained = tuple(sorted(node.name for node in free_to_go if node.drained_or_draining))
    down = tuple(sorted(node.name for node in free_to_go if not node.drained_or_draining and "DOWN" in node.state))
    if drained:
        steps.append(Undrain(drained))
    if down:
        steps.append(SetReason(down, RELEASED_REASON))
    withheld = sorted({pod.name for pod, _ in marked} & doomed | {node.name for node in ours} & doomed_nodes)
    if withheld:
        steps.append(Wait(f"the operator is deleting {', '.join(withheld)}: what is ours there goes with the pods"))
    return tuple(steps)


def _doomed(seen: Observation) -> frozenset[str]:
    """Pods that the operator is deleting, or may be by the spec it has seen last."""
    leaving = {pod.name for pod in seen.pods if pod.terminating}
    if seen.nodeset is None:
        return frozenset(leaving)
    if not seen.nodeset.observed:
        return frozenset(pod.name for pod in seen.pods)
    prediction = predicted_victims(seen.pods, seen.nodeset.spec.replicas, seen.version)
    return frozenset(leaving | set(prediction.victims) | prediction.uncertain)


def _unmark(pod: Pod, tag: Tag, cluster: ClusterView | None) -> Unmark:
    record = cluster.nodes.get(pod.slurm_node) if cluster is not None else None
    return unmark(pod, tag, uncordon=pod.cordon and not _operators(record))


def _operators(record: Node | None) -> bool:
    """Whether the operator holds the node for a reason of its own: then the cordon on its pod is the operator's to lift."""
    held = record is not None and record.drained_or_draining and record.held_by_operator
    return held and not drained_for_cordon(record)


def drained_for_cordon(record: Node | None) -> bool:
    """Whether the operator drained a node because its pod has a cordon, and not because its Kubernetes node has one.

    With OnDelete, which Gated is, it lifts neither. Once the pod has no cordon any more, it returns the node.
    """
    if record is None or not record.drained_or_draining or not record.held_by_operator:
        return False
    return record.reason.removeprefix(names.OPERATOR_REASON_PREFIX).lstrip().startswith(FOR_A_CORDON)
