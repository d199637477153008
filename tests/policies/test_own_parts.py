"""Whatever a stack of this program has beside the daemons, the pack finds no fault with it: clients, a JupyterHub, jobs,
tokens, autoscalers, a node table, users, monitoring."""

from __future__ import annotations

from typing import Any

import pytest
from slurm_rules.model import Resource, Stack

from tests.clusters import recorded
from tests.policies.in_memory import speaking
from tests.program import Recording, Secret

BASE = "controller-outside"
PEOPLE = {"alice": {"uid": 20001, "gid": 20001}}
HUB = {
    "chart": {"version": "4.4.0"},
    "image": "registry.example.org/slurm-jupyter:26.05",
    "values": {"hub": {"config": {"JupyterHub": {"authenticator_class": "github"}}}},
}
JOB = {"user": "alice", "command": ["true"], "workingDirectory": "/tmp", "environment": {"OMP_NUM_THREADS": "4"}}
SCALED = {"owner": "autoscaler", "replicas": 0, "maxReplicas": 4, "autoscale": {}}
STATUS = {"image": "registry.example.org/slinky:0.1", "serviceAccount": "slinky-status", "folder": "/var/lib/node_exporter"}
PARTS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "client": ({"clients": {"nb": {"namespace": "notebooks", "people": PEOPLE, "deployment": {"person": "alice"}}}}, set()),
    "hub": (
        {"clients": {"nb": {"namespace": "notebooks", "people": PEOPLE, "jupyterhub": HUB}}},
        set(),
    ),
    "hub-of-jobs": (
        {"clients": {"nb": {"namespace": "notebooks", "people": PEOPLE, "jupyterhub": HUB | {"spawn": "slurm"}}}},
        set(),
    ),
    "jobs": ({"jobs": {"bench": JOB}, "smoke": {"enabled": True, "user": "alice"}}, set()),
    "tokens": ({"tokens": {"ci": {"user": "alice"}}}, set()),
    "autoscaler": ({"nodesets": {"gpu": SCALED}}, set()),
    "nodes": ({"nodes": {"prefix": "slurm.example.org", "table": [{"names": ["w-[1-2]"], "features": ["ib"]}]}}, set()),
    "identity": (
        {
            "identity": {"passwd": {"users": {"alice": {"uid": 20001, "gid": 20001}}}},
            "clients": {"nb": {"namespace": "notebooks", "people": PEOPLE}},
        },
        set(),
    ),
    "monitoring": (
        {"monitoring": {"rules": True, "dashboard": True, "status": STATUS}},
        {"cluster-as-made"},  # the site names the registry of its image
    ),
}
"""What is added to a stack, and the rules that speak of it on purpose."""


def stack_of(recording: Recording) -> Stack:
    """The stack that the engine would hand to the rules once all values are known."""
    found = [
        Resource(
            type=each.type,
            name=each.name,
            urn=each.urn,
            props=opened(each.inputs),
            protect=each.protect,
            ignore_changes=each.ignore_changes,
            parent=each.parent,
            component=not each.custom,
            dependencies=each.dependencies,
        )
        for each in recording.resources
    ]
    return Stack(tuple(found))


def opened(value: Any) -> Any:
    """Secrets as the rules read them, and whole numbers as the engine hands them over."""
    if isinstance(value, Secret):
        return opened(value.value)
    if isinstance(value, dict):
        return {key: opened(part) for key, part in value.items()}
    if isinstance(value, list):
        return [opened(part) for part in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.parametrize("part", PARTS)
def test_the_pack_finds_no_fault_with_a_part_of_a_stack(part: str) -> None:
    settings, reviewed = PARTS[part]
    before = speaking(stack_of(recorded(BASE)))
    assert speaking(stack_of(recorded(BASE, **settings))) - before == reviewed
