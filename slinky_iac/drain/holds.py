"""The hold on a node that we drain, the dead man's switch: slurmctld ends the drain at ``resume_after``, so that a
run that was killed blocks no node for ever. Pure; set, renewed and cleared here only.

What slurmctld does with it (``node_mgr.c`` of 24.11 to 26.05):

- a DRAIN of a drained node changes ``resume_after`` only where it names one. So a person's drain over ours keeps our hold,
  and slurmctld would end that drain. The tag on the pod notes the hold, and it is cleared once the drain is another's;
- a start of slurmctld restores it on nodes that are DOWN or drained, and drops it on dynamic nodes with a job. So a hold
  that isn't there is set again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from slinky_iac.drain.cost import Candidate, Kind
from slinky_iac.drain.marks import Mark
from slinky_iac.drain.protocol import ClearHold, Observation, RenewHold, SetCosts
from slinky_iac.drain.scale_in_state import ScaleInState
from slinky_iac.drain.settings import Owner
from slinky_iac.drain.tags import retagged, tag_of
from slinky_iac.kube.objects import Pod

HANDED_OVER_S: Final = 30 * 24 * 3600
"""Hold of a node whose pod may be deleted from now on: it outlasts an operator that is away, or a deletion that fails."""


def while_waiting(stage: ScaleInState) -> RenewHold | None:
    """The hold of this run's drains renewed, None where half of it is left."""
    policy = stage.goal.policy
    return _renewed(stage, [candidate.name for candidate in stage.selected], policy.hold_s or policy.min_hold_s)


def handed_over(stage: ScaleInState, pods: Collection[str], cordoned: tuple[str, ...] = ()) -> RenewHold | None:
    """A long hold on the nodes of pods that may be deleted from now on, None where it is set. ``cordoned``: those that get
    ``pod-cordon`` with its notes."""
    return _renewed(stage, pods, HANDED_OVER_S, cordoned)


def _renewed(stage: ScaleInState, pods: Collection[str], hold_s: int, cordoned: tuple[str, ...] = ()) -> RenewHold | None:
    moment = stage.seen.now + hold_s // 2
    # Without one in the policy, a drain has no end, and only one of an earlier policy is made longer.
    lost = stage.goal.policy.hold_s is not None
    ending = [
        candidate for candidate, end in _ours(stage) if candidate.name in pods and (lost if end is None else end < moment)
    ]
    marks = _marks(stage.goal.owner, ((candidate.pod, 0) for candidate in ending))
    return RenewHold(tuple(candidate.node for candidate in ending), hold_s, marks, cordoned) if ending else None


def noted(stage: ScaleInState) -> SetCosts | None:
    """The end of each hold noted on its pod, while jobs are waited for; None where it is."""
    marks = _marks(stage.goal.owner, ((candidate.pod, end) for candidate, end in _ours(stage) if end is not None))
    return SetCosts(marks) if marks else None


def under_others(seen: Observation, owner: Owner) -> ClearHold | None:
    """Holds of ours under drains that are somebody else's by now, to be cleared; None where there is none.

    A ``resume_after`` that isn't the one noted is somebody else's, too.
    """
    holds: list[tuple[Pod, str, int]] = []
    for pod in seen.pods:
        record = None if seen.cluster is None or pod.terminating else seen.cluster.nodes.get(pod.slurm_node)
        tag = tag_of(pod, owner)
        if record is None or tag is None or not record.drained_or_draining or owner.owns(record.reason):
            continue
        end = record.resume_after.value
        if end is not None and tag.hold in (0, end):
            holds.append((pod, pod.slurm_node, end))
    marks = _marks(owner, ((pod, None) for pod, _, _ in holds))
    return ClearHold({node: end for _, node, end in holds}, marks) if holds else None


def _ours(stage: ScaleInState) -> list[tuple[Candidate, int | None]]:
    """Selected pods whose nodes carry our drain, and its end."""
    return [
        (candidate, candidate.record.resume_after.value)
        for candidate in stage.selected
        if candidate.kind is Kind.OURS and candidate.record is not None
    ]


def _marks(owner: Owner, wanted: Iterable[tuple[Pod, int | None]]) -> tuple[Mark, ...]:
    marks = (retagged(pod, owner, hold=hold) for pod, hold in wanted)
    return tuple(mark for mark in marks if mark is not None)
