"""slurm-operator 1.1.0 gives each pod's node the place of its Kubernetes node, and removes every other place."""

from __future__ import annotations

from pathlib import Path

from lab import slurm as outside
from lab.slurm import cluster
from tests.e2e.gated import NAMESPACE, NODES, NODESET, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.faults.test_operator_1_1 import STANDS_ON, gated
from tests.faults.test_topology import DECLARED, drift, handed_over, restored, units

__all__ = ["STANDS_ON", "gated", "restored"]

SWITCHES = {"node-1": "s1", "node-2": "s2", "node-3": "s2"}


def places(gated: Gated) -> dict[str, str]:
    """Switch of the Kubernetes node behind each pod's Slurm node."""
    pods = gated.world.pods(NAMESPACE, NODESET)
    return {node: SWITCHES[pods[node]["spec"]["nodeName"]] for node in pods}


def found(slurm: Slurm) -> dict[str, str]:
    """Switch of each of the NodeSet's nodes, as slurmctld has it."""
    text = {name: record.get("topology", "") for name, record in slurm.nodes().items() if name in NODES}
    return {name: place.rpartition(":")[2] for name, place in text.items() if place}


def test_pods_are_under_the_switch_of_their_kubernetes_node(
    gated: Gated, slurm: Slurm, restored: None, tmp_path: Path
) -> None:
    rows = [{"names": [node], "topology": f"topo-switch:{switch}"} for node, switch in SWITCHES.items()]
    rows.append({"hosts": ["metal-1"], "topology": "topo-switch:s1"})
    gated.write(3, nodes={"topologies": DECLARED, "table": rows})
    handed_over(gated, tmp_path)
    edit = "sed -i -E '/^NodeName=metal-1 /s/$/ Topology=topo-switch:s1/' /etc/slurm/slurm.conf"
    cluster.LAB.hosts.run("ctl", ["sh", "-c", edit])
    outside.reconfigure()
    gated.stack.up()
    await_true("each pod has the place of its Kubernetes node", lambda: found(slurm) == places(gated), 120)
    assert "metal-1" in units(slurm)["s1"]
    assert drift(gated) == set()
    assert gated.changes() == [], "a preview after it is empty"

    # a place of the NodeSet's own doesn't last: the operator removes what the Kubernetes node's annotation doesn't say
    declared = {"topologies": DECLARED, "table": rows[-1:]}
    gated.write(3, nodes=declared, nodeset={"extraConf": {"Topology": "topo-switch:s2"}})
    ended = gated.try_up()
    print(ended.stdout[-3000:])
    slurm.await_registered(*NODES)
    await_true("no place is left", lambda: found(slurm) == {}, 120)
    assert drift(gated) == set(NODES)
