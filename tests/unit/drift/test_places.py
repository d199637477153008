"""Places in Slurm's topology: what the stack gives against what slurmctld has."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from slinky_iac.commands.drift.compare import drift
from slinky_iac.commands.drift.places import place_of_nodeset, places_of_hosts
from slinky_iac.names import ANNOTATION_TOPOLOGY
from slinky_iac.parts.node_table.labels import Labelled
from tests.made.nodes import node
from tests.made.pods import worker_pod
from tests.unit.drift.test_compare import EXPECTED, seen, worker

HOST = replace(EXPECTED, host_places={"metal-1": "t:s1,b:b1"})
GPU = replace(EXPECTED, nodeset_places={"gpu": "t:s2"})


def told(wanted, found):
    return [(each.kind, each.subject) for each in drift(wanted, found) if each.kind == "node-topology"]


def with_host(topology):
    found = seen()
    return replace(found, nodes={**found.nodes, "metal-1": node("metal-1", topology=topology)})


@pytest.mark.parametrize(
    ("topology", "differs"),
    [
        ("t:s1,b:b1", False),
        ("b:b1,t:core:s1", False),
        (None, False),
        ("", True),
        ("t:s1", True),
        ("t:s2,b:b1", True),
        ("t:s1,b:b1,x:y", True),
    ],
)
def test_a_host_at_another_place_is_told_and_an_unknown_place_is_not(topology, differs):
    assert told(HOST, with_host(topology)) == ([("node-topology", "metal-1")] if differs else [])
    assert told(EXPECTED, with_host(topology)) == []


def test_a_pod_whose_unit_slurmctld_did_not_know_is_told_with_the_way_out():
    found = drift(GPU, seen(worker("gpu-0", topology=""), pods=(worker_pod("gpu-0"),)))
    (finding,) = [each for each in found if each.kind == "node-topology"]
    assert "at no place" in finding.text
    assert "scontrol update nodename=gpu-0 topology=t:s2" in finding.text
    assert "1.1 and newer remove a place that extraConf gives" in finding.text
    assert told(GPU, seen(worker("gpu-0", topology="t:core:s2"), pods=(worker_pod("gpu-0"),))) == []
    assert told(GPU, seen(worker("gpu-0", topology=""), pods=(worker_pod("gpu-0", ready=False),))) == []


def test_the_place_of_a_kubernetes_node_is_that_of_its_pods():
    labelled = Labelled("slinky-iac/prod", {"worker-1": {("annotations", ANNOTATION_TOPOLOGY): "t:s3"}})
    wanted = replace(EXPECTED, on_machines=(labelled,), nodeset_places={"gpu": ""})
    made = worker_pod("gpu-0")
    pods = (structs.replace(made, spec=structs.replace(made.spec, node_name="worker-1")),)
    assert told(wanted, seen(worker("gpu-0", topology="t:s3"), pods=pods)) == []
    assert told(wanted, seen(worker("gpu-0", topology=""), pods=pods)) == [("node-topology", "gpu-0")]
    texts = [each.text for each in drift(wanted, seen(worker("gpu-0", topology=""), pods=pods))]
    assert not [text for text in texts if "extraConf" in text], "the table gives it, not the NodeSet"


def test_places_are_read_from_the_lines_that_the_stack_wrote():
    text = (
        "NodeName=m-1 CPUs=2 Topology=t:s1\nNodeName=m-2 topology=t:s2 CPUs=2\nNodeName=m-3 CPUs=1\n#NodeName=m Topology=x"
    )
    assert places_of_hosts(text) == {"m-1": "t:s1", "m-2": "t:s2"}
    assert place_of_nodeset("Features=ib Topology=t:s1 Gres=gpu:2") == "t:s1"
    assert place_of_nodeset("Features=ib") == ""
