"""Siblings of what a sixteenth set found: of each opening evil neighbours beside what it is for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from slurm_rules.closed import cluster_as_made

from tests.policies.judging import judged, messages
from tests.policies.test_siblings import said

Data = dict[str, Any]
CALICO, CILIUM = "projectcalico.org/v3:Global", "cilium.io/v2:CiliumClusterwideNetworkPolicy"
NAME = "kubernetes.io/metadata.name"


@pytest.mark.parametrize(
    ("spec", "passes"),
    [
        ({"daemonsets": {"priorityClassName": "system-node-critical"}}, True),
        ({"operator": {"priorityClassName": "system-node-critical"}}, False),
        ({"daemonsets": {"priorityClassName": "system-node-critical"}, "driver": {"upgradePolicy": {"drain": True}}}, False),
        (
            {
                "daemonsets": {"priorityClassName": "system-node-critical"},
                "driver": {"upgradePolicy": {"autoUpgrade": True}},
            },
            False,
        ),
    ],
)
def test_daemon_sets_of_the_gpu_operator_may_come_first(spec: Data, passes: bool) -> None:
    assert (said("nvidia.com/v1:ClusterPolicy", "", spec=spec) == "") is passes
    assert said("nvidia.com/v1:Other", "gpus", spec=spec) != ""


@pytest.mark.parametrize(
    ("selector", "passes"),
    [
        (f"{NAME} == 'jupyterhub'", True),
        (f'{NAME} == "jupyterhub"', True),
        (f"{NAME} in {{'jupyterhub', 'courses'}}", True),
        ("projectcalico.org/name == 'jupyterhub'", True),
        (f"{NAME} in {{'jupyterhub', 'slurm'}}", False),
        (f"{NAME} == 'slinky'", False),
        (f"{NAME} == 'kube-system'", False),
        (f"{NAME} != 'jupyterhub'", False),
        (f"{NAME} not in {{'jupyterhub'}}", False),
        (f"{NAME} == 'jupyterhub' || all()", False),
        (f"!({NAME} == 'jupyterhub')", False),
        (f"has({NAME})", False),
        ("kubernetes.io/metadataname == 'jupyterhub'", False),
        ("team == 'jupyterhub'", False),
        ("all()", False),
        ("", False),
        (None, False),
    ],
)
def test_a_policy_of_all_namespaces_names_others(selector: str | None, passes: bool) -> None:
    spec = {"types": ["Egress"], "egress": [{"action": "Deny"}]}
    for kind in (f"{CALICO}NetworkPolicy", f"crd.{CALICO}NetworkPolicy".replace("v3", "v1")):
        assert (said(kind, "", spec={**spec, "namespaceSelector": selector}) == "") is passes
        assert said(kind, "", spec={**spec, "selector": "app == 'x'"}) != ""


def test_the_pods_of_ciliums_policy_are_of_one_namespace() -> None:
    label = "k8s:io.kubernetes.pod.namespace"
    egress = {"egress": [{"toEndpoints": [{"matchLabels": {label: "kube-system"}}]}]}
    hub = {"endpointSelector": {"matchLabels": {label: "jupyterhub"}}, **egress}
    assert said(CILIUM, "", spec=hub) == ""
    assert said(CILIUM, "", spec={"endpointSelector": {"matchLabels": {label: "slurm"}}, **egress}) != ""
    assert said(CILIUM, "", spec={"endpointSelector": {"matchLabels": {"app": "hub"}}, **egress}) != ""
    assert said(CILIUM, "", spec={"endpointSelector": {}, **egress}) != ""
    assert said(CILIUM, "", spec={"nodeSelector": {}, **hub}) != ""
    assert said(CILIUM, "", spec=hub, specs=[{"endpointSelector": {}}]) != ""


@pytest.mark.parametrize(
    ("label", "passes"),
    [
        ("role", True),
        ("app", False),
        ("app.kubernetes.io/name", False),
        ("projectcalico.org/orchestrator", False),
        ("pcns.kubernetes.io/metadata.name", False),
    ],
)
def test_a_set_of_addresses_is_no_pod(label: str, passes: bool) -> None:
    head = {"name": "bmc", "labels": {label: "slurm-operator"}}
    assert (said(f"{CALICO}NetworkSet", "", metadata=head, spec={"nets": ["192.0.2.0/25"]}) == "") is passes
    assert said(f"{CALICO}NetworkSet", "", metadata=head, spec={"nets": [], "more": 1}) != ""


SRIOV = {"cniVersion": "0.3.1", "type": "ib-sriov", "name": "ib", "ipam": {"type": "whereabouts", "range": "198.18.0.0/16"}}


def network(config: object, of: str = "nodeset", note: str = "sriov-ib") -> str:
    """What is said of a network in Slurm's namespace, and of a part whose pods have it."""
    text = config if isinstance(config, str) else json.dumps(config)
    props = {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": "sriov-ib", "namespace": "slurm", "annotations": {"k8s.v1.cni.cncf.io/resourceName": "x/vf"}},
        "spec": {"config": text},
    }
    nad = {"type": "kubernetes:k8s.cni.cncf.io/v1:NetworkAttachmentDefinition", "properties": props}
    notes = {"annotations": {"k8s.v1.cni.cncf.io/networks": note}}
    part = {"properties": {"spec": {"template": {"metadata": notes}}}}
    return messages(judged(cluster_as_made, {"resources": {"nad": nad, of: part}}))


@pytest.mark.parametrize("more", [{}, {"pkey": "0x8001"}, {"type": "sriov", "vlan": 42}, {"type": "host-device"}])
def test_pods_of_jobs_have_a_network_of_devices(more: Data) -> None:
    assert network({**SRIOV, **more}) == ""


@pytest.mark.parametrize(
    "config",
    [
        {**SRIOV, "type": "macvlan", "master": "eno2"},
        {**SRIOV, "type": "ipvlan"},
        {**SRIOV, "type": "host-device", "device": "eno1"},
        {**SRIOV, "type": "../../tmp/x"},
        {**SRIOV, "Type": "macvlan"},
        {**SRIOV, "ipam": {"type": "dhcp"}},
        {**SRIOV, "ipam": {"type": "whereabouts", "range": "10.0.0.0/8"}},
        {**SRIOV, "ipam": {**SRIOV["ipam"], "routes": [{"dst": "0.0.0.0/0"}]}},  # type: ignore[dict-item]
        {**SRIOV, "ipam": {**SRIOV["ipam"], "gateway": "198.18.0.1"}},  # type: ignore[dict-item]
        {"cniVersion": "0.3.1", "name": "x", "plugins": [SRIOV]},
        {"cniVersion": "0.3.1"},
        "no JSON",
        "[" * 100_000,
        "",
    ],
)
def test_a_network_takes_nothing_of_nodes_and_no_routes(config: object) -> None:
    assert "spec.config" in network(config)


def test_a_daemon_with_keys_has_no_second_network() -> None:
    for note in ("sriov-ib", "slurm/sriov-ib", '[{"name": "sriov-ib"}]'):
        assert "a network of a daemon" in network(SRIOV, "controller", note)
