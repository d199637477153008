"""Which pods slurm-operator deletes when ``replicas`` is lowered. Pure.

Its ranking, for each release that this program supports:
``internal/controller/nodeset/utils/sort.go`` (ActivePods.Less, SplitActivePods) and ``syncNodeSet`` of the
tags 1.0.1 to 1.2.1. The operator takes ``len(all claimed pods) - replicas`` pods from the front of the ranking; pods
that are terminating or failed are counted like any other, and stay in the ranking until they are gone.

One thing can't be foretold. Up to 1.0.4, 1.1.1 and 1.2.0 the comparison says "a before b" and "b before a" of two
cordoned pods that are equal up to that step, so their order is whatever Go's sort makes of it; 1.0.5, 1.1.2 and 1.2.1
continue with the ordinal. Such pods are returned as ``uncertain`` when the cut runs between them. A lower deletion cost
on the selected pods decides before that step, which is why our gate sets one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from slinky_iac.kube.objects import Pod
from slinky_iac.releases import OperatorVersion

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
