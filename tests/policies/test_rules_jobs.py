"""Rules that guard jobs: gates, slurmrestd, resources; and what a rule does with a value that can't be read."""

from __future__ import annotations

from typing import Any

import pytest
from slurm_rules import (
    autoscaling,
    compute,
    exposure,
    gates,
    partitions,
    restapi,
    updates,
)
from slurm_rules.gate_shape import NODESET_SCALE
from slurm_rules.model import REDACTED, UNKNOWN, HiddenValueError, Resource, Stack

from slinky_iac.config.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.autoscale import scaler
from tests.policies.in_memory import in_memory, one
from tests.policies.judging import Change, judged, messages, spec, with_hidden
from tests.policies.pack import plain_stack
from tests.stacks import minimal


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
    verdict = one(restapi.restapi_answers, Stack((*stack.resources, other)))
    assert [urn for urn, _ in verdict.violations] == ["urn:b"]
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
    assert "has 0 replicas" in messages(judged(restapi.restapi_answers, spec("restapi", replicas=0)))


def test_a_nodeset_in_daemonset_mode_has_no_number_to_take_from_a_gate() -> None:
    change = spec("nodeset", scalingMode="DaemonSet", replicas=None)
    assert judged(gates.replicas_left_to_gate, change).violations == ()
    assert judged(gates.removal_by_gate, change).violations == ()


def test_two_gates_of_one_nodeset_are_one_too_many() -> None:
    stack = in_memory(plain_stack("inside"))
    gate = next(each for each in stack.resources if each.type == NODESET_SCALE)
    idle = Resource(gate.type, "idle", "urn:idle", {**gate.props, "owner": "autoscaler"})
    verdict = one(gates.replicas_left_to_gate, Stack((idle, *stack.resources)))
    assert "has 2 NodeSetScales" in messages(verdict)


def test_a_gate_of_another_nodeset_guards_nothing() -> None:
    change = {"resources": {"gate": {"properties": {"resource": "slurm-worker-cpu"}}}}
    assert "has no NodeSetScale" in messages(judged(gates.replicas_left_to_gate, change))


def test_a_gate_of_the_same_name_in_another_namespace_guards_nothing() -> None:
    change = {"resources": {"gate": {"properties": {"namespace": "other"}}}}
    assert "has no NodeSetScale" in messages(judged(gates.removal_by_gate, change))


def test_a_nodeset_may_depend_on_slurmrestd_through_the_component_around_it() -> None:
    stack = in_memory(plain_stack("inside", {"resources": {"nodeset": {"dependsOn": []}}}))
    restapi_urn = next(r.urn for r in stack.resources if r.name == "restapi")
    parent = Resource("slinky:slurm:NodeSet", "gpu", "urn:component", {}, dependencies=frozenset({restapi_urn}))
    moved = [Resource(**{**vars_of(r), "parent": parent.urn}) if r.name == "nodeset" else r for r in stack.resources]
    assert one(restapi.nodesets_depend_on_restapi, Stack((parent, *moved))).violations == ()


def vars_of(resource: Resource) -> dict[str, Any]:
    return {name: getattr(resource, name) for name in Resource.__dataclass_fields__}


def test_an_autoscaler_within_the_gates_maximum_is_allowed() -> None:
    assert judged(gates.one_owner_of_replicas, base="outside").violations == ()


def test_an_autoscaler_may_not_ask_for_more_than_the_gate_counts_with() -> None:
    verdict = judged(gates.one_owner_of_replicas, spec("scaler", maxReplicas=9), base="outside")
    assert "may ask for 9 pods" in messages(verdict)


def scaled_object(config: StackConfig) -> Resource:
    found = scaler(config, "gpu", config.nodesets["gpu"])
    assert found is not None
    return Resource("kubernetes:keda.sh/v1alpha1:ScaledObject", "gpu", "urn:gpu", {"kind": found.kind, "spec": found.spec})


@pytest.mark.parametrize("source", ["slurmctld", "http://prometheus:9090"])
def test_our_own_autoscaler_counts_busy_nodes(source: str) -> None:
    autoscale = {"owner": "autoscaler", "maxReplicas": 4, "autoscale": {"source": source}}
    config = load(minimal(nodesets={"gpu": {"replicas": 0, **autoscale}}))
    assert one(autoscaling.autoscaler_counts_busy_nodes, Stack((scaled_object(config),))).violations == ()


def test_an_autoscaler_that_takes_silence_for_none_is_refused() -> None:
    source = {"source": "http://prometheus:9090"}
    config = load(minimal(nodesets={"gpu": {"replicas": 0, "owner": "autoscaler", "maxReplicas": 4, "autoscale": source}}))
    found = scaled_object(config)
    found.props["spec"]["fallback"] = {"failureThreshold": 3, "replicas": 0}
    found.props["spec"]["triggers"][3]["metadata"]["ignoreNullValues"] = "true"
    said = messages(one(autoscaling.autoscaler_counts_busy_nodes, Stack((found,))))
    assert "has a fallback" in said
    assert "missing series for zero" in said


def test_a_metric_of_the_site_is_taken_where_the_site_names_it() -> None:
    metric = {"type": "External", "external": {"metric": {"name": "gpu_nodes"}}}
    rule, change = autoscaling.autoscaler_counts_busy_nodes, spec("scaler", metrics=[metric])
    assert "doesn't count busy nodes" in messages(judged(rule, change, base="outside"))
    assert judged(rule, change, {"metrics": ["gpu_nodes"]}, base="outside").violations == ()


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
    assert judged(restapi.restapi_answers, spec("restapi", replicas=0, service=service)).violations == ()


@pytest.mark.parametrize(
    ("kind", "open_"), [("LoadBalancer", True), ("NodePort", True), ("ClusterIP", False), (None, False)]
)
def test_slurmrestd_is_open_by_its_own_service_whatever_network_the_pods_are_on(kind: str | None, open_: bool) -> None:
    change = spec("restapi", service={"spec": {"type": kind}})
    assert bool(judged(exposure.no_open_slurmrestd, change).violations) is open_


@pytest.mark.parametrize(
    ("port", "container", "open_"),
    [(6843, "slinky-tls", False), (6843, "somebodys", True), (6820, "slinky-tls", True), ("slurmrestd", "slinky-tls", True)],
)
def test_a_load_balancer_may_lead_to_the_stacks_own_tls_proxy_only(port: int | str, container: str, open_: bool) -> None:
    """What `restapi.tls.service` makes."""
    proxy = {"name": container, "image": "nginx:1.28-alpine", "ports": [{"containerPort": 6843}]}
    door = {
        "type": "kubernetes:core/v1:Service",
        "properties": {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "slurm-restapi-tls", "namespace": "slurm"},
            "spec": {
                "type": "LoadBalancer",
                "selector": {"app.kubernetes.io/name": "slurmrestd", "app.kubernetes.io/instance": "slurm"},
                "ports": [{"port": 6843, "targetPort": port}],
            },
        },
    }
    restapi_ = {"properties": {"spec": {"template": {"spec": {"containers": [proxy]}}}}}
    change = {"resources": {"restapi": restapi_, "door": door}}
    assert bool(judged(exposure.no_open_slurmrestd, change).violations) is open_


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        (None, False),
        ("https://rest.example.org:6820", False),
        ("http://127.0.0.1:6820", False),
        ("http://[::1]:6820", False),
        ("http://localhost", False),
        ("http://rest.example.org", True),
        (" HTTP://rest.example.org", True),
        ("http://127.0.0.1.example.org", True),
        ("http://127.0.0.1@example.org", True),
        ("unix:///run/slurmrestd.sock", True),
    ],
)
def test_tokens_leave_a_machine_over_tls_only(url: str | None, plain: bool) -> None:
    change = {"resources": {"gate": {"properties": {"url": url}}, "teardown": None}}
    assert bool(judged(exposure.slurmrestd_over_tls, change).violations) is plain


def test_a_host_on_a_network_of_its_own_may_be_asked_in_plain_http_where_the_site_says_so() -> None:
    change = {"resources": {"gate": {"properties": {"url": "http://rest.hpc:6820"}}, "teardown": None}}
    assert judged(exposure.slurmrestd_over_tls, change, {"plainHttpHosts": ["rest.hpc"]}).violations == ()


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
    assert (not judged(updates.update_strategy_bounds, change).violations) is fine


@pytest.mark.parametrize(("value", "fine"), [(1.0, True), ("50%", True), ("51%", False)])
def test_a_rollout_by_the_gate_is_bounded_likewise(value: object, fine: bool) -> None:
    """Its NodeSet is OnDelete, so the gate has the bound."""
    change = {"resources": {"gate": {"properties": {"updates": "Gated", "maxUnavailable": value}}}}
    assert (not judged(updates.update_strategy_bounds, change).violations) is fine
