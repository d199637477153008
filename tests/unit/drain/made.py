"""Short ways to make the views that the tests decide on."""

from slinky_iac.drain.mark import BASE_COST, Tag
from slinky_iac.drain.observation import Goal, Observation
from slinky_iac.drain.policy import DrainPolicy
from slinky_iac.drain.settings import Owner
from slinky_iac.drain.view import ClusterView, JobView, NodeSetView, NodeView, PodView
from slinky_iac.operator_version import OperatorVersion

NOW = 1_800_000_000
OWNER = Owner("dev", "gpu")
OURS = OWNER.reason("scale-in 3->1")
V110 = OperatorVersion.parse("1.1.0")
V121 = OperatorVersion.parse("1.2.1")
LATER = NOW + 40 * 86_400


def pod(number, **changes):
    """A healthy worker pod that has been ready for long; the operator sees its node idle."""
    plain = {
        "name": f"hpc-worker-gpu-{number}",
        "ordinal": number,
        "node": f"gpu-{number}",
        "ready_since": NOW - 5000,
        "created": NOW - 6000,
        "operator_states": frozenset({"IDLE"}),
    }
    return PodView(**{**plain, **changes})


def given_up(number, **changes):
    """A pod that carries our marks and whose drain the operator has seen."""
    plain = {
        "deletion_cost": BASE_COST,
        "cost_text": str(BASE_COST),
        "gate": Tag("dev/gpu", BASE_COST).text(),
        "cordon": True,
        "operator_states": frozenset({"IDLE", "DRAIN"}),
        "operator_reason": OURS,
    }
    return pod(number, **{**plain, **changes})


def node(ordinal, state="IDLE", reason="", **changes):
    """A node record; ``state`` as sinfo has it, with ``+``."""
    return NodeView(f"gpu-{ordinal}", frozenset(state.split("+")), reason=reason, **changes)


def held(ordinal, state="IDLE+DRAIN", **changes):
    """A node with our drain, for long enough."""
    return node(ordinal, state, **{"reason": OURS, "reason_user": "slurm", "resume_after": LATER, **changes})


def job(number, *ordinals, end=NOW + 3600, state="RUNNING", **changes):
    """A job on some nodes, in its last hour."""
    plain = {"user": "alice", "start": NOW - 3600}
    return JobView(number, frozenset(state.split("+")), tuple(f"gpu-{n}" for n in ordinals), end=end, **{**plain, **changes})


def nodeset(replicas, **changes):
    """A settled NodeSet."""
    return NodeSetView(**{"name": "hpc-worker-gpu", "replicas": replicas, "updated": replicas, **changes})


def seen(pods, nodes, jobs=(), replicas=None, version=V110, **changes):
    """One look."""
    replicas = len(pods) if replicas is None else replicas
    plain = {
        "now": NOW,
        "version": version,
        "pods": tuple(pods),
        "nodeset": nodeset(replicas),
        "cluster": ClusterView.of(nodes, jobs),
    }
    return Observation(**{**plain, **changes})


def goal(current, target, **changes):
    """A goal of our stack with an hour to go."""
    plain = {
        "owner": OWNER,
        "current": current,
        "target": target,
        "policy": DrainPolicy(),
        "deadline_at": NOW + 3600,
        "why": f"scale-in {current}->{target}",
    }
    return Goal(**{**plain, **changes})
