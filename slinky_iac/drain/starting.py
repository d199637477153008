"""How many pods a scale-out starts while earlier ones have not registered with slurmctld yet (``drain.startAtOnce``). Pure.

slurm-operator creates up to 250 pods in one pass and has no setting for fewer. Each pulls its image, registers, and asks
slurmctld for its files in the same seconds; 2,000 at once can take slurmctld longer than the last of them may wait.
"""

from __future__ import annotations

from typing import Final

from slinky_iac.drain import protocol
from slinky_iac.drain.members import fault_of, not_in_service, stale_records
from slinky_iac.drain.protocol import Goal, Observation, Step, Stop, Wait
from slinky_iac.kube.objects import NodeSet

FORGOTTEN: Final = 2
"""A pod that hasn't registered after so many times ``registerDeadline`` is broken, and holds back no other pod."""


def first_number(goal: Goal) -> int:
    """The number of a NodeSet that has no pod yet."""
    most = goal.policy.start_at_once
    return goal.target if most is None else min(goal.target, goal.current + most)


def raise_step(seen: Observation, goal: Goal, state: NodeSet) -> Step:
    """The next write of ``replicas``, or a wait for pods that are on their way. ``goal.target`` is larger than the live
    number."""
    if goal.policy.start_at_once is None:
        return protocol.SetReplicas(goal.target)
    if stale := stale_records(seen, goal.owner):  # what earlier pods of their names left keeps them out of service
        return protocol.Resume(stale)
    oldest = seen.now - FORGOTTEN * goal.policy.register_deadline_s
    faults = [fault for pod in seen.pods if pod.created > oldest and (fault := fault_of(pod, seen, goal.owner))]
    starting = len(faults) + max(state.spec.replicas - len(seen.pods), 0)
    number = min(goal.target, state.spec.replicas + goal.policy.start_at_once - starting)
    if number > state.spec.replicas:
        return protocol.SetReplicas(number)
    told = "; ".join(faults) or "slurm-operator has not made them yet"
    if seen.now >= goal.ends_at:
        return Stop(not_in_service(goal.policy, told), "deadline")
    return Wait(
        f"replicas go on from {state.spec.replicas} to {goal.target} as these register (drain.startAtOnce is"
        f" {goal.policy.start_at_once}): {'; '.join(faults[:3]) or told}"
    )
