"""Waiting until a NodeSet's pods are Slurm nodes that take jobs, and naming those that aren't, with the reason. Pure.

A node record that was left behind under a reused name may still carry our own drain or the operator's; these are cleared
(:mod:`slinky_iac.drain.scale_out`). Drains of people stay, are told, and don't hold up an update: they are somebody's
decision. Nodes over an autoscaler's maximum stay drained too, until it lowers its number.
"""

from __future__ import annotations

from slinky_iac.drain.actions import Done, Resume, Step, Stop, Wait
from slinky_iac.drain.in_service import fault_of
from slinky_iac.drain.mark import tag_of
from slinky_iac.drain.observation import Observation
from slinky_iac.drain.scale_out import stale_records
from slinky_iac.drain.settings import GateSettings
from slinky_iac.drain.undo import release_steps


def members_step(seen: Observation, settings: GateSettings, deadline_at: int) -> Step:
    """The next act towards all nodes in service."""
    missing = absent(seen, settings)
    if not missing:
        return Done()
    step = _given_back(settings, seen)
    if step is not None:
        return step
    if seen.now >= deadline_at:
        return Stop(
            f"after {settings.policy.register_deadline_s} s these are not in service: {'; '.join(missing)}. Repair what is"
            " named, then run `pulumi up` again; nodes that are in service stay so",
            "deadline",
        )
    return Wait(f"waiting for {len(missing)}: {'; '.join(missing[:3])}")


def absent(seen: Observation, settings: GateSettings) -> tuple[str, ...]:
    """What isn't as it should be, one sentence each; empty when all is well."""
    if seen.nodeset is None:
        return (f"there is no NodeSet {settings.resource}",)
    if seen.cluster is None:
        return (f"Slurm could not be asked: {seen.problem}",)
    wanted = seen.nodeset.replicas
    faults = [f"{len(seen.pods)} pods where {wanted} are asked for"] if len(seen.pods) != wanted else []
    held = _held(seen, settings)
    faults += [fault for pod in seen.pods if pod.node not in held and (fault := fault_of(pod, seen, settings.owner))]
    faults += [f"{node} carries what an earlier pod of its name left" for node in stale_records(seen, settings.owner)]
    return tuple(faults)


def _held(seen: Observation, settings: GateSettings) -> frozenset[str]:
    """Nodes that this gate has drained for an autoscaler, which lowers the number."""
    if settings.scaler != "autoscaler" or seen.nodeset is None or seen.nodeset.replicas <= settings.ceiling:
        return frozenset()
    return frozenset(pod.node for pod in seen.pods if tag_of(pod, settings.owner) is not None)


def _given_back(settings: GateSettings, seen: Observation) -> Step | None:
    """What gives back ours on pods that are here to stay, or clears what earlier pods of their names left."""
    if seen.nodeset is None or len(seen.pods) != seen.nodeset.replicas:
        return None
    held = _held(seen, settings)
    nodes = {pod.node for pod in seen.pods} - held
    steps = release_steps(seen, settings.owner, lambda pod: pod.node not in held, lambda node: node in nodes)
    stale = stale_records(seen, settings.owner)
    if stale:
        return Resume(stale)
    return None if not steps or isinstance(steps[0], Wait) else steps[0]
