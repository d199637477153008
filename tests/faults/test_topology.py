"""topology.yaml on a real slurmctld: it takes what the rules let pass, ends over the rest, and has each node in its unit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import slurm as outside
from lab.slurm import cluster
from lab.slurm.cluster import Cluster
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.parts.node_table.topology import text_of
from tests.e2e.gated import NODES, Gated
from tests.e2e.joining import Joining
from tests.e2e.own_hosts import hosts_up
from tests.e2e.slurm import Slurm, await_same, await_true
from tests.faults.test_node_table import preflight
from tests.faults.test_topology_inside import RELEASE
from tests.stacks import minimal

STANDS_ON = "gated"
FILE = "/etc/slurm/topology.yaml"
TREE: dict[str, Any] = {"topo-switch": {"default": True, "tree": {"core": ["s[1-2]"]}}}
BLOCKS: dict[str, Any] = {"topo-block": {"block": {"blockSizes": [1, 2, 4], "blocks": ["b[1-4]"]}}}
FLAT: dict[str, Any] = {"topo-flat": {"flat": True}}
DECLARED = TREE | BLOCKS | FLAT
CASES: list[tuple[dict[str, Any], str, str]] = [
    # topologies, Topology= of the host's line, Topology= of the partition's
    (DECLARED, "topo-switch:s1,topo-block:b2", "topo-flat"),
    (DECLARED, "topo-switch:core:s1", "topo-block"),
    (DECLARED, "topo-switch:core:s3", "topo-switch"),
    (FLAT, "topo-flat", "topo-flat"),
    ({"t": {"tree": {}}}, "t:core:s1", "t"),
    ({"t": {"tree": {"1": ["2", "yes"]}}}, "t:yes", "t"),
    (DECLARED, "topo-switch:s9", "topo-flat"),
    (DECLARED, "topo-switch:core", "topo-flat"),
    (DECLARED, "topo-block:b9", "topo-flat"),
    (DECLARED, "none:s1", "topo-flat"),
    (DECLARED, "topo-flat", "none"),
    ({"t": {"default": True, "tree": {}}} | FLAT, "topo-flat", "topo-flat"),
    ({"t": {"default": True, "tree": {"a": ["b"], "b": ["a"]}}} | FLAT, "topo-flat", "topo-flat"),
    ({"t": {"default": True, "block": {"blockSizes": [2]}}} | FLAT, "topo-flat", "topo-flat"),
    ({"t": {"default": True, "block": {"blockSizes": [2, 3], "blocks": ["b1"]}}} | FLAT, "topo-flat", "topo-flat"),
    ({"t": {"default": True, "block": {"blockSizes": [2, 6], "blocks": ["b1"]}}} | FLAT, "topo-flat", "topo-flat"),
]
PROBE = """
slurmctld -D -i >/tmp/said 2>&1 & pid=$!
for _ in $(seq 100); do
    if scontrol ping | grep -q 'is UP'; then echo TAKEN; kill $pid; wait $pid; exit 0; fi
    kill -0 $pid 2>/dev/null || { echo ENDED; tail -n 3 /tmp/said; exit 0; }
    sleep 0.1
done
kill -9 $pid; echo NEITHER; cat /tmp/said
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Hosts of these tests' own, whose slurmctld is stopped."""
    with hosts_up(tmp_path_factory.mktemp("site")) as made:
        made.stop("ctl", "slurmctld")
        yield made


def sound(topologies: dict[str, Any], place: str, partition: str) -> tuple[bool, str]:
    """Whether the rules let it pass, and the file of the topologies."""
    whole = load(
        minimal(
            nodesets={"gpu": {"replicas": 1}},
            external={"slurmdHosts": [{"name": "metal-1", "config": {"Topology": place}}]},
            partitions={"all": {"nodesets": ["gpu"], "config": {"Topology": partition}}},
            nodes={"topologies": topologies},
        )
    )
    passes = not any(each.level == "error" for each in findings(whole, frozenset()))
    # a unit that the rules let pass is in the file; one that they refuse isn't
    given = whole if passes else load(minimal(nodes={"topologies": topologies}))
    return passes, text_of(given)


def taken(made: Cluster, text: str, place: str, partition: str) -> tuple[bool, str]:
    """Whether slurmctld starts with it, and what it says."""
    made.write()
    conf = made.hosts.inside("ctl", "etc/slurm/slurm.conf")
    lines = [
        f"{line} Topology={place}" if line.startswith("NodeName=metal-1 ") else line
        for line in conf.read_text().splitlines()
    ]
    lines.append(f"PartitionName=probe Nodes=metal-1 Topology={partition}")
    write = f"cat > /etc/slurm/slurm.conf && cat > {FILE} <<'EOT'\n{text}EOT\n"
    made.hosts.run("ctl", ["sh", "-c", write], stdin="\n".join(lines) + "\n")
    said = made.hosts.run("ctl", ["bash", "-c", PROBE], check=False).stdout
    assert said.startswith(("TAKEN", "ENDED")), said
    return said.startswith("TAKEN"), said


def test_slurmctld_takes_what_the_rules_let_pass_and_ends_over_what_they_refuse(alone: Cluster) -> None:
    wrong = []
    for case in CASES:
        passes, text = sound(*case)
        got, said = taken(alone, text, *case[1:])
        wrong += [(case, passes, said)] if got != passes else []
    assert wrong == []
    assert [sound(*case)[0] for case in CASES] == [True] * 6 + [False] * 10


@pytest.fixture
def restored(gated: Gated) -> Iterator[None]:
    """Afterwards the stack has its three pods, and then the lab's slurmctld its own files: in the other order it would end
    over places that nodes have and its file lacks."""
    yield
    hosts = cluster.LAB.hosts
    if not cluster.LAB.status()["ctl/slurmctld"]:
        cluster.LAB.write()
        place(text_of(load(minimal(nodes={"topologies": DECLARED}))))
        outside.daemon_start("ctl", "slurmctld")
    gated.reset()
    if RELEASE.has_topology:  # the operator takes it away some time after the Kubernetes node has none

        def placed() -> set[str]:
            return {name for name, each in gated.slurm.nodes().items() if name in NODES and each.get("topology")}

        await_same("no pod has a place", placed, set(), 120)
    hosts.run("ctl", ["rm", "-f", FILE])
    cluster.LAB.write()
    outside.reconfigure()
    gated.slurm.await_registered(*NODES)


def place(text: str) -> None:
    """Another topology.yaml for slurmctld."""
    cluster.LAB.hosts.run("ctl", ["sh", "-c", f"cat > {FILE}"], stdin=text)


def units(slurm: Slurm) -> dict[str, str]:
    """Nodes of each switch, as slurmctld shows them."""
    text = slurm.admin("scontrol", "show", "topology")
    return dict(re.findall(r"^SwitchName=(\S+) .*?Nodes=(\S*)", text, re.MULTILINE))


def handed_over(gated: Gated, folder: Path) -> str:
    """The hand-off of slurmctld's host, carried there and installed; what its install.sh says."""
    joining = Joining(gated.stack, {}, folder)
    joining.handoff("out", "--role", "slurmctld")
    there = joining.carry("out/slurmctld", "ctl")
    return cluster.LAB.hosts.run("ctl", [f"{there}/install.sh"], check=False).stdout


def lines_of_check() -> list[str]:
    """What the check on slurmctld's host says of topology.yaml and of metal-1's line."""
    said = cluster.LAB.hosts.run("ctl", ["slurm-check-slurmctld"], check=False).stdout
    return [line.split()[0] for line in said.splitlines() if "topology.yaml" in line or "NodeName=metal-1" in line]


def drift(gated: Gated) -> set[str]:
    """Nodes that slurmctld has at another place."""
    found = json.loads(gated.cli("drift", "--json").stdout)["drift"]
    return {each["subject"] for each in found if each["kind"] == "node-topology"}


@pytest.mark.usefixtures("restored")
def test_a_host_and_a_pod_are_each_under_their_switch_and_a_job_over_both_runs(
    gated: Gated, slurm: Slurm, tmp_path: Path
) -> None:
    """slurmctld outside: what the hand-off places is what it runs with. The pod's place is its NodeSet's with slurm-operator
    1.0, and its Kubernetes node's from 1.1 on."""
    rows: list[dict[str, Any]] = [{"hosts": ["metal-1"], "topology": "topo-switch:s1,topo-block:b1"}]
    nodeset, own = None, "topo-switch:s2,topo-block:b2"
    if RELEASE.has_topology:
        rows.append({"names": ["node-[1-3]"], "topology": own})
    else:
        nodeset = {"extraConf": {"Topology": own}}
    gated.write(1, nodes={"topologies": DECLARED, "table": rows}, nodeset=nodeset)
    place("- topology: mine\n  flat: true\n")
    assert "which is your own" in handed_over(gated, tmp_path)
    assert lines_of_check() == ["bad", "bad"]
    cluster.LAB.hosts.run("ctl", ["rm", FILE])
    assert f"installed {FILE}" in handed_over(gated, tmp_path)
    edit = "sed -i -E '/^NodeName=metal-1 /s/$/ Topology=topo-switch:s1,topo-block:b1/' /etc/slurm/slurm.conf"
    cluster.LAB.hosts.run("ctl", ["sh", "-c", edit])
    assert lines_of_check() == ["ok", "ok"]
    outside.reconfigure()

    gated.stack.up()
    wanted = {"core=gpu-0,metal-1", "s1=metal-1", "s2=gpu-0"}
    await_same(
        "nodes are at their switches", lambda: {f"{name}={nodes}" for name, nodes in units(slurm).items()}, wanted, 60
    )
    assert drift(gated) == set()
    assert preflight(gated)["topology"] == {"fine"}
    both = slurm.submit("-p", "all", "-w", "metal-1,gpu-0", "-N2", "-t", "5")
    slurm.await_running(both)
    slurm.finish(both)
    refused = slurm.user("sh", "-c", "sbatch -N2 -w metal-1,metal-2 -D /tmp --wrap hostname 2>&1", check=False)
    assert "Requested topology configuration is not available" in refused, "as the finding topology-without-place says"

    # a unit goes while a pod has it: preflight says what would follow, and it follows
    smaller = {"topologies": TREE | FLAT, "table": [rows[0] | {"topology": "topo-switch:s1"}]}
    gated.write(1, nodes=smaller)
    assert preflight(gated)["topology"] == {"problem"}
    place(text_of(load(minimal(nodes={"topologies": TREE | FLAT}))))
    cluster.LAB.hosts.run("ctl", ["sed", "-i", "s/,topo-block:b1//", "/etc/slurm/slurm.conf"])
    cluster.LAB.hosts.run("ctl", ["scontrol", "reconfigure"], check=False)
    await_true("slurmctld has ended", lambda: not cluster.LAB.status()["ctl/slurmctld"], 30)
