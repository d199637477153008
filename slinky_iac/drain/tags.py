"""The marks that we leave on pods. Pure.

A mark is a deletion cost that puts a pod first, and a tag that says whose mark it is. The tag (names.ANNOTATION_GATE) has
all that a later run, with no memory of this one, needs to continue or to undo: the owner, the cost we set and the one that
was there before, when jobs were signalled, when the operator was asked to look, and the hold on its node
(:mod:`slinky_iac.drain.holds`). Compact JSON, a wire format:
``{"cost":-1000000000,"hold":null,"nudged_at":null,"owner":"dev/gpu","was":null}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Final

from slinky_iac import names
from slinky_iac.drain.marks import Mark, Unmark
from slinky_iac.drain.ranking import INT32_MIN
from slinky_iac.drain.settings import Owner
from slinky_iac.kube.objects import Pod

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
    nudged_at: int | None = None
    """When the operator was last asked to look: any change of a pod makes it sync, and refresh its view of Slurm first."""
    hold: int | None = None
    """When slurmctld ends our drain of its node, as its ``resume_after`` says; 0: a hold is being set, and its end was not
    yet seen; None: we set none."""

    def text(self) -> str:
        """The annotation's value."""
        return json.dumps(vars(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> Tag | None:
        """The tag in an annotation's value; None where it isn't one that this program wrote."""
        try:
            raw = json.loads(text)
        except (ValueError, RecursionError):  # who may patch a pod may nest as deep as he likes
            return None
        if not isinstance(raw, dict):
            return None
        if raw.keys() != _TAG_FIELDS:
            return None
        times = (raw["nudged_at"], raw["hold"])
        if not isinstance(raw["owner"], str) or type(raw["cost"]) is not int or not isinstance(raw["was"], str | None):
            return None
        return cls(**raw) if all(at is None or type(at) is int for at in times) else None


_TAG_FIELDS: Final = frozenset(field.name for field in fields(Tag))


def tag_of(pod: Pod, owner: Owner) -> Tag | None:
    """Our tag on ``pod``; None when there is none, or it is somebody else's."""
    tag = Tag.read(pod.gate) if pod.gate else None
    return tag if tag is not None and tag.owner == owner.text else None


def foreign_tags(pods: Iterable[Pod], owner: Owner) -> tuple[Pod, ...]:
    """Pods that carry a gate tag that isn't ours: another stack, or text we never wrote."""
    return tuple(pod for pod in pods if pod.gate and tag_of(pod, owner) is None)


NO_COST_BELOW: Final = (
    "a retained pod has the lowest deletion cost there is, so the operator would delete it before any selected one: remove"
    f" its annotation {names.ANNOTATION_DELETION_COST}"
)


def cost_below(retained: Iterable[Pod]) -> int | None:
    """A cost under that of every retained pod; None when one has the lowest there is."""
    lowest = min((pod.deletion_cost for pod in retained), default=0)
    cost = min(BASE_COST, lowest - 1)
    return cost if cost >= INT32_MIN else None


def mark(pod: Pod, owner: Owner, cost: int, *, drains: bool = False, drained: bool = False) -> Mark:
    """The mark that ``pod`` must carry; a cost found before our first mark is remembered, and retained over renewals.

    ``drains``: its node gets our drain next. ``drained``: it has our drain, also where somebody took the tag.
    """
    tag = tag_of(pod, owner)
    if tag is None:
        ours = pod.cost_text == str(cost)  # somebody took the tag and left the cost: not a value to put back
        tag = Tag(owner=owner.text, cost=cost, was=None if ours else pod.cost_text, hold=0 if drained else None)
    hold = 0 if drains else tag.hold
    return Mark(pod=pod.name, cost=cost, tag=replace(tag, cost=cost, hold=hold).text())


def is_marked(pod: Pod, wanted: Mark) -> bool:
    """Whether ``pod`` carries exactly this mark."""
    return pod.gate == wanted.tag and pod.deletion_cost == wanted.cost


def retagged(pod: Pod, owner: Owner, **changes: int | None) -> Mark | None:
    """The mark of ``pod`` with these fields of its tag; None for a pod without our tag, or whose tag is so."""
    tag = tag_of(pod, owner)
    changed = None if tag is None else Tag(**{**vars(tag), **changes})
    return None if changed in (None, tag) else Mark(pod.name, changed.cost, changed.text())


def triggered(pod: Pod, owner: Owner, at: int) -> Mark | None:
    """The mark of ``pod`` with the time of a nudge; None where it was nudged a moment ago, or isn't marked by us."""
    return None if _nudged_since(pod, owner, at - TRIGGER_EVERY_S) else retagged(pod, owner, nudged_at=at)


def just_triggered(pod: Pod, owner: Owner, at: int) -> bool:
    """Whether the operator was told to look at ``pod`` so lately that its answer is on its way."""
    return _nudged_since(pod, owner, at - ANSWER_S)


def _nudged_since(pod: Pod, owner: Owner, moment: int) -> bool:
    tag = tag_of(pod, owner)
    return tag is not None and tag.nudged_at is not None and tag.nudged_at > moment


def unmark(pod: Pod, tag: Tag, *, uncordon: bool) -> Unmark:
    """What to take back from a pod that carries our ``tag``."""
    return Unmark(pod.name, restore_cost=pod.cost_text == str(tag.cost), was=tag.was, uncordon=uncordon)
