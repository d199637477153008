"""The fence's policies. What they refuse is watched on a real API server (tests/integration/test_fence_*.py)."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest

from slinky_iac import names
from slinky_iac.config.reading.load import load
from slinky_iac.parts.fence.policies import policies
from slinky_iac.parts.fence.policy import Guarded, Policy
from tests.stacks import FORMS, form, minimal

PODS = "slinky-iac-pods.slurm.slurm"


def by_part(**sections: Any) -> dict[str, Policy]:
    return {each.part: each for each in policies(load(minimal(**sections)))}


BURSTING = {"burst": {"replicas": 0, "maxReplicas": 3, "owner": "autoscaler"}}


@pytest.mark.parametrize("stack", FORMS)
def test_no_rule_can_match_what_is_not_of_this_cluster(stack: str) -> None:
    """The API server resolves parameters before conditions, so only rules and selectors keep strangers out."""
    config = form(stack, nodesets=BURSTING, cluster={"name": "lab", "fencePods": True})
    here = {"matchLabels": {"kubernetes.io/metadata.name": config.cluster.namespace}}
    for policy in policies(config):
        match = policy.spec["matchConstraints"]
        for rule in match["resourceRules"]:
            if rule["resources"] == ["namespaces"]:
                assert match["objectSelector"] == here
            elif rule["resources"] == ["customresourcedefinitions"]:
                assert rule["resourceNames"]
                assert all(each.endswith(".slinky.slurm.net") for each in rule["resourceNames"])
            else:
                assert match["namespaceSelector"] == here
            assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["operations"]}


@pytest.mark.parametrize("stack", FORMS)
def test_each_policy_refuses_and_lets_through_where_no_nodeset_is_left(stack: str) -> None:
    config = form(stack, nodesets=BURSTING, cluster={"name": "lab", "fencePods": True})
    for policy in policies(config):
        assert policy.spec["failurePolicy"] == "Fail"
        assert policy.binding["policyName"] == policy.name
        assert policy.binding["validationActions"] == ["Deny"]
        every = {"namespace": config.cluster.namespace, "selector": {}, "parameterNotFoundAction": "Allow"}
        assert policy.binding.get("paramRef") == (every if "paramKind" in policy.spec else None)


def test_an_accounting_that_the_stack_gives_up_may_go_while_nodesets_live() -> None:
    """The policy is written at the beginning of the update that deletes it."""
    kept = form("all-in-kubernetes")
    given_up = form("all-in-kubernetes", accounting={"enabled": False})
    guarded = [
        policy.spec["matchConstraints"]["resourceRules"][0]["resources"]
        for config in (kept, given_up)
        for policy in policies(config)
        if policy.part == "needed"
    ]
    assert guarded == [["controllers", "restapis", "accountings"], ["controllers", "restapis"]]


def test_pods_are_guarded_against_slurm_operator() -> None:
    """What it lets through is watched on a real API server (tests/integration/test_fence_pods.py)."""
    owned = {"gpu": {"replicas": 3}, "burst": {"replicas": 1, "maxReplicas": 3, "owner": "autoscaler"}}
    found = by_part(nodesets=owned, operator={"namespace": "ops"}, cluster={"name": "lab", "fencePods": True})["pods"]
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
            "objectSelector": {"matchLabels": {"app.kubernetes.io/name": "slurmd"}},
            "resourceRules": [{"apiGroups": [""], "apiVersions": ["*"], "resources": ["pods"], "operations": ["DELETE"]}],
        },
        "matchConditions": [
            {
                "name": "by-the-operator",
                "expression": "request.userInfo.username.startsWith('system:serviceaccount:ops:')",
            },
            {
                "name": "guarded",
                "expression": "oldObject.metadata.?ownerReferences.orValue([])"
                ".exists(each, each.kind == 'NodeSet' && each.name.startsWith('slurm-worker-'))",
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
        " 'scale-to:' + string(params.spec.replicas) + '@' + string(params.metadata.generation - 1) ||"
        " params.metadata.?annotations[?'slinky-iac/permit'].orValue('') =="
        " 'select@' + string(params.metadata.generation - 1)",
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
        " || params.spec.?updateStrategy.?type.orValue('RollingUpdate') == 'RollingUpdate'"
        " && !(params.metadata.name in ['slurm-worker-burst'])"
    )
    spared = by_part(nodesets=owned)["pods"].spec["matchConditions"][1]["expression"]
    assert spared.endswith("each.name.startsWith('slurm-worker-') && !(each.name in ['slurm-worker-burst']))")


@pytest.mark.parametrize("stack", FORMS)
def test_every_stack_has_every_policy(stack: str) -> None:
    """Also one without a NodeSet: the first one is guarded from its first moment on."""
    assert [each.part for each in policies(form(stack))] == list(get_args(Guarded))


def test_no_autoscaler_means_that_no_scale_may_shrink() -> None:
    assert by_part(nodesets={"gpu": {"replicas": 1}})["nodesets"].spec["validations"][1]["expression"].endswith(" in []")


@pytest.mark.parametrize("stack", FORMS)
def test_the_names_are_what_kubernetes_takes_and_every_message_says_the_way_out(stack: str) -> None:
    for each in policies(form(stack, nodesets=BURSTING, cluster={"name": "lab", "fencePods": True})):
        assert len(each.name) <= 253
        assert all(names.is_dns_label(part) for part in each.name.split("."))
        for validation in each.spec["validations"]:
            assert f"kubectl delete validatingadmissionpolicybinding {each.name}'" in validation["messageExpression"]
            assert len(re.findall("'", validation["messageExpression"])) % 2 == 0
