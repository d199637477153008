"""Files of /etc/slurm that slurmctld 26.05.5 takes, and those over which it ends: each was run, one by one, beside a
slurm.conf without a node, up to "Running as primary controller". (The one with hdf5 needs an image that has that plugin.)"""

from __future__ import annotations

import time

import pytest
import yaml

from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.config.rules.slurm_files import READ_FILES
from tests.stacks import SECRETS, minimal
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
    ("- {topology: t, torus3d: {toruses: [{name: r, nodes: 'a-[0-3]', dims: {x: 2, y: 2, z: 1}}]}}", True),
    ("- {topology: t, torus3d: {toruses: [{name: r, nodes: 'a-[0-3]', dims: {x: 2, y: 2, z: 2}}]}}", False),
    ("- {topology: t, torus3d: {toruses: [{name: r, nodes: a-0}]}}", False),
    ("- {topology: t, torus3d: {}}", False),
    ("- {topology: t, ring: {rings: []}}", False),
    ("- {topology: t, ring: true}", False),
    ("- {topology: t, ring: {rings: [{nodes: a-0}]}}", False),
    ("- {topology: t, ring: {rings: [{ring: r, nodes: a-0}, {ring: r, nodes: a-1}]}}", False),
    ("[]", False),
    ("", False),
    ("a: [", False),
]
OF_RELEASE = [
    ("- {topology: t, ring: {rings: [{ring: r, nodes: a-0}]}}", True, False),
    ("- {topology: t, torus3d: {toruses: [{name: r, nodes: a-0, dims: {x: 1, y: 1, z: 1}}]}}", True, False),
    ("- {topology: t, flat: {alpha_step_rank: true}}", True, False),
    ("- {topology: t, flat: true}", True, True),
]
"""Beside each whether 26.05.5 takes it, and 25.11.7."""
PASSED_OVER = [
    ("- {topology: t, tree: {switches: [{switch: s, node: a-0}]}}", "has node below switches", "Did you mean nodes?"),
    ("- {topology: t, tree: {switchs: [], switches: [{switch: s, nodes: a-0}]}}", "has switchs below tree", "switches?"),
    ("- {topology: t, clusterdefault: true, flat: true}", "has clusterdefault, where", "cluster_default?"),
    (f"- {{topology: t, block: {BLOCKS}, block_sizes: [4], foo: 1}}}}", "has foo below block", "block_sizes, blocks"),
    ("- {topology: t, flat: true}\n- {topology: t, flat: true}", "has topology t twice", "Rename"),
    ("[{topology: t, cluster_default: true, flat: true}, {cluster_default: true, flat: true}]", "two topologies", "Keep"),
]
"""What slurmctld starts with, and passes over."""
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


def of_release(release: str, text: str) -> list[str]:
    stack = minimal(cluster={"name": "c", "slurmVersion": release}, controller={"configFiles": {"topology.yaml": text}})
    return errors(stack, "controller.configFiles.topology.yaml")


@pytest.mark.parametrize(("text", "newer", "older"), OF_RELEASE)
def test_a_release_s_topologies_are_those_that_it_has(text: str, newer: bool, older: bool) -> None:
    assert (not of_release("26.05", text), not of_release("25.11", text)) == (newer, older)


@pytest.mark.parametrize(("text", "what", "instead"), PASSED_OVER)
def test_what_slurmctld_would_pass_over_in_topology_yaml_is_refused(text: str, what: str, instead: str) -> None:
    (one,) = said("topology.yaml", text)
    assert what in one
    assert instead in one


def test_a_topology_of_a_later_release_is_said_to_be_that() -> None:
    found = of_release("25.11", "- {topology: t, ring: {rings: [{ring: r, nodes: a-0}]}}")
    assert any("Slurm 26.05 reads it." in each for each in found)


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


def test_a_value_without_quotes_is_one_fault() -> None:
    (one,) = said("oci.conf", "RunTimeRun=crun --rootless=true run %n\n")
    assert 'RunTimeRun="…"' in one


def test_oci_conf_has_slurm_s_own_names() -> None:
    assert said("oci.conf", "RuntimeState=x\n")
    assert not said(
        "oci.conf", 'RunTimeQuery="runc state %n"\nMountSpoolDir=/srun\nContainerPath=/var/tmp/%j\nFileDebug=info\n'
    )


@pytest.mark.parametrize(
    ("key", "file", "text"),
    [
        ("JobContainerType=job_container/tmpfs", "job_container.conf", "AutoBasePath=true\nBasePath=/var/spool/slurmd/j\n"),
        ("NamespaceType=linux", "namespace.yaml", "defaults: {auto_base_path: true, base_path: /var/spool/j}\n"),
    ],
)
def test_a_plugin_of_namespaces_has_its_file(key: str, file: str, text: str) -> None:
    name, _, value = key.partition("=")
    conf = {name: value, "PrologFlags": "Contain"}
    assert [each for each in errors(minimal(controller={"extraConf": conf}), "controller") if file in each]
    assert not errors(minimal(controller={"extraConf": conf, "configFiles": {file: text}}), "controller")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# of May \\\nFoo=1\n", 2),
        ("CgroupMountpoint=/sys/fs/cgroup\\#\nFoo=1\n", 2),
        ("IgnoreSystemd=yes \\\n  ConstrainCores=yes # two \\\nFo\\\no=1\n", 3),
        ("# a page\x0cfeed\nFoo=1\n", 2),
        ("\n\\\nFoo=1\n", 2),
    ],
)
def test_lines_are_those_that_slurm_reads(text: str, line: int) -> None:
    """``_get_next_line`` of parse_config.c reads every file but plugstack.conf."""
    (one,) = (each for each in said("cgroup.conf", text) if "Foo" in each)
    assert f"on line {line}," in one


def test_an_include_has_any_blank_behind_it() -> None:
    """What the other file has isn't known here."""
    conf = "NamespaceType=namespace/tmpfs"
    assert [each for each in said("job_container.conf", "AutoBasePath=true\n", conf) if "has no BasePath" in each]
    assert not [each for each in said("job_container.conf", "Include\tx.conf\n", conf) if "has no BasePath" in each]


def test_plugstack_conf_has_a_comment_wherever_its_sign_is() -> None:
    """``_plugin_stack_parse_line`` of spank.c."""
    nodesets = {"a": {"replicas": 1}}
    stack = minimal(nodesets=nodesets, controller={"configFiles": {"plugstack.conf": "# one\nrequired site.so#two\n"}})
    said = [each.message for each in findings(load(stack), SECRETS) if each.id == "program-not-in-image"]
    assert [each.partition(":")[0] for each in said] == ["requires 'site.so' on line 2"]


@pytest.mark.parametrize("file", sorted(READ_FILES | {"mpi.conf": "", "plugstack.conf": "", "topology.yaml": ""}))
@pytest.mark.parametrize("text", ["a" * 200_000, "a\\\n" * 100_000, "a " * 100_000, "a" + " " * 200_000 + "b"])
def test_a_row_without_an_end_ends_in_a_sentence_in_a_moment(file: str, text: str) -> None:
    """A word in which every letter began a new search for its = took ten minutes."""
    began = time.process_time()
    assert file == "topology.yaml" or list(findings(load(minimal(controller={"configFiles": {file: text}})), SECRETS))
    assert time.process_time() - began < 20
