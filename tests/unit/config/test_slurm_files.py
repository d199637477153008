"""Files of /etc/slurm that slurmctld 26.05.5 takes, and those over which it ends: each was run, one by one, beside a
slurm.conf without a node, up to "Running as primary controller". (The one with hdf5 needs an image that has that plugin.)"""

from __future__ import annotations

import pytest
import yaml

from tests.stacks import minimal
from tests.unit.config.test_slurm_words import errors

TREE, BLOCK = "TopologyPlugin=topology/tree", "TopologyPlugin=topology/block"
CONF = [
    (TREE, "SwitchName=s0 Nodes=a-[0-5]\nSwitchName=s1 Switches=s0\n", True),
    (TREE, "SwitchName=s0 Nodes=a-[0-5],\\\nb-0\n", True),
    (TREE, "SwitchName=s0\n", True),
    (TREE, "SwitchName=s0 Nodes=a-0\nSwitchName=s0 Nodes=a-1\n", False),
    (TREE, "SwitchName=r Switches=l[1-2]\nSwitchName=l1 Nodes=a-0\n", False),
    (TREE, "SwitchName=r Switches=r\n", False),
    (TREE, "SwitchName=a Switches=b\nSwitchName=b Switches=a\n", False),
    (TREE, "SwitchName=s0 Nodes=a-[0-5\n", False),
    (TREE, "SwitchName=s0 Nodes=a-0 Switches=s1\n", False),
    (BLOCK, "BlockName=b1 Nodes=a-[0-3]\nBlockSizes=4\n", True),
    (BLOCK, "BlockName=b1 Nodes=a-[0-3]\nBlockSizes=30,60,120\n", True),
    (BLOCK, "BlockName=b1 Nodes=a-[0-3]\n", False),
    (BLOCK, "BlockName=b1 Nodes=a-[0-3]\nBlockSizes=4,12\n", False),
    (BLOCK, "BlockName=b1 Nodes=a-[0-3]\nBlockSizes=4,6\n", False),
    (BLOCK, "BlockName=b1\nBlockSizes=x\n", False),
    (BLOCK, "BlockName=b1\nBlockSizes=0\n", False),
    (BLOCK, "BlockName=b1 Nodes=a-0\nBlockName=b1 Nodes=a-1\nBlockSizes=1\n", False),
]
BLOCKS = "{blocks: [{block: b, nodes: 'a-[0-3]'}]"
YAML = [
    ("- {topology: t, tree: {switches: [{switch: r, children: 's[1-2]'}, {switch: s1, nodes: a-0}, {switch: s2}]}}", True),
    ("- {topology: t, cluster_default: true, flat: true}", True),
    ("- {topology: t, flat: {alpha_step_rank: true}}", True),
    ("- {tree: {switches: [{switch: s, nodes: a-0}]}}", True),
    ("- {topology: t, ring: {rings: [{ring: r, nodes: a-0}]}}", True),
    ("{topology: t, flat: true}", True),
    (f"- {{topology: t, block: {BLOCKS}, block_sizes: [4, 16]}}}}", True),
    (f"- {{topology: t, block: {BLOCKS}}}}}", False),
    ("{Switches: [{Name: s, Nodes: a}]}", False),
    ("- {topology: t, tree: {}}", False),
    ("- {topology: t, tree: {switches: []}}", False),
    ("- {topology: t, tree: {switches: [{switch: s, nodes: a-0}, {switch: s, nodes: a-1}]}}", False),
    ("- {topology: t, tree: {switches: [{switch: s, children: x}]}}", False),
    ("- {topology: t, tree: {switches: [{name: s, nodes: a-0}]}}", False),
    ("- {topology: t, tree: {switches: [{switch: s, nodes: [a-0, a-1]}]}}", False),
    ("- {topology: t, tree: {switches: [{switch: s, nodes: a-0}]}, flat: true}", False),
    ("- {topology: t}", False),
    ("[]", False),
    ("", False),
    ("a: [", False),
]
GATHER = [
    ("AcctGatherInterconnectType=sysfs", "SysfsInterfaces=ib0\n", True),
    ("AcctGatherProfileType=acct_gather_profile/hdf5", "ProfileHDF5Dir=/tmp/p\n", True),
    ("", "# nothing\n", True),
    ("", "SysfsInterfaces=ib0\n", False),
    ("", "EnergyIPMIFrequency=10\n", False),
    ("", "InfinibandOFEDPort=1\n", False),
    ("", "ProfileHDF5Dir=/tmp/p\n", False),
    ("", "ProfileFoo=1\n", False),
]


def said(file: str, text: str, conf: str = "") -> list[str]:
    key, _, value = conf.partition("=")
    controller = {"configFiles": {file: text}} | ({"extraConf": {key: value}} if conf else {})
    return errors(minimal(controller=controller), f"controller.configFiles.{file}")


@pytest.mark.parametrize(("conf", "text", "taken"), CONF)
def test_topology_conf_is_refused_where_slurmctld_ends_over_it(conf: str, text: str, taken: bool) -> None:
    assert (not said("topology.conf", text, conf)) == taken


@pytest.mark.parametrize(("text", "taken"), YAML)
def test_topology_yaml_is_refused_where_slurmctld_ends_over_it(text: str, taken: bool) -> None:
    assert (not said("topology.yaml", text)) == taken


@pytest.mark.parametrize(("conf", "text", "taken"), GATHER)
def test_acct_gather_conf_may_have_what_a_loaded_plugin_reads(conf: str, text: str, taken: bool) -> None:
    assert (not said("acct_gather.conf", text, conf)) == taken


def test_blocks_of_hosts_that_are_in_slurm_conf_have_a_size() -> None:
    controller = {
        "extraConf": {"TopologyPlugin": "topology/block"},
        "configFiles": {"topology.conf": "BlockName=b Nodes=metal-[1-2]\n"},
    }
    stack = minimal(controller=controller, external={"slurmdHosts": [{"name": "metal-[1-2]"}]})
    assert errors(stack, "") == []


@pytest.mark.parametrize(("name", "taken"), [("t1", True), ("T1", False), ("default", False)])
def test_a_partition_s_topology_is_in_topology_yaml(name: str, taken: bool) -> None:
    nodesets = {"a": {"replicas": 1, "partition": {"config": {"Topology": name}}}}
    files = {"topology.yaml": yaml.safe_dump([{"topology": "t1", "flat": True}])}
    assert (not errors(minimal(controller={"configFiles": files}, nodesets=nodesets), "nodesets")) == taken
    assert (not errors(minimal(nodesets=nodesets), "nodesets")) == (name == "default")


def test_oci_conf_has_slurm_s_own_names() -> None:
    assert said("oci.conf", "RuntimeState=x\n")
    assert not said(
        "oci.conf", 'RunTimeQuery="runc state %n"\nMountSpoolDir=/srun\nContainerPath=/var/tmp/%j\nFileDebug=info\n'
    )


@pytest.mark.parametrize(
    ("key", "file"),
    [("JobContainerType=job_container/tmpfs", "job_container.conf"), ("NamespaceType=linux", "namespace.yaml")],
)
def test_a_plugin_of_namespaces_has_its_file(key: str, file: str) -> None:
    name, _, value = key.partition("=")
    conf = {name: value, "PrologFlags": "Contain"}
    assert [each for each in errors(minimal(controller={"extraConf": conf}), "controller") if file in each]
    assert not errors(minimal(controller={"extraConf": conf, "configFiles": {file: "AutoBasePath=true\n"}}), "controller")
