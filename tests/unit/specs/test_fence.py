"""The fence's policies, whole. What they refuse is watched on a real API server (tests/faults/test_fence.py)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from slinky_iac import names
from slinky_iac.config.load import load
from slinky_iac.specs.fence import Policy, fence
from tests.stacks import FORMS, form, minimal

NODESETS, NEEDED = "slinky-iac-nodesets.slurm.slurm", "slinky-iac-needed.slurm.slurm"
PODS = "slinky-iac-pods.slurm.slurm"


def policies(**sections: Any) -> dict[str, Policy]:
    return {each.part: each for each in fence(load(minimal(**sections)))}


def test_a_nodeset_is_guarded_whole_and_on_its_scale() -> None:
    owned = {"gpu": {"replicas": 3}, "burst": {"replicas": 1, "owner": "autoscaler"}}
    found = policies(nodesets=owned)["nodesets"]
    assert found.name == NODESETS
    assert found.binding == {"policyName": NODESETS, "validationActions": ["Deny"]}
    lowered = (
        "variables.nodeset + ' has ' + string(variables.now) + ' replicas and was to have ' + string(variables.wanted) + ':"
        " pods would go with the jobs on them. Set nodesets.NAME.replicas in the stack and run pulumi up, which drains their"
        f" nodes first. In an emergency, jobs or not: kubectl delete validatingadmissionpolicybinding {NODESETS}'"
    )
    assert found.spec == {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "slurm"}},
            "resourceRules": [
                {
                    "apiGroups": ["slinky.slurm.net"],
                    "apiVersions": ["*"],
                    "resources": ["nodesets"],
                    "operations": ["UPDATE", "DELETE"],
                },
                {
                    "apiGroups": ["slinky.slurm.net"],
                    "apiVersions": ["*"],
                    "resources": ["nodesets/scale"],
                    "operations": ["UPDATE"],
                },
            ],
        },
        "matchConditions": [
            {"name": "of-this-cluster", "expression": "oldObject.metadata.name.startsWith('slurm-worker-')"}
        ],
        "variables": [
            {"name": "nodeset", "expression": "'NodeSet ' + oldObject.metadata.namespace + '/' + oldObject.metadata.name"},
            {"name": "scale", "expression": "request.?subResource.orValue('') == 'scale'"},
            {"name": "now", "expression": "oldObject.?spec.?replicas.orValue(0)"},
            {"name": "wanted", "expression": "request.operation == 'DELETE' ? 0 : object.?spec.?replicas.orValue(0)"},
            {"name": "generation", "expression": "string(oldObject.metadata.?generation.orValue(0))"},
            {"name": "lowers", "expression": "request.operation == 'UPDATE' && variables.wanted < variables.now"},
            {
                "name": "empty",
                "expression": "oldObject.?spec.?replicas.orValue(1) == 0 && oldObject.?status.?replicas.orValue(0) == 0 &&"
                " oldObject.?spec.?scalingMode.orValue('StatefulSet') == 'StatefulSet' &&"
                " !(oldObject.metadata.name in ['slurm-worker-burst'])",
            },
        ],
        "validations": [
            {
                "expression": "!variables.lowers || variables.scale ||"
                " object.metadata.?annotations[?'slinky-iac/permit'].orValue('') =="
                " 'scale-to:' + string(variables.wanted) + '@' + variables.generation",
                "messageExpression": lowered,
            },
            {
                "expression": "!variables.lowers || !variables.scale || oldObject.metadata.name in ['slurm-worker-burst']",
                "messageExpression": lowered,
            },
            {
                "expression": "request.operation != 'DELETE' || has(oldObject.metadata.deletionTimestamp) ||"
                " variables.empty || oldObject.metadata.?annotations[?'slinky-iac/permit'].orValue('') =="
                " 'delete@' + variables.generation",
                "messageExpression": "variables.nodeset + ' was to be deleted: its pods would go with the jobs on them."
                " Remove it from nodesets in the stack and run pulumi up, or run pulumi destroy: they drain its nodes first."
                f" In an emergency, jobs or not: kubectl delete validatingadmissionpolicybinding {NODESETS}'",
            },
        ],
    }


def test_what_a_nodeset_needs_is_guarded_as_long_as_there_is_one() -> None:
    found = policies()["needed"]
    assert found.name == NEEDED
    assert found.binding == {
        "policyName": NEEDED,
        "validationActions": ["Deny"],
        "paramRef": {"namespace": "slurm", "selector": {}, "parameterNotFoundAction": "Allow"},
    }
    crds = "['nodesets.slinky.slurm.net', 'controllers.slinky.slurm.net', 'restapis.slinky.slurm.net']"
    assert found.spec == {
        "failurePolicy": "Fail",
        "paramKind": {"apiVersion": "slinky.slurm.net/v1beta1", "kind": "NodeSet"},
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": ["slinky.slurm.net"],
                    "apiVersions": ["*"],
                    "resources": ["controllers", "restapis"],
                    "operations": ["DELETE"],
                },
                {"apiGroups": [""], "apiVersions": ["*"], "resources": ["namespaces"], "operations": ["DELETE"]},
                {
                    "apiGroups": ["apiextensions.k8s.io"],
                    "apiVersions": ["*"],
                    "resources": ["customresourcedefinitions"],
                    "operations": ["DELETE"],
                },
            ],
        },
        "matchConditions": [
            {
                "name": "of-this-cluster",
                "expression": "request.resource.resource == 'namespaces' ? oldObject.metadata.name == 'slurm'"
                f" : request.resource.resource == 'customresourcedefinitions' ? oldObject.metadata.name in {crds}"
                " : oldObject.metadata.namespace == 'slurm' && oldObject.metadata.name == 'slurm'",
            }
        ],
        "validations": [
            {
                "expression": "!params.metadata.name.startsWith('slurm-worker-') || has(params.metadata.deletionTimestamp)"
                " || params.metadata.?annotations[?'slinky-iac/permit'].orValue('') =="
                " 'delete@' + string(params.metadata.generation)",
                "messageExpression": "request.kind.kind + ' ' + oldObject.metadata.name + ' was to be deleted, and NodeSet '"
                " + params.metadata.name + ' in namespace slurm needs it: jobs on its nodes would be lost. Run pulumi"
                " destroy, which drains them first. In an emergency, jobs or not: kubectl delete"
                f" validatingadmissionpolicybinding {NEEDED}'",
            }
        ],
    }


def test_an_accounting_that_the_stack_gives_up_may_go_while_nodesets_live() -> None:
    """The policy is written at the beginning of the update that deletes it."""
    kept = form("all-in-kubernetes")
    given_up = form("all-in-kubernetes", accounting={"enabled": False})
    guarded = [
        each.spec["matchConstraints"]["resourceRules"][0]["resources"] for each in (fence(kept)[1], fence(given_up)[1])
    ]
    assert guarded == [["controllers", "restapis", "accountings"], ["controllers", "restapis"]]


def test_pods_of_an_autoscalers_nodeset_are_guarded_against_the_operator_alone() -> None:
    """What it lets through is watched on a real API server (tests/integration/test_fence_pods.py)."""
    owned = {"gpu": {"replicas": 3}, "burst": {"replicas": 1, "maxReplicas": 3, "owner": "autoscaler"}}
    found = policies(nodesets=owned, operator={"namespace": "ops"}, cluster={"name": "lab", "fencePods": True})["pods"]
    assert found.name == PODS
    assert found.binding == {
        "policyName": PODS,
        "validationActions": ["Deny"],
        "paramRef": {"namespace": "slurm", "selector": {}, "parameterNotFoundAction": "Allow"},
    }
    (validation,) = found.spec["validations"]
    assert {key: value for key, value in found.spec.items() if key not in {"validations", "variables"}} == {
        "failurePolicy": "Fail",
        "paramKind": {"apiVersion": "slinky.slurm.net/v1beta1", "kind": "NodeSet"},
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "slurm"}},
            "objectSelector": {"matchExpressions": [{"key": "nodeset.slinky.slurm.net/pod-index", "operator": "Exists"}]},
            "resourceRules": [{"apiGroups": [""], "apiVersions": ["*"], "resources": ["pods"], "operations": ["DELETE"]}],
        },
        "matchConditions": [
            {
                "name": "by-the-operator",
                "expression": "request.userInfo.username.startsWith('system:serviceaccount:ops:')",
            },
            {
                "name": "of-an-autoscaler",
                "expression": "oldObject.metadata.?ownerReferences.orValue([])"
                ".exists(each, each.kind == 'NodeSet' && each.name in ['slurm-worker-burst'])",
            },
            {
                "name": "running",
                "expression": "!has(oldObject.metadata.deletionTimestamp) &&"
                " !(oldObject.status.?phase.orValue('') in ['Failed', 'Succeeded']) &&"
                " oldObject.status.?containerStatuses.orValue([]).exists(each, has(each.state) && has(each.state.running))",
            },
        ],
    }
    assert {each["name"]: each["expression"] for each in found.spec["variables"]} == {
        "states": "oldObject.status.?conditions.orValue([])"
        ".filter(each, each.type.startsWith('SlurmNodeState') && each.status == 'True').map(each, each.type.substring(14))",
        "drained": "'Drain' in variables.states &&"
        " !variables.states.exists(each, each in ['Undrain', 'Allocated', 'Mixed', 'Completing'])",
        "seen": "params.?status.?observedGeneration.orValue(-1) == params.metadata.generation ||"
        " params.metadata.?annotations[?'slinky-iac/permit'].orValue('') =="
        " 'scale-to:' + string(params.spec.replicas) + '@' + string(params.metadata.generation - 1)",
        "known": "params.?status.?slurmIdle.orValue(0) + params.?status.?slurmAllocated.orValue(0)"
        " + params.?status.?slurmDown.orValue(0) + params.?status.?slurmDrain.orValue(0)",
        "unregistered": "size(variables.states) == 0 && variables.known > 0 &&"
        " params.?status.?replicas.orValue(params.spec.replicas + 1) <= params.spec.replicas &&"
        " params.spec.?updateStrategy.?type.orValue('') == 'OnDelete' &&"
        " oldObject.metadata.?labels[?'nodeset.slinky.slurm.net/scaling-mode'].orValue('') == 'StatefulSet' &&"
        " params.spec.?scalingMode.orValue('') == 'StatefulSet'",
    }
    assert validation["expression"] == (
        "!oldObject.metadata.ownerReferences.exists(each, each.kind == 'NodeSet' && each.name == params.metadata.name)"
        " || variables.seen && (variables.drained || variables.unregistered)"
    )


def test_a_stack_that_asks_for_no_fence_of_pods_or_has_no_autoscaler_has_none() -> None:
    """Its preview shows no change."""
    owned = {"burst": {"replicas": 0, "maxReplicas": 3, "owner": "autoscaler"}}
    assert set(policies(nodesets=owned)) == {"nodesets", "needed"}
    assert set(policies(nodesets={"gpu": {"replicas": 3}}, cluster={"name": "lab", "fencePods": True})) == {
        "nodesets",
        "needed",
    }


def test_no_autoscaler_means_that_no_scale_may_shrink() -> None:
    assert policies(nodesets={"gpu": {"replicas": 1}})["nodesets"].spec["validations"][1]["expression"].endswith(" in []")


@pytest.mark.parametrize("stack", FORMS)
def test_the_names_are_what_kubernetes_takes_and_every_message_says_the_way_out(stack: str) -> None:
    bursting = {"burst": {"replicas": 0, "maxReplicas": 3, "owner": "autoscaler"}}
    for each in fence(form(stack, nodesets=bursting, cluster={"name": "lab", "fencePods": True})):
        assert len(each.name) <= 253
        assert all(names.is_dns_label(part) for part in each.name.split("."))
        for validation in each.spec["validations"]:
            assert f"kubectl delete validatingadmissionpolicybinding {each.name}'" in validation["messageExpression"]
            assert len(re.findall("'", validation["messageExpression"])) % 2 == 0
