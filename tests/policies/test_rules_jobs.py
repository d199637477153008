"""Rules that guard jobs: gates, slurmrestd, resources; and what a rule does with a value that can't be read."""

from __future__ import annotations

from typing import Any

import pytest
from slurm_rules import (
    compute,
    gates,
    partitions,
)
from slurm_rules.beside import cluster_complete
from slurm_rules.cluster import NODESET_SCALE
from slurm_rules.model import REDACTED, UNKNOWN, HiddenValueError, Resource, Stack

from tests.policies.in_memory import in_memory, one
from tests.policies.judging import Change, judged, messages, spec, with_hidden
from tests.policies.pack import plain_stack


@pytest.mark.parametrize("hidden", [UNKNOWN, REDACTED], ids=["unknown", "redacted"])
def test_a_value_that_cannot_be_read_is_neither_passed_nor_refused(hidden: object) -> None:
    stack = with_hidden("nodeset", ("spec", "slurmd", "resources"), hidden)
    verdict = one(compute.requests_equal_limits, stack)
    assert verdict.violations == ()
    assert len(verdict.not_judged) == 1
    assert "spec.slurmd.resources" in verdict.not_judged[0]


def test_an_unknown_value_of_one_resource_hides_no_violation_of_another() -> None:
    stack = with_hidden("restapi", ("spec", "replicas"), UNKNOWN)
    other = Resource("kubernetes:slinky.slurm.net/v1beta1:RestApi", "b", "urn:b", {"spec": {"replicas": 0.0}})
    verdict = one(cluster_complete, Stack((*stack.resources, other)))
    assert {urn for urn, _ in verdict.violations} == {"urn:b"}
    assert len(verdict.not_judged) == 1


def test_an_unknown_number_of_replicas_is_not_taken_for_none() -> None:
    stack = with_hidden("nodeset", ("spec", "replicas"), UNKNOWN)
    verdict = one(partitions.max_node_count, stack)
    assert verdict.violations == ()
    assert verdict.not_judged


def test_a_hidden_value_has_no_truth_that_a_rule_could_use_by_mistake() -> None:
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(UNKNOWN)


def test_an_absent_value_is_told_apart_from_an_unknown_one() -> None:
    resource = Resource("t:t:T", "a", "urn:a", {"known": {"x": 1.0}, "later": UNKNOWN})
    assert resource.get("known", "y", "z") is None
    with pytest.raises(HiddenValueError, match="later"):
        resource.get("later", "anything")


def test_whole_numbers_that_arrive_as_floats_are_shown_as_whole_numbers() -> None:
    assert "spec.replicas is 0; the operator can't ask" in messages(judged(cluster_complete, spec("restapi", replicas=0)))


def test_a_nodeset_in_daemonset_mode_has_no_number_to_take_from_a_gate() -> None:
    change = spec("nodeset", scalingMode="DaemonSet", replicas=None)
    change["resources"]["nodeset"]["ignoreChanges"] = []
    assert judged(cluster_complete, change).violations == ()


def test_a_nodeset_in_daemonset_mode_needs_its_gate_as_any_other() -> None:
    change = spec("nodeset", scalingMode="DaemonSet", replicas=None)
    change["resources"]["gate"] = {"properties": {"resource": "slurm-worker-cpu"}}
    assert "has no NodeSetScale" in messages(judged(cluster_complete, change))


def test_two_gates_of_one_nodeset_are_one_too_many() -> None:
    stack = in_memory(plain_stack("inside"))
    gate = next(each for each in stack.resources if each.type == NODESET_SCALE)
    idle = Resource(gate.type, "idle", "urn:idle", {**gate.props, "owner": "autoscaler"})
    verdict = one(cluster_complete, Stack((idle, *stack.resources)))
    assert "has 2 NodeSetScale with" in messages(verdict)


def test_a_gate_of_another_nodeset_guards_nothing() -> None:
    change = {"resources": {"gate": {"properties": {"resource": "slurm-worker-cpu"}}}}
    assert "has no NodeSetScale" in messages(judged(cluster_complete, change))


def test_a_gate_of_the_same_name_in_another_namespace_guards_nothing() -> None:
    change = {"resources": {"gate": {"properties": {"namespace": "other"}}}}
    assert "has no NodeSetScale" in messages(judged(cluster_complete, change))


def test_a_nodeset_may_depend_on_slurmrestd_through_the_component_around_it() -> None:
    stack = in_memory(plain_stack("inside", {"resources": {"nodeset": {"dependsOn": []}}}))
    restapi_urn = next(r.urn for r in stack.resources if r.name == "restapi")
    parent = Resource("slinky:slurm:NodeSet", "gpu", "urn:component", {}, dependencies=frozenset({restapi_urn}))
    moved = [Resource(**{**vars_of(r), "parent": parent.urn}) if r.name == "nodeset" else r for r in stack.resources]
    assert one(cluster_complete, Stack((parent, *moved))).violations == ()


def vars_of(resource: Resource) -> dict[str, Any]:
    return {name: getattr(resource, name) for name in Resource.__dataclass_fields__}


def test_an_autoscaler_within_the_gates_maximum_is_allowed() -> None:
    assert judged(cluster_complete, base="outside").violations == ()


def test_an_autoscaler_may_not_ask_for_more_than_the_gate_counts_with() -> None:
    verdict = judged(cluster_complete, spec("scaler", maxReplicas=9), base="outside")
    assert "may ask for 9, and NodeSetScale gate allows 8" in messages(verdict)


@pytest.mark.parametrize(
    ("policy", "options", "said"),
    [
        ({"deadline_s": 59}, {}, "59 s; this site allows 60"),
        ({"deadline_s": 60}, {}, ""),
        ({"deadline_s": 604800}, {}, ""),
        ({"deadline_s": 604801}, {}, "this site allows"),
        ({"on_deadline": "requeue"}, {}, "onDeadline is requeue"),
        ({"on_deadline": "requeue"}, {"onDeadline": ["keep", "requeue"]}, ""),
        ({"on_deadline": "cancel", "grace_s": 5}, {"onDeadline": ["cancel"]}, "grace is 5 s"),
        ({"limits": {"max_share": 0.75}}, {"maxShare": 0.5}, "maxShare is 0.75"),
        ({"limits": {"max_share": None}}, {"requireLimits": True}, "needs maxShare"),
        ({"limits": {"max_jobs": None}}, {"requireLimits": True}, "maxJobs or maxJobAge"),
        ({}, {"requireLimits": True}, ""),
    ],
)
def test_bounds_of_a_drain(policy: Change, options: Change, said: str) -> None:
    change = {"resources": {"gate": {"properties": {"policy": policy}}}}
    verdict = judged(gates.drain_within_bounds, change, options)
    assert said in messages(verdict)
    assert bool(verdict.violations) is bool(said)


def test_an_outside_slurmrestd_behind_the_service_is_an_answer() -> None:
    service = {"spec": {"type": "ExternalName", "externalName": "slurmrestd.example.org"}}
    assert judged(cluster_complete, spec("restapi", replicas=0, service=service)).violations == ()


@pytest.mark.parametrize(
    ("requests", "limits", "fine"),
    [
        ({"cpu": "64", "memory": "512Gi"}, {"cpu": 64.0, "memory": "524288Mi"}, True),
        ({"cpu": "64000m"}, {"cpu": "64"}, True),
        ({}, {"cpu": "64", "memory": "512Gi"}, True),
        ({}, {}, True),
        ({"cpu": "64"}, {}, False),
        ({"memory": "512G"}, {"memory": "512Gi"}, False),
    ],
)
def test_requests_and_limits_are_compared_as_quantities(requests: Change, limits: Change, fine: bool) -> None:
    props = {"metadata": {"name": "n"}, "spec": {"slurmd": {"resources": {"requests": requests, "limits": limits}}}}
    nodeset = Resource("kubernetes:slinky.slurm.net/v1beta1:NodeSet", "n", "urn:n", props)
    assert (not one(compute.requests_equal_limits, Stack((nodeset,))).violations) is fine


def test_a_fraction_of_a_cpu_is_allowed_where_a_job_has_the_node_to_itself() -> None:
    partition = {"enabled": True, "config": "MaxTime=60 OverSubscribe=EXCLUSIVE"}
    change = spec("nodeset", slurmd={"resources": {"limits": {"cpu": "63.5"}}}, partition=partition)
    assert judged(compute.whole_cpus, change).violations == ()


def test_exclusive_partitions_are_allowed_without_cgroups() -> None:
    change = {
        "resources": {
            "cgroup": {"properties": {"data": {"cgroup.conf": "CgroupPlugin = disabled\nCgroupPlugin=Disabled"}}},
            "nodeset": {"properties": {"spec": {"partition": {"config": "OverSubscribe=Exclusive"}}}},
            "controller": {"properties": {"spec": {"extraConf": "PartitionName=all Nodes=ALL OverSubscribe=EXCLUSIVE"}}},
        }
    }
    assert judged(compute.exclusive_without_cgroups, change).violations == ()


@pytest.mark.parametrize(("value", "fine"), [(2, True), (3, False), ("50%", True), ("51%", False), (1, True)])
def test_a_rolling_update_is_bounded_as_a_share_and_as_a_number(value: object, fine: bool) -> None:
    change = spec("nodeset", updateStrategy={"rollingUpdate": {"maxUnavailable": value}})
    assert (not judged(gates.update_strategy_bounds, change).violations) is fine


@pytest.mark.parametrize(("value", "fine"), [(1.0, True), ("50%", True), ("51%", False)])
def test_a_rollout_by_the_gate_is_bounded_likewise(value: object, fine: bool) -> None:
    """Its NodeSet is OnDelete, so the gate has the bound."""
    change = {"resources": {"gate": {"properties": {"updates": "Gated", "maxUnavailable": value}}}}
    assert (not judged(gates.update_strategy_bounds, change).violations) is fine


def test_a_site_spares_rows_and_a_row_that_does_not_exist_spares_none() -> None:
    change: Change = {"resources": {"gate": None, "fence-nodesets": None}}
    said = messages(judged(cluster_complete, change))
    assert "has no NodeSetScale with namespace slurm, resource slurm-worker-gpu" in said
    assert "has no ValidatingAdmissionPolicy with name slinky-iac-nodesets.slurm.slurm" in said
    left = messages(judged(cluster_complete, change, {"spared": ["fence", "gates"]}))
    assert "NodeSetScale" in left
    assert "Admission" not in left
