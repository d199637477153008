"""What a single bad stack per rule doesn't show: allowed variants, bounds of a site, and values that can't be read."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pytest
from slurm_rules import (
    access,
    clear_text,
    compute,
    gates,
    images,
    keys,
    operator_chart,
    partitions,
    restapi,
    slurm_conf,
    storage,
    tokens,
    updates,
)
from slurm_rules.cluster import entry
from slurm_rules.model import REDACTED, UNKNOWN, HiddenValueError, Resource, Stack
from slurm_rules.rule import Rule, Verdict

from tests.policies.in_memory import in_memory, one
from tests.policies.pack import plain_stack

Change = Mapping[str, Any]


def judged(rule: Rule, change: Change | None = None, options: Change | None = None, base: str = "inside") -> Verdict:
    return one(rule, in_memory(plain_stack(base, change)), options)


def spec(name: str, **fields: Any) -> Change:
    """A change of fields of a resource's spec."""
    return {"resources": {name: {"properties": {"spec": fields}}}}


def messages(verdict: Verdict) -> str:
    return "\n".join(message for _, message in verdict.violations)


def with_hidden(name: str, path: tuple[str, ...], hidden: object, base: str = "inside") -> Stack:
    """A plain stack in which one value can't be read."""
    stack = plain_stack(base)
    target = stack["resources"][name]["properties"]
    for part in path[:-1]:
        target = target[part]
    target[path[-1]] = None
    made = in_memory(stack)
    changed: Any = next(resource for resource in made.resources if resource.name == name).props
    for part in path[:-1]:
        changed = changed[part]
    changed[path[-1]] = hidden
    return made


# Values that can't be read


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


# Gates


def test_a_nodeset_in_daemonset_mode_has_no_number_to_take_from_a_gate() -> None:
    change = spec("nodeset", scalingMode="DaemonSet", replicas=None)
    assert judged(gates.replicas_from_scale_in_gate, change).violations == ()
    assert judged(gates.teardown_gate, change).violations == ()


def test_a_gate_of_another_nodeset_guards_nothing() -> None:
    change = {"resources": {"gate": {"properties": {"resource": "slurm-worker-cpu"}}}}
    assert "has no ScaleInGate" in messages(judged(gates.replicas_from_scale_in_gate, change))


def test_a_gate_of_the_same_name_in_another_namespace_guards_nothing() -> None:
    change = {"resources": {"teardown": {"properties": {"namespace": "other"}}}}
    assert "has no TeardownGate" in messages(judged(gates.teardown_gate, change))


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
    change = {"resources": {"gate": {"properties": {"policy": policy}}, "teardown": None}}
    verdict = judged(gates.drain_within_bounds, change, options)
    assert said in messages(verdict)
    assert bool(verdict.violations) is bool(said)


# slurmrestd


def test_an_outside_slurmrestd_behind_the_service_is_an_answer() -> None:
    service = {"spec": {"type": "ExternalName", "externalName": "slurmrestd.example.org"}}
    assert judged(restapi.restapi_answers, spec("restapi", replicas=0, service=service)).violations == ()


def test_an_open_service_alone_is_allowed_where_no_pod_is_on_the_hosts_network() -> None:
    change = spec("restapi", service={"spec": {"type": "LoadBalancer"}})
    assert judged(restapi.no_open_slurmrestd_on_host_network, change).violations == ()


# Keys


def test_the_older_name_of_the_jwt_keys_reference_counts() -> None:
    old = {"name": "slurm-auth-jwths256", "key": "jwt_hs256.key"}
    change = spec("controller", jwtKeyRef=None, jwtHs256KeyRef=old)
    assert judged(keys.key_references, change).violations == ()
    assert judged(keys.keys_differ, change).violations == ()


def test_a_secret_of_others_is_allowed_unless_the_site_says_no() -> None:
    change = {"resources": {"slurm-key-secret": None}}
    assert judged(keys.key_references, change, base="outside").violations == ()
    verdict = judged(keys.key_references, change, {"allowSecretsOfOthers": False}, "outside")
    assert "which this stack doesn't make" in messages(verdict)


def test_a_reference_to_an_entry_that_the_secret_lacks_is_found() -> None:
    change = {"resources": {"slurm-key-secret": {"properties": {"stringData": {"slurm.key": None, "munge.key": "x"}}}}}
    assert "the entry slurm.key" in messages(judged(keys.key_references, change, base="outside"))


@pytest.mark.parametrize("kind", keys.UNSAFE_RANDOM)
def test_a_generator_that_shows_the_key_is_refused(kind: str) -> None:
    change = {"resources": {"slurm-key": {"type": f"random:index/{kind[0].lower()}{kind[1:]}:{kind}"}}}
    assert f"comes from {kind} slurm-key, which shows it" in messages(judged(keys.key_source, change))


def test_two_generated_keys_differ_though_neither_is_known_yet() -> None:
    assert judged(keys.keys_differ) == Verdict()


def test_encrypted_keys_are_not_said_to_differ() -> None:
    stack = with_hidden("jwt-key-secret", ("stringData",), REDACTED, "outside")
    verdict = one(keys.keys_differ, stack)
    assert verdict.violations == ()
    assert "encrypted secret" in verdict.not_judged[0]


def test_the_remedy_for_an_editable_key_secret_makes_it_immutable() -> None:
    fix = keys.key_secrets_immutable.fix
    assert fix is not None
    assert fix(Resource("kubernetes:core/v1:Secret", "a", "urn:a", {}), {}) == {("immutable",): True}


def test_entries_of_a_secret_are_read_from_text_and_from_base64() -> None:
    raw = b"\x00\x01 bytes"
    for props in ({"stringData": {"k": "\x00\x01 bytes"}}, {"data": {"k": base64.b64encode(raw).decode()}}):
        assert entry(Resource("kubernetes:core/v1:Secret", "a", "urn:a", props), "k") == raw


# Plain text


@pytest.mark.parametrize(
    "form",
    [
        lambda key: key.decode(),
        lambda key: base64.b64encode(key).decode(),
        lambda key: base64.b64encode(base64.b64encode(key)).decode(),
        lambda key: key.hex(),
    ],
    ids=["raw", "base64", "twice", "hex"],
)
def test_a_key_is_found_in_every_form(form: Any) -> None:
    key = form(b"another made-up key of enough characters")
    change = {"resources": {"identity": {"properties": {}}}, "outputs": {"note": f"the key is {key}!"}}
    verdict = judged(clear_text.keys_not_in_clear, change, base="outside")
    assert "the JWT key stands in plain text in Stack plain-test: note" in messages(verdict)
    assert key not in messages(verdict)


def test_a_status_that_the_provider_will_compute_is_no_place_for_a_key() -> None:
    stack = with_hidden("accounting", ("status",), UNKNOWN, "outside")
    assert one(clear_text.keys_not_in_clear, stack) == Verdict()


def test_a_generated_key_that_flows_into_an_annotation_is_not_judged_before_it_is_known() -> None:
    change = {"resources": {"cgroup": {"properties": {"data": {"note": "${jwt-key.result}"}}}}}
    verdict = judged(clear_text.keys_not_in_clear, change)
    assert verdict.violations == ()
    assert "data.note is known only after the update" in verdict.not_judged[0]


def test_the_word_that_tells_slurmrestd_to_use_tokens_is_no_token() -> None:
    change = spec("restapi", slurmrestd={"env": [{"name": "SLURM_JWT", "value": "daemon"}]})
    assert judged(clear_text.no_secrets_in_clear, change).violations == ()


def test_an_environment_variable_from_a_secret_is_allowed() -> None:
    source = {"secretKeyRef": {"name": "s", "key": "k"}}
    change = spec("nodeset", slurmd={"env": [{"name": "API_TOKEN", "valueFrom": source}]})
    assert judged(clear_text.no_secrets_in_clear, change).violations == ()


def test_a_secret_in_a_chart_value_is_found() -> None:
    change = {"resources": {"operator": {"properties": {"values": {"key": "-----BEGIN RSA PRIVATE KEY-----"}}}}}
    assert "a private key in plain text" in messages(judged(clear_text.no_secrets_in_clear, change))


# Compute


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


# Names, numbers, images


def test_node_expressions_are_expanded_before_they_are_counted() -> None:
    assert slurm_conf.expand("metal-[001-003,7]") == ["metal-001", "metal-002", "metal-003", "metal-7"]
    assert slurm_conf.split_list("a[1,2],b") == ["a[1,2]", "b"]
    assert slurm_conf.expand("x[1-9999999]") == ["x[1-9999999]"]


def test_comments_and_continued_lines_are_read_as_slurm_reads_them() -> None:
    text = '# PartitionName=no\nPartitionName=yes \\\n Nodes=a,b # PartitionName=no\nDescription="a b"\n'
    found = list(slurm_conf.lines(text))
    assert [line.first for line in found] == ["partitionname", "description"]
    assert found[0].get("nodes") == "a,b"
    assert found[1].value == "a b"


def test_a_reference_to_another_namespace_is_refused() -> None:
    change = spec("restapi", controllerRef={"name": "slurm", "namespace": "other"})
    assert "leads to namespace other" in messages(judged(partitions.references_resolve, change))


@pytest.mark.parametrize(
    ("image", "require", "fine"),
    [
        ("slurmd", "tag", False),
        ("registry:5000/slurmd", "tag", False),
        ("registry:5000/slurmd:26.05", "tag", True),
        ("slurmd@sha256:" + "0" * 64, "tag", True),
        ("slurmd:26.05", "digest", False),
        ("slurmd:26.05@sha256:" + "0" * 64, "digest", True),
    ],
)
def test_what_pins_an_image(image: str, require: str, fine: bool) -> None:
    change = spec("restapi", slurmrestd={"image": image})
    found = judged(images.images_pinned, change, {"require": require, "except": ["ghcr.io/*"]})
    assert (not found.violations) is fine


def test_a_chart_from_a_registry_needs_a_version() -> None:
    change = {"resources": {"crds": {"properties": {"chart": "oci://registry.example.org/slurm-operator-crds"}}}}
    assert "has no version" in messages(judged(images.images_pinned, change))


def test_gates_and_chart_of_two_releases_are_found() -> None:
    change = {"resources": {"gate": {"properties": {"operatorVersion": "1.1.2"}}}}
    assert "slurm-operator 1.1.2, 1.2.1" in messages(judged(images.versions_agree, change))


def test_slinkys_images_go_with_the_operator() -> None:
    change = spec("restapi", slurmrestd={"image": "ghcr.io/slinkyproject/slurmrestd:25.11-ubuntu24.04"})
    assert "slurm-operator 1.2.1 goes with 26.05" in messages(judged(images.versions_agree, change))


def test_a_site_can_say_what_its_outside_slurmctld_is() -> None:
    assert judged(images.versions_agree, base="outside").violations == ()
    verdict = judged(images.versions_agree, options={"outsideRelease": "25.11"}, base="outside")
    assert "newer than slurmctld's 25.11" in messages(verdict)


def test_the_tag_of_a_sidecar_is_no_release_of_slurm() -> None:
    change = spec("nodeset", logfile={"image": "docker.io/library/ubuntu:22.04"})
    assert judged(images.versions_agree, change).violations == ()


# Storage, operator, access, tokens


def database(**pod: Any) -> Change:
    body = {"name": "db", "image": "mariadb:11.8", "volumeMounts": [{"name": "data", "mountPath": "/var/lib/mysql"}]}
    meta = {"name": "mariadb-0", "namespace": "databases", "labels": {"app": "mariadb"}}
    service = {"name": "mariadb", "namespace": "databases"}
    return {
        "resources": {
            "service": {
                "type": "kubernetes:core/v1:Service",
                "properties": {"kind": "Service", "metadata": service, "spec": {"selector": {"app": "mariadb"}}},
            },
            "database": {
                "type": "kubernetes:core/v1:Pod",
                "properties": {"kind": "Pod", "metadata": meta, "spec": {"containers": [body], **pod}},
            },
        }
    }


def test_a_database_is_found_through_its_service() -> None:
    change = database(volumes=[{"name": "data", "emptyDir": {}}])
    assert "keeps its data in an emptyDir" in messages(judged(storage.accounting_database_durable, change))


def test_a_database_with_a_claim_is_allowed() -> None:
    change = database(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
    assert judged(storage.accounting_database_durable, change).violations == ()


def test_an_ephemeral_mariadb_of_the_mariadb_operator_is_refused() -> None:
    meta = {"name": "mariadb", "namespace": "databases"}
    properties = {"kind": "MariaDB", "metadata": meta, "spec": {"storage": {"ephemeral": True}}}
    change = {"resources": {"db": {"type": "kubernetes:k8s.mariadb.com/v1alpha1:MariaDB", "properties": properties}}}
    assert "storage.ephemeral: true" in messages(judged(storage.accounting_database_durable, change))


def test_the_webhook_alone_is_enough_and_so_is_the_identity() -> None:
    assert judged(operator_chart.webhook_or_equivalent, {"resources": {"identity": None}}).violations == ()
    assert judged(operator_chart.webhook_or_equivalent, base="outside").violations == ()


def test_crds_inside_the_operators_own_release_are_refused() -> None:
    change = {"resources": {"operator": {"properties": {"values": {"crds": {"enabled": True}}}}}}
    assert "brings the CRDs itself" in messages(judged(operator_chart.crds_protected, change))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (spec("nodeset", updateStrategy={"rollingUpdate": {"maxUnavailable": 0}}), "maxUnavailable is 0"),
        (spec("nodeset", partition={"config": "A=1\nB=2"}), "several lines"),
        (spec("nodeset", template={"spec": {"hostname": "GPU_"}}), "no DNS label"),
        (spec("controller", clusterName="c" * 41), "41 characters"),
        (spec("controller", clusterName="c" * 40), ""),
    ],
)
def test_what_the_operator_refuses(change: Change, said: str) -> None:
    verdict = judged(operator_chart.operator_accepts, change)
    assert said in messages(verdict)
    assert bool(verdict.violations) is bool(said)


def test_a_role_that_names_its_secrets_is_allowed_and_so_is_one_that_the_site_names() -> None:
    def role(**rule: Any) -> Stack:
        body = {"resources": ["secrets"], "verbs": ["get"], **rule}
        props = {"metadata": {"name": "backup"}, "rules": [body]}
        return Stack((Resource("kubernetes:rbac.authorization.k8s.io/v1:Role", "r", "urn:r", props),))

    assert one(access.secrets_readable_by_few, role()).violations
    assert not one(access.secrets_readable_by_few, role(resourceNames=["one"])).violations
    assert not one(access.secrets_readable_by_few, role(), {"allowedRoles": ["backup"]}).violations
    assert not one(access.secrets_readable_by_few, role(verbs=["create"])).violations


@pytest.mark.parametrize(("text", "seconds"), [("15m", 900), ("1h30m", 5400), ("90", None), ("8760h", 31536000), ("", None)])
def test_durations_are_read_as_go_writes_them(text: str, seconds: float | None) -> None:
    assert slurm_conf.seconds(text) == seconds


@pytest.mark.parametrize(("lifetime", "fine"), [("24h", True), ("24h1s", False), ("a day", False), (None, True)])
def test_lifetimes_of_tokens(lifetime: str | None, fine: bool) -> None:
    token = Resource("kubernetes:slinky.slurm.net/v1beta1:Token", "t", "urn:t", {"spec": {"lifetime": lifetime}})
    assert (not one(tokens.token_lifetimes, Stack((token,))).violations) is fine
