"""slurmctld in Kubernetes runs with the stack's topology.yaml, and takes a new unit, and a host in it: before slurm-operator
1.2 without a restart.

A pod's place comes from its NodeSet's extraConf with slurm-operator 1.0. From 1.1 on the operator removes that place, and
gives each pod's node the one of its Kubernetes node (tests/faults/test_operator_1_1_topology.py watches both).
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from lab.stacks import Stack
from slinky_iac.releases import OperatorVersion
from tests.e2e.slurm import await_same
from tests.e2e.test_two_stacks import INSIDE, exec_in, inside
from tests.e2e.world import Settings, World, dev_settings
from tests.faults.inside_parts import queue_volume

CONTROLLER = "inside-controller-0"
RELEASE = OperatorVersion.parse(dev_settings()["slinky-iac:operator"]["version"])
SWITCH = "topo-switch:s2"
"""Place of the pod."""


def settings(switches: str, host: str) -> Settings:
    """A cluster wholly in Kubernetes but for one host, which has its place at a switch."""

    def edit(found: Settings) -> None:
        inside(found)
        rows = [{"hosts": ["metal-1"], "topology": f"topo-switch:{host}"}]
        if RELEASE.prunes_slurm_conf:  # slurmctld's pod is replaced, and without its state it knows no pod's node
            found["slinky-iac:controller"]["persistence"] = {"enabled": True, "size": "1Gi"}
        if RELEASE.has_topology:
            rows.append({"names": ["node-[1-3]"], "topology": SWITCH})
        else:
            found["slinky-iac:nodesets"]["solo"]["extraConf"] = {"Topology": SWITCH}
        found["slinky-iac:external"] = {
            "slurmdHosts": [{"name": "metal-1", "address": "10.99.0.21", "config": {"CPUs": "2"}}]
        }
        found["slinky-iac:nodes"] = {
            "topologies": {"topo-switch": {"tree": {"core": [switches]}}},
            "table": rows,
        }

    return dev_settings(edit)


@pytest.fixture
def stack(world: World) -> Iterator[Stack]:
    """The stack, up."""
    world.vacate()
    with queue_volume(world):
        made = world.stack("topology", settings("s[1-2]", "s1"))
        try:
            made.up()
            yield made
        finally:
            world.vacate()


def units(world: World) -> set[str]:
    """Nodes of each switch, as slurmctld shows them; none while its pod is replaced."""
    try:
        shown = exec_in(world, "scontrol", "show", "topology")
    except subprocess.CalledProcessError:
        return set()
    return {f"{name}={nodes}" for name, nodes in re.findall(r"^SwitchName=(\S+) .*?Nodes=(\S*)", shown, re.MULTILINE)}


def restarts(world: World) -> dict[str, int]:
    """Restarts of slurmctld's containers, by its pod's UID."""
    pod: dict[str, Any] = json.loads(world.kubectl("get", "pod", "-n", INSIDE, CONTROLLER, "-o", "json").stdout)
    return {pod["metadata"]["uid"]: sum(each["restartCount"] for each in pod["status"]["containerStatuses"])}


def test_a_host_and_a_pod_are_under_their_switches_and_a_new_unit_restarts_nothing(stack: Stack, world: World) -> None:
    await_same("both are at their switches", lambda: units(world), {"core=metal-1,solo-0", "s1=metal-1", "s2=solo-0"}, 120)
    before = restarts(world)
    world.stack(stack.name, settings("s[1-3]", "s3"))
    stack.up()
    wanted = {"core=metal-1,solo-0", "s1=", "s2=solo-0", "s3=metal-1"}
    await_same("the host is at the new switch", lambda: units(world), wanted, 180)
    if RELEASE.prunes_slurm_conf:  # slurmctld's pod has its hash, and a host's line changes
        assert restarts(world).keys() != before.keys()
    else:
        assert restarts(world) == before, "slurmctld read both files at once"
    assert exec_in(world, "srun", "-w", "solo-0", "-t1", "hostname") == "solo-0\n"
