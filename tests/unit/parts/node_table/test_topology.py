"""topology.yaml: every unit that a node has a place in, whole, and in the right hands; a stack without it is as before."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.parts.node_table.topology import MARK, entries, text_of
from slinky_iac.specs.daemons import script_maps
from slinky_iac.specs.slurm_conf import host_lines
from tests.stacks import merged, minimal, outside

TOPOLOGIES: dict[str, Any] = {
    "topo-switch": {"default": True, "tree": {"core": ["s[1-2]"]}},
    "topo-block": {"block": {"blockSizes": [2, 4]}},
    "topo-flat": {"flat": True},
}
TABLE = [{"hosts": ["metal-1"], "topology": "topo-switch:s1,topo-block:b2"}]
STACK = minimal(
    nodesets={"gpu": {"replicas": 2, "extraConf": {"Topology": "topo-switch:core:s3,topo-block:b1"}}},
    external={"slurmdHosts": [{"name": "metal-1"}]},
    nodes={"topologies": TOPOLOGIES, "table": TABLE},
)
WHOLE = f"""\
{MARK}
- topology: topo-block
  cluster_default: false
  block:
    block_sizes:
    - 2
    - 4
    blocks:
    - block: b2
    - block: b1
- topology: topo-flat
  cluster_default: false
  flat: true
- topology: topo-switch
  cluster_default: true
  tree:
    switches:
    - switch: core
      children: s1,s2,s3
    - switch: s1
    - switch: s2
    - switch: s3
"""


def test_the_file_has_what_is_declared_and_every_place_of_hosts_and_pods() -> None:
    config = load(STACK)
    assert text_of(config) == WHOLE
    assert host_lines(config) == {"metal-1": "NodeName=metal-1 Topology=topo-switch:s1,topo-block:b2"}
    assert entries(config)[:3] == ("topology: topo-block", "block: b2", "block: b1")
    assert not [f for f in findings(config, frozenset()) if f.level == "error"]


def test_slurmctld_in_kubernetes_gets_it_beside_its_other_files_and_an_outside_one_does_not() -> None:
    config = load(STACK | {"controller": {"configFiles": {"cgroup.conf": "x"}}})
    assert script_maps(config)[0][2] == {"cgroup.conf": "x", "topology.yaml": WHOLE}
    away = load(STACK | {name: each for name, each in outside().items() if name != "cluster"})
    assert (script_maps(away)[0][2], text_of(away)) == ({}, WHOLE)


def test_a_stack_without_topologies_has_no_file() -> None:
    config = load(merged(STACK, {"nodes": {"topologies": None}}))
    assert text_of(config) == ""
    assert entries(config) == ()
    assert script_maps(config)[0][2] == {}


def test_the_order_of_settings_says_nothing_since_pulumi_sorts_them() -> None:
    shuffled = {name: TOPOLOGIES[name] for name in ("topo-flat", "topo-switch", "topo-block")}
    assert text_of(load(STACK | {"nodes": {"topologies": shuffled, "table": TABLE}})) == WHOLE


def test_a_default_that_is_named_is_the_only_one() -> None:
    changed = {"topo-flat": {"default": True}, "topo-switch": {"default": False}}
    config = load(merged(STACK, {"nodes": {"topologies": changed}}))
    found = {each["topology"]: each["cluster_default"] for each in yaml.safe_load(text_of(config))}
    assert found == {"topo-switch": False, "topo-block": False, "topo-flat": True}


UNITS = st.sampled_from(["a", "b", "c", "d", "1", "yes", "null"])


@given(
    st.dictionaries(UNITS, st.lists(UNITS, max_size=3), max_size=4),
    st.lists(st.lists(UNITS, min_size=1, max_size=3, unique=True), max_size=4),
)
def test_a_tree_without_an_error_is_one_that_slurmctld_takes(tree: dict[str, list[str]], ways: list[list[str]]) -> None:
    """As `switch_record_validate` and `topology_p_add_rm_node` judge it."""
    hosts = [{"name": f"metal-{at}", "config": {"Topology": ":".join(["t", *way])}} for at, way in enumerate(ways)]
    config = load(minimal(external={"slurmdHosts": hosts}, nodes={"topologies": {"t": {"tree": tree}}}))
    if any(f.level == "error" for f in findings(config, frozenset())):
        return
    (document,) = yaml.safe_load(text_of(config))
    below = {each["switch"]: each.get("children", "").split(",") for each in document["tree"]["switches"]}
    children = [child for each in below.values() for child in each if child]
    assert below
    assert len(set(children)) == len(children), "none has two parents"
    assert set(children) <= set(below), "none is unknown"
    levels = {name for name, each in below.items() if each == [""]}
    while more := {name for name, each in below.items() if name not in levels and set(each) <= levels}:
        levels |= more
    assert levels == set(below), "none is below itself"
    for way in ways:
        assert below[way[-1]] == [""], "a node is at a lowest switch"
        assert all(lower in below[upper] for upper, lower in pairwise(way))


@given(st.lists(st.integers(1, 64), min_size=1, max_size=4))
def test_block_sizes_without_an_error_are_those_that_slurmctld_takes(sizes: list[int]) -> None:
    """As `_list_to_bitmap` judges them."""
    config = load(minimal(nodes={"topologies": {"t": {"block": {"blockSizes": sizes, "blocks": ["b1"]}}}}))
    sound = not any(f.level == "error" for f in findings(config, frozenset()))
    takes = all(size % sizes[0] == 0 and (size // sizes[0]).bit_count() == 1 for size in sizes)
    assert sound == (takes and sizes == sorted(set(sizes)))
