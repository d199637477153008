"""Waiting until a NodeSet's pods are Slurm nodes that take jobs, and naming those that aren't, with the reason.

A node record that was left behind under a reused name may still carry our own drain or the operator's; these are cleared
(:mod:`slinky_iac.drain.scale_out`). Drains of people stay, are told, and don't hold up an update: they are somebody's
decision. Nodes over an autoscaler's maximum stay drained too, until it lowers its number.
"""

from __future__ import annotations

from slinky_iac.drain.actions import Resume, Step, Wait
from slinky_iac.drain.in_service import fault_of
from slinky_iac.drain.mark import tag_of
from slinky_iac.drain.observation import Observation
from slinky_iac.drain.scale_out import stale_records
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import GateSettings
from slinky_iac.drain.undo import release_steps
from slinky_iac.drain.waiting import rest
from slinky_iac.errors import DrainDeadline, KubeConflict, KubeUnreachable, SlurmrestUnreachable


def await_members(session: Session, settings: GateSettings) -> Observation:
    """Wait until exactly the pods that are asked for are there, ready and registered with slurmctld; the whole look that
    shows it.

    With an autoscaler, however many it asks for now. Raises DrainDeadline naming each pod that isn't there, and why.
    """
    deadline = session.now() + settings.policy.register_deadline_s
    missing: tuple[str, ...] = ()
    while True:
        try:
            seen, whole = session.glance(settings)
            missing, step = absent(seen, settings), _given_back(settings, seen)
            if not whole and (step is not None or not missing):
                seen = session.observe(settings)
                missing, step = absent(seen, settings), _given_back(settings, seen)
            if not missing:
                session.report(f"{len(seen.pods)} of {len(seen.pods)} nodes registered")
                return seen
            if step is not None:
                session.act(step, settings)
        except (KubeUnreachable, KubeConflict, SlurmrestUnreachable) as error:
            missing = (str(error),)
        if session.now() >= deadline:
            raise DrainDeadline(
                f"{settings.owner.text}: after {settings.policy.register_deadline_s} s these are not in service: "
                + "; ".join(missing)
                + ". Repair what is named, then run `pulumi up` again; nodes that are in service stay so"
            )
        session.report(f"waiting for {len(missing)}: {'; '.join(missing[:3])}")
        rest(session, settings.owner, settings.policy.poll_s, "waiting for nodes to register")


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
