"""Short ways to make the views that the tests decide on."""

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.protocol import Goal, Observation
from slinky_iac.drain.settings import DrainPolicy, Owner
from slinky_iac.drain.tags import BASE_COST, Tag
from slinky_iac.releases import OperatorVersion
from tests.made.jobs import job as made_job
from tests.made.nodes import node as made_node
from tests.made.nodesets import nodeset as made_nodeset
from tests.made.pods import pod as made_pod

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
        "slurm_node": f"gpu-{number}",
        "ready_changed": NOW - 5000,
        "created": NOW - 6000,
        "slurm_states": {"IDLE"},
    }
    return made_pod(**{**plain, **changes})


def given_up(number, **changes):
    """A pod that carries our marks and whose drain the operator has seen."""
    plain = {
        "deletion_cost": BASE_COST,
        "gate": Tag("dev/gpu", BASE_COST, hold=LATER).text(),
        "cordon": True,
        "slurm_states": {"IDLE", "DRAIN"},
        "slurm_reason": OURS,
    }
    return pod(number, **{**plain, **changes})


def marked(number, **changes):
    """The same right before our drain."""
    return given_up(number, **{"gate": Tag("dev/gpu", BASE_COST, hold=0).text(), **changes})


def node(ordinal, state="IDLE", reason="", **changes):
    """A node record; ``state`` as sinfo has it, with ``+``."""
    plain = {"reason": reason, "reason_changed_at": None, "features": ["gpu"], "active_features": [], "partitions": []}
    return made_node(f"gpu-{ordinal}", state, **{**plain, **changes})


def held(ordinal, state="IDLE+DRAIN", **changes):
    """A node with our drain, for long enough."""
    return node(ordinal, state, **{"reason": OURS, "user": "slurm", "resume_after": LATER, **changes})


def job(number, *ordinals, end=NOW + 3600, state="RUNNING", required=(), least=None, **changes):
    """A job on some nodes, in its last hour; without an end it has no time limit. ``required``: None can't be read."""
    changes |= {"required_nodes": "gpu-[" if required is None else ",".join(required), "node_count": least}
    plain = {"start_time": NOW - 3600, "end_time": end, "limit": None if end is None else 10, "requeue": False, "name": ""}
    nodes = ",".join(f"gpu-{n}" for n in ordinals)
    return made_job(number, nodes, state, **{**plain, "partition": "", **changes})


def nodeset(replicas, **changes):
    """A settled NodeSet."""
    return made_nodeset("hpc-worker-gpu", replicas, **changes)


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


SAYS = {
    "frozen": "the update changes nothing of it",
    "autoscaler": "so this program doesn't: lower the autoscaler's maximum",
    "rollout": "a rolling update of ",
    "foreign-gate": "the tag of another gate",
    "blocked-node": "is among the nodes to remove, and this program can't free it",
    "deletion-cost": "a retained pod has the lowest deletion cost",
    "prediction": "would not delete exactly the selected pods",
    "slurm-unknown": "Slurm could not be asked",
    "pod-count": "the operator will delete",
    "forced": "takes such pods first, so they are selected",
    "unregistered": "slurmctld has no record of them",
    "seen-elsewhere": "is not called free",
    "odd-node": " is retained: ",
    "endless": "unknown when it becomes free",
    "reservation": "is counted on by reservation",
    "foreign-drain-selected": " (selected) is drained by ",
    "foreign-drain-retained": " (retained) is drained by ",
    "split-jobs": "also run on nodes that stay",
    "in-flight": "an earlier scale-in of ",
    "nodelist": "is named by --nodelist of",
    "stranded": "could run on no node that is left",
    "limit-share": "raise maxShare",
    "limit-jobs": "raise maxJobs",
    "limit-age": "raise maxJobAge",
}


def codes(texts):
    """A word for each sentence of a plan: the one whose own words are in it."""
    found = [[code for code, says in SAYS.items() if says in text] for text in texts]
    return [code for (code,) in found]
