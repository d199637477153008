"""Which namespaces a selector leaves out, and which pods, taints and patches of others reach a node."""

from __future__ import annotations

from typing import Any

import pytest
from slurm_rules.catalogue import RULES

from tests.policies.in_memory import in_memory
from tests.policies.pack import plain_stack

RULE = next(rule for rule in RULES if rule.name == "cluster-as-made")


def said(resources: dict[str, Any]) -> str:
    return " ".join(
        message for _, message in RULE.judge(in_memory(plain_stack("inside", {"resources": resources}))).violations
    )


def webhook(**labels: str) -> dict[str, Any]:
    hook = {"name": "pods.example.org", "namespaceSelector": {"matchLabels": labels}}
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}]
    kind = "MutatingWebhookConfiguration"
    properties = {"kind": kind, "metadata": {"name": "w"}, "webhooks": [{**hook, "rules": rules}]}
    return {"hook": {"type": f"kubernetes:admissionregistration.k8s.io/v1:{kind}", "properties": properties}}


def namespace(name: str, **labels: str) -> dict[str, Any]:
    properties = {"kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    return {"space": {"type": "kubernetes:core/v1:Namespace", "properties": properties}}


@pytest.mark.parametrize(
    ("resources", "spared"),
    [
        (webhook(team="web"), True),
        ({**webhook(team="web"), **namespace("team-web", team="web")}, True),
        ({**webhook(team="hpc"), **namespace("slurm", team="hpc")}, False),
        ({**webhook(team="web"), "identity": {"properties": {"createNamespace": False}}}, False),
        (webhook(name="slurm"), False),
        (webhook(**{"pod-security.kubernetes.io/enforce": "privileged"}), False),
        (webhook(), False),
    ],
)
def test_a_selector_by_a_label_that_the_clusters_namespaces_can_not_have_spares_them(
    resources: dict[str, Any], spared: bool
) -> None:
    assert ("stands before pods" in said(resources)) is not spared


def daemon_set(pod: dict[str, Any], **container: Any) -> dict[str, Any]:
    body = {"name": "agent", "image": "registry.example.org/agent:1", **container}
    spec = {"template": {"spec": {"containers": [body], **pod}}}
    properties = {"kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "tools"}, "spec": spec}
    return {"agent": {"type": "kubernetes:apps/v1:DaemonSet", "properties": properties}}


LOCKED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


@pytest.mark.parametrize(
    ("pod", "container", "fault"),
    [
        ({"hostPID": True, "securityContext": {"runAsUser": 65534}}, {"securityContext": LOCKED}, ""),
        ({"hostPID": True, "securityContext": {"runAsUser": 1000}}, {"securityContext": LOCKED}, "hostPID"),
        ({"hostPID": True, "securityContext": {"runAsUser": 65534}}, {}, "hostPID"),
        ({"hostPID": True}, {"securityContext": LOCKED}, "hostPID"),
        ({}, {"ports": [{"containerPort": 80, "hostPort": 80}]}, ""),
        ({}, {"ports": [{"containerPort": 6818}]}, ""),
        ({}, {"ports": [{"containerPort": 80, "hostPort": 6818}]}, "port of Slurm's daemons"),
        ({"hostNetwork": True}, {"ports": [{"containerPort": 6818}]}, "port of Slurm's daemons"),
    ],
)
def test_pods_of_others_on_a_node(pod: dict[str, Any], container: dict[str, Any], fault: str) -> None:
    found = said(daemon_set(pod, **container))
    assert fault in found
    assert bool(found) is bool(fault)


@pytest.mark.parametrize(
    ("taints", "fault"),
    [({"taints": [{"effect": "NoExecute"}]}, True), ({"taints": [{"effect": "NoSchedule"}]}, False), ({}, False)],
)
def test_a_rule_for_nodes_evicts_no_pods(taints: dict[str, Any], fault: bool) -> None:
    spec = {"rules": [{"name": "a", "labels": {"example.org/cpu": "zen4"}, **taints}]}
    properties = {"kind": "NodeFeatureRule", "metadata": {"name": "r"}, "spec": spec}
    rule = {"rule": {"type": "kubernetes:nfd.k8s-sigs.io/v1alpha1:NodeFeatureRule", "properties": properties}}
    assert ("takes pods with running jobs" in said(rule)) is fault


@pytest.mark.parametrize(
    ("toleration", "fine"),
    [
        ({"key": "hpc", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "node-role.kubernetes.io/infra", "operator": "Exists"}, True),
        ({"operator": "Exists"}, False),
        ({"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}, False),
    ],
)
def test_jobs_stay_away_from_the_nodes_of_kubernetes_itself(toleration: dict[str, Any], fine: bool) -> None:
    found = said({"nodeset": {"properties": {"spec": {"template": {"spec": {"tolerations": [toleration]}}}}}})
    assert ("reaches nodes of" not in found) is fine


@pytest.mark.parametrize(
    ("note", "fault"),
    [
        ("slurm/slurm-auth-slurm", True),
        ("team-web/a, slurm/slurm-auth-slurm", True),
        ("slurm-auth-jwths256", True),
        ("what the slurm cluster's users read", False),
    ],
)
def test_an_annotation_by_which_a_controller_takes_a_key(note: str, fault: bool) -> None:
    metadata = {"name": "copy", "namespace": "team-web", "annotations": {"replicator.example.org/from": note}}
    secret = {"type": "kubernetes:core/v1:Secret", "properties": {"kind": "Secret", "metadata": metadata}}
    assert ("of the cluster" in said({"copy": secret})) is fault


def test_a_folder_of_a_volume_is_no_object_of_the_cluster() -> None:
    mounts = [{"name": "data", "mountPath": "/data", "subPath": "slurm/data"}]
    assert said(daemon_set({}, volumeMounts=mounts)) == ""
