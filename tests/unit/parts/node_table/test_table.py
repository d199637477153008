"""The node table: the same word on both sides, and nothing where there is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.config.reading.load import load
from slinky_iac.errors import ConfigError
from slinky_iac.parts.node_table.table import FEATURE, kubernetes_rows, labels_of
from slinky_iac.specs.slurm_conf import host_lines, metal_lines
from slinky_iac.specs.workers import nodeset_spec
from tests.stacks import minimal

IB = {"names": ["worker-[1-2]"], "nodesets": ["gpu"], "hosts": ["metal-1"], "features": ["ib"], "gres": ["gpu:2"]}


def stack(*rows, config=None, **gpu):
    hosts = [{"name": "metal-1", "config": config or {"CPUs": 64}}, {"name": "metal-2"}]
    nodes = {"prefix": "slurm.example.org", "table": list(rows)}
    return load(minimal(nodesets={"gpu": {"replicas": 2, **gpu}}, external={"slurmdHosts": hosts}, nodes=nodes))


def test_a_word_is_a_label_of_the_node_a_feature_of_its_pods_and_a_feature_of_the_host():
    config = stack(IB | {"labels": {"cuda": "12.6"}, "topology": "topo-switch:s1"})
    labels = {"slurm.example.org/ib": "true", "slurm.example.org/cuda": "12.6"}
    annotations = {"topology.slinky.slurm.net/spec": "topo-switch:s1"}
    row = {"names": ["worker-[1-2]"], "selector": {}, "labels": labels, "annotations": annotations}
    assert kubernetes_rows(config.nodes) == [row]
    assert config.nodes.named == ("worker-1", "worker-2")
    spec = nodeset_spec(config, "gpu", config.nodesets["gpu"])
    assert spec["extraConf"] == "Features=ib Gres=gpu:2"
    assert spec["template"]["spec"]["nodeSelector"] == labels if "spec" in spec["template"] else True
    assert config.nodesets["gpu"].pod.node_selector == labels
    assert host_lines(config) == {
        "metal-1": "NodeName=metal-1 CPUs=64 Features=ib Gres=gpu:2 Topology=topo-switch:s1",
        "metal-2": "NodeName=metal-2",
    }


def test_words_of_the_table_follow_those_that_are_there():
    config = stack(IB, config={"Feature": "old,ib", "CPUs": 2}, features=["fast"])
    assert config.nodesets["gpu"].features == ("fast", "ib")
    assert host_lines(config)["metal-1"] == "NodeName=metal-1 Feature=old,ib CPUs=2 Gres=gpu:2"


def test_a_row_names_its_hosts_by_a_hostlist_as_external_hosts_are_named():
    hosts = [{"name": "metal-[001-500]", "config": {"CPUs": 64}}]
    rows = [{"hosts": ["metal-[001-250],metal-007"], "features": ["ib"]}, {"hosts": ["metal-500"], "topology": "t:s1"}]
    config = load(minimal(external={"slurmdHosts": hosts}, nodes={"prefix": "slurm.example.org", "table": rows}))
    assert config.nodes.table[0].hosts[:2] == ("metal-001", "metal-002")
    assert len(config.nodes.table[0].hosts) == 250
    assert list(metal_lines(config)) == [
        "NodeName=metal-[001-250] CPUs=64 Features=ib",
        "NodeName=metal-[251-499] CPUs=64",
        "NodeName=metal-500 CPUs=64 Topology=t:s1",
    ]


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ("metal-[2-1]", "runs backwards"),
        ("metal-[1-2", "to end the bracket"),
        ("a b-[1-2]", "a blank"),
        ("me tal", "without spaces or commas"),
    ],
)
def test_a_row_s_host_that_is_no_hostlist_is_refused_where_it_stands(hosts, words):
    with pytest.raises(ConfigError, match=rf"nodes\.table\.0\.hosts\.0: .*{words}"):
        load(minimal(nodes={"table": [{"hosts": [hosts], "features": ["ib"]}]}))


def test_a_stack_without_a_table_is_as_before():
    assert kubernetes_rows(stack().nodes) == []
    assert stack().nodesets == load(minimal(nodesets={"gpu": {"replicas": 2}})).nodesets


def test_a_nodeset_without_named_nodes_gets_the_words_and_no_selector():
    config = stack({"nodesets": ["gpu"], "features": ["ib"]})
    assert config.nodesets["gpu"].pod.node_selector == {}
    assert config.nodesets["gpu"].features == ("ib",)


@given(st.lists(st.sampled_from(["ib", "nvme", "big"]), unique=True), st.integers(1, 9))
def test_every_feature_of_a_row_is_on_every_node_of_it_and_on_no_other(words, number):
    config = stack({"names": [f"worker-[1-{number}]"], "features": words})
    (row,) = config.nodes.table
    assert set(labels_of(config.nodes, row).values()) <= {FEATURE}
    assert set(config.nodes.named) == set(row.members) == {f"worker-{at}" for at in range(1, number + 1)}


POOL = {"selector": {"pool": "gpu"}, "nodesets": ["gpu"], "features": ["ib"]}


def test_a_selector_is_for_the_api_server_to_answer():
    config = stack(POOL)
    assert [row["selector"] for row in kubernetes_rows(config.nodes)] == [{"pool": "gpu"}]
    assert config.nodes.named == (), "any node may be meant, so rights name none"
    assert config.nodesets["gpu"].pod.node_selector == {"slurm.example.org/ib": "true"}


def test_rows_without_a_kubernetes_node_write_nothing_there():
    assert kubernetes_rows(stack({"hosts": ["metal-1"], "nodesets": ["gpu"], "features": ["ib"]}).nodes) == []
