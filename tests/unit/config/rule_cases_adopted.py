"""Cases for the rules about what a stack takes over from a Helm release."""

from __future__ import annotations

from typing import Any

from tests.stacks import minimal
from tests.unit.config.rule_cases import Case

RECORD = "sh.helm.release.v1.slurm.v1"
UID = "00000000-0000-4000-8000-000000000001"
SOUND = {
    "cluster": {"name": "atlas", "createNamespace": False},
    "keys": {
        "source": "existing",
        "slurmKeyFrom": {"secret": "slurm-auth-slurm"},
        "jwtKeyFrom": {"secret": "slurm-auth-jwt"},
    },
    "nodesets": {"gpu": {"replicas": 1}},
}
WITH = minimal(**SOUND)
NODESET = "NodeSet slurm-worker-gpu"


def adopted(*keep: str, called: str = "Controller slurm", **more: Any) -> dict[str, Any]:
    """A stack that takes over one object."""
    section = {"release": "slurm", "record": RECORD, "objects": {called: {"uid": UID, "keep": list(keep)}}}
    return {**WITH, "adopted": section, **more}


ADOPTED = [
    Case(
        "other keys than those of the release",
        adopted(keys={"source": "generated"}),
        "error",
        "adopted",
        ("keys.source: existing", "refuse each other"),
        {"keys": {"source": "existing", "slurmKeyFrom": {"secret": "a"}, "jwtKeyFrom": {"secret": "b"}}},
    ),
    Case(
        "a namespace that the release has already",
        adopted(cluster={"name": "atlas"}),
        "error",
        "adopted",
        ("cluster.createNamespace: false",),
        {"cluster": {"createNamespace": False}},
    ),
    Case(
        "an object that the stack doesn't have",
        adopted(called="NodeSet slurm-worker-old"),
        "error",
        "adopted.objects",
        ("NodeSet slurm-worker-old isn't made by this stack", NODESET),
        {"nodesets": {"old": {"replicas": 1}}},
    ),
    Case(
        "a field that a gate relies on",
        adopted("spec.updateStrategy", called=NODESET),
        "error",
        "adopted.objects",
        ("spec.updateStrategy", "gates and daemons rely on"),
        {"adopted": {"objects": {NODESET: {"keep": ["spec.slurmd.env"]}}}},
    ),
    Case(
        "lines of slurm.conf that are settings",
        adopted("spec.extraConf"),
        "error",
        "adopted.objects",
        ("spec.extraConf.ReturnToService",),
        {"adopted": {"objects": {"Controller slurm": {"keep": ["spec.extraConf.ReturnToService"]}}}},
    ),
    Case(
        "labels of a NodeSet, which restart no pod",
        adopted("metadata.annotations", called=NODESET),
        "error",
        "adopted.objects",
        ("gates store notes there",),
        {"adopted": {"objects": {NODESET: {"keep": []}}}},
    ),
]
ADOPTED_TOLD = [
    Case(
        "settings that have no effect",
        adopted("metadata.labels", "spec.slurmctld.env"),
        "info",
        "adopted",
        ("Controller slurm: metadata.labels, spec.slurmctld.env", "no effect"),
        {"adopted": {"objects": {"Controller slurm": {"keep": []}}}},
    ),
]
