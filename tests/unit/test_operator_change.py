"""What of a Helm release brings another operator, and what must be out of its way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as with_fields

from slinky_iac import operator_change
from slinky_iac.cluster_access import reach
from slinky_iac.config.reading.load import load
from slinky_iac.errors import KubeNotFound
from slinky_iac.kube.objects import NodeSet, Pod
from slinky_iac.releases import OperatorVersion
from tests.gate_site import AT, NODESETS, Site
from tests.made.nodes import node
from tests.made.nodesets import nodeset
from tests.made.pods import pod
from tests.stacks import minimal
from tests.unit.slurmrest.fake import KEY

HELM = {"chart": "oci://example.org/slurm-operator", "version": "1.0.1", "values": {"operator": {"image": {"tag": "1.0.1"}}}}


@pytest.mark.parametrize(
    ("change", "other"),
    [
        ({}, False),
        ({"timeout": 900}, False),
        ({"values": {"operator": {"image": {"tag": "1.0.1"}, "logLevel": "debug"}}}, False),
        ({"values": {"operator": {"image": {"tag": "1.1.0"}}}}, True),
        ({"version": "1.1.0"}, True),
        ({"chart": "charts/1.1.0"}, True),
        ({"values": None}, True),
    ],
)
def test_another_operator_is_told_from_another_setting(change: dict[str, Any], other: bool) -> None:
    assert operator_change.changes_release(HELM, {**HELM, **change}) is other


class Kube:
    """A Kubernetes with one NodeSet, or none."""

    def __init__(self, strategy: str | None, replicas: int = 2, unlabelled: tuple[str, ...] = ()) -> None:
        self.strategy, self.replicas, self.unlabelled = strategy, replicas, unlabelled

    def nodeset(self, _namespace: str, name: str) -> NodeSet:
        if self.strategy is None:
            raise KubeNotFound(f"{name} isn't there", status=404)
        return nodeset(name, self.replicas, on_delete=self.strategy == "OnDelete")

    def pods_without(self, *_: str) -> tuple[str, ...]:
        return self.unlabelled


def stack(version: str = "1.1.0", **more: Any) -> Any:
    return load(minimal() | {"operator": {"version": version}, "nodesets": {"gpu": {"replicas": 2, **more}}})


def test_a_live_nodeset_that_rolls_by_itself_is_in_the_way_of_another_operator() -> None:
    (why,) = operator_change._rolling(stack(), Kube("RollingUpdate"))
    assert "Set operator.version back and run `pulumi up`" in why


@pytest.mark.parametrize("kube", [Kube("OnDelete"), Kube("RollingUpdate", replicas=0), Kube(None)])
def test_one_that_does_not_is_not(kube: Kube) -> None:
    assert list(operator_change._rolling(stack(), kube)) == []


def test_rolling_updates_that_are_asked_for_are_not_in_the_way() -> None:
    asked = stack(updateStrategy={"type": "RollingUpdate"})
    assert list(operator_change._rolling(asked, Kube("RollingUpdate"))) == []


def test_pods_without_the_label_are_in_the_way_of_releases_that_look_for_it() -> None:
    kube = Kube("OnDelete", unlabelled=("slurm-worker-gpu-0",))
    (why,) = operator_change._unlabelled(stack(), kube)
    assert "kubectl label pods -n" in why
    assert list(operator_change._unlabelled(stack("1.0.1"), kube)) == []


NOTE_11 = '{"namespace":"slurm","podName":"hpc-worker-gpu-1","node":"worker-7"}'
NOTE_12 = f'{NOTE_11[:-1]},"nodeSetName":"hpc-worker-gpu","nodeSetUID":"uid-hpc-worker-gpu"}}'


def worker(machine: str = "worker-7") -> Pod:
    made = pod("hpc-worker-gpu-1", slurm_node="gpu-1")
    return with_fields(
        made,
        metadata=with_fields(made.metadata, namespace="slurm"),
        spec=with_fields(made.spec, node_name=machine),
    )


def would_return(version: str, state: str, comment: str, machine: str = "worker-7", **fields: Any) -> list[str]:
    pods = [(nodeset("hpc-worker-gpu", 2), worker(machine))]
    nodes = {"gpu-1": node("gpu-1", state, comment=comment, **fields)}
    return list(operator_change.returned(OperatorVersion.parse(version), pods, nodes))


def test_the_note_is_the_operators_byte_by_byte() -> None:
    """A text that differs in one byte would return the node all the same."""
    state = nodeset("hpc-worker-gpu", 2)
    assert operator_change.pod_note(OperatorVersion.parse("1.1.2"), state, worker()) == NOTE_11
    assert operator_change.pod_note(OperatorVersion.parse("1.2.0"), state, worker()) == NOTE_12


@pytest.mark.parametrize("state", ["IDLE+DRAIN", "DOWN", "DOWN+DRAIN", "MIXED+DRAIN", "IDLE+FAIL"])
def test_a_node_out_of_service_is_named_before_the_operator_that_would_return_it(state: str) -> None:
    (why,) = would_return("1.2.1", state, NOTE_11, reason="bad DIMM")
    assert "gpu-1 (bad DIMM)" in why
    assert f"`scontrol update nodename=gpu-1 comment='{NOTE_12}'`" in why


@pytest.mark.parametrize(
    ("version", "state", "comment"),
    [
        ("1.2.1", "IDLE", NOTE_11),
        ("1.2.1", "MIXED", NOTE_11),
        ("1.2.1", "IDLE+DRAIN", NOTE_12),
        ("1.1.2", "IDLE+DRAIN", NOTE_11),
        ("1.1.2", "IDLE+DRAIN", NOTE_12),
        ("1.2.1", "IDLE+DRAIN", ""),
        ("1.2.1", "IDLE+DRAIN", "rack 7"),
        ("1.2.1", "IDLE+DRAIN", "[1]"),
        ("1.2.1", "IDLE+DRAIN", '{"node":""}'),
    ],
)
def test_no_other_node_is_in_the_way(version: str, state: str, comment: str) -> None:
    """In service; noted already; no note of the operator's, which then is a first one."""
    assert would_return(version, state, comment, reason="bad DIMM") == []


def test_a_pod_on_another_machine_is_one_that_has_moved_in_any_release() -> None:
    assert would_return("1.1.2", "IDLE+DRAIN", NOTE_11, machine="worker-8", reason="bad DIMM")


def test_a_node_that_cannot_be_read_is_in_the_way_too() -> None:
    pods = [(nodeset("hpc-worker-gpu", 2), worker())]
    unread = with_fields(node("gpu-1", comment=NOTE_11), unreadable="its state isn't text")
    assert list(operator_change.returned(OperatorVersion.parse("1.2.1"), pods, {"gpu-1": unread}))
    assert list(operator_change.returned(OperatorVersion.parse("1.2.1"), pods, {})) == []


def test_of_many_nodes_the_first_are_named() -> None:
    pods = [
        (nodeset("hpc-worker-gpu", 2), with_fields(worker(), spec=with_fields(worker().spec, hostname=f"gpu-{n}")))
        for n in range(20)
    ]
    nodes = {f"gpu-{n}": node(f"gpu-{n}", "DOWN", comment=NOTE_11) for n in range(20)}
    (why,) = operator_change.returned(OperatorVersion.parse("1.2.1"), pods, nodes)
    assert "20 node(s)" in why
    assert "and 12 more" in why
    assert why.count("scontrol") == operator_change.SHOWN
    assert "That run has the commands of the next of" in why


@pytest.mark.parametrize(
    ("cluster", "said"),
    [("lab", "would set 1 node(s) IDLE"), ("another", "could not be asked: slurmctld of cluster 'another' answers")],
)
def test_the_look_is_at_this_stacks_slurmctld(tmp_path: Path, cluster: str, said: str) -> None:
    """Another cluster may have nodes of the same names."""
    found = Site(1)
    found.slurm.controller = cluster
    note = '{"namespace":"slurm","podName":"x","node":"machine"}'
    found.slurm.nodes["g0-1"] |= {"state": ["IDLE", "DRAIN"], "reason": "bad DIMM", "comment": note}
    found.server.objects[f"{NODESETS}/slurm-worker-g0"] = found.server.objects.pop(f"{NODESETS}/hpc-worker-g0")
    found.server.put("slurm-auth-jwths256", {"jwt_hs256.key": KEY}, at=AT)
    with found.server:
        kubeconfig = found.server.kubeconfig(tmp_path)
        config = load(
            minimal()
            | {
                "cluster": {**minimal()["cluster"], "name": "lab"},
                "operator": {"version": "1.2.1"},
                "nodesets": {"g0": {"replicas": 3}},
                "kubernetes": {"kubeconfig": kubeconfig},
            }
        )
        assert said in operator_change.in_the_way(config, {}, tmp_path, "", reach(config))
