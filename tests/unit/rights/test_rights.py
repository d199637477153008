"""Rights: everything that a stack makes is named, reading accounts write nothing, and no account reads a key it needn't."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from slinky_iac import names
from slinky_iac.blueprint.objects import objects
from slinky_iac.commands import cli
from slinky_iac.commands.rights.cli import Account, as_table, as_yaml, manifests, notes
from slinky_iac.commands.rights.table import rights
from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.rights import Right, Use
from tests.clusters import STACKS, recorded
from tests.stacks import EXAMPLES, form, merged, minimal, networks, sections

JOB = {
    "image": "registry.example.org/slinky:0.1",
    "serviceAccount": "slinky-status",
    "folder": "/var/lib/node_exporter",
}
READS = {"get", "list", "watch"}
ACCOUNT = Account("ci", "drainer")
PLURALS = {
    "ConfigMap": "configmaps", "Secret": "secrets", "Service": "services", "Namespace": "namespaces",
    "EndpointSlice": "endpointslices", "Controller": "controllers", "Accounting": "accountings", "RestApi": "restapis",
    "NodeSet": "nodesets", "LoginSet": "loginsets", "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "NetworkPolicy": "networkpolicies", "ResourceQuota": "resourcequotas",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings", "Certificate": "certificates",
    "Deployment": "deployments", "Token": "tokens", "CronJob": "cronjobs", "ScaledObject": "scaledobjects",
    "PrometheusRule": "prometheusrules", "ServiceMonitor": "servicemonitors",
}  # fmt: skip
NAMED_APART = {"Release", "CustomResourceDefinition"}
"""Kinds whose rights stand by the operator's charts."""
every_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
every_use = pytest.mark.parametrize("use", Use)
FULL: dict[str, Any] = {
    "cluster": {"fence": True},
    "keys": {"tokens": "rs256"},
    "logins": {"main": {"sssdConfFrom": {"secret": "sssd"}}},
}


def verbs_of(found: tuple[Right, ...]) -> set[tuple[str, str, str, str | None, str]]:
    """Every verb of every named object; ``*`` where a rule names none."""
    return {
        (each.group, each.resource, verb, each.namespace, name)
        for each in found
        for verb in each.verbs
        for name in each.names or ("*",)
    }


def config_of(example: Any, over: dict[str, Any] | None = None) -> StackConfig:
    return load(merged(sections(example), over or {}))


@pytest.mark.parametrize("stack", STACKS)
def test_every_object_that_a_stack_makes_is_named_in_the_rights_of_apply(stack: str) -> None:
    people = {"people": {"alice": {"uid": 2001, "gid": 2001}}, "deployment": {"person": "alice"}}
    own: dict[str, Any] = {"clients": {"ci": {"namespace": "ci", **people}}}
    own["identity"] = {"passwd": {"users": {"carol": {"uid": 3001, "gid": 3001}}}}
    more = {"cluster": {"quota": {"pods": 99}}, "logins": FULL["logins"], **networks(stack), **own}
    recording = recorded(stack, **more)
    (example,) = [path for path in EXAMPLES if path.stem == f"Pulumi.{stack}"]
    config = config_of(example, more)
    named = {(each.resource, each.name) for each in objects(config)} | {("namespaces", config.operator.namespace)}
    seen = 0
    for resource in recording.resources:
        kind = resource.type.rsplit(":", 1)[-1]
        if resource.type.startswith("kubernetes:") and kind not in NAMED_APART:
            seen += 1
            assert (PLURALS[kind], resource.inputs["metadata"]["name"]) in named
    assert seen > 5
    granted = {(each.resource, name) for each in rights(config, Use.APPLY) if "patch" in each.verbs for name in each.names}
    assert {(each.resource, each.name) for each in objects(config)} <= granted


@every_example
@pytest.mark.parametrize("use", [Use.REVIEW, Use.PREFLIGHT])
def test_an_account_that_looks_may_write_nothing(example: Any, use: Use) -> None:
    for over in ({}, FULL):
        assert {verb for each in rights(config_of(example, over), use) for verb in each.verbs} <= READS


@every_example
def test_apply_may_all_that_review_may(example: Any) -> None:
    config = config_of(example)
    assert verbs_of(rights(config, Use.REVIEW)) <= verbs_of(rights(config, Use.APPLY))


@every_example
@every_use
def test_no_secret_of_the_cluster_is_read_that_is_not_named(example: Any, use: Use) -> None:
    config = config_of(example)
    rules = [each for each in rights(config, use) if each.resource == "secrets"]
    own = [each for each in rules if each.namespace == config.cluster.namespace]
    assert all(each.names for each in own if set(each.verbs) - {"list", "watch"})
    assert {each.namespace for each in rules} <= {config.cluster.namespace, config.operator.namespace}
    if use is Use.REVIEW:
        assert all("list" not in each.verbs and "watch" not in each.verbs for each in rules)


@every_example
def test_review_reads_the_key_that_signs_and_no_other(example: Any) -> None:
    for tokens, wanted in (("hs256", "auth-jwths256"), ("rs256", "token-key")):
        config = config_of(example, {"keys": {"tokens": tokens}})
        (rule,) = [each for each in rights(config, Use.REVIEW) if each.resource == "secrets"]
        (name,) = rule.names
        assert name.endswith(wanted)


def test_slurmrestd_is_named_with_its_port_and_with_its_scheme() -> None:
    plain = [each for each in rights(form("all-outside"), Use.APPLY) if each.resource == "services/proxy"]
    assert {each.names for each in plain} == {("slurm-restapi:6820",)}
    assert {verb for each in plain for verb in each.verbs} == {"get", "create", "delete"}
    tls = form("all-outside", restapi={"tls": {"source": "existing", "secret": "cert"}})
    (proxied,) = [each for each in rights(tls, Use.REVIEW) if each.resource == "services/proxy"]
    assert (proxied.names, proxied.verbs) == (("https:slurm-restapi-tls:6843",), ("get",))
    asked = form("all-outside", slurmrest={"url": "https://rest.example.org:6820"})
    assert [each for each in rights(asked, Use.APPLY) if each.resource == "services/proxy"] == []


@every_example
def test_a_review_reads_which_partitions_a_gate_of_slurm_conf_has_closed(example: Any) -> None:
    config = config_of(example)
    held = [each for each in rights(config, Use.REVIEW) if any(name.endswith("-gates") for name in each.names)]
    inside = config.keys.auth == "auth/slurm" and config.controller.external is None
    assert [each.verbs for each in held] == [("get",)] * inside


@pytest.mark.parametrize("jwks", [True, False])
def test_only_apply_with_slurm_jwks_may_run_a_command_in_pods(jwks: bool) -> None:
    config = form("all-outside", keys={"jwks": jwks})
    found = {use: [each for each in rights(config, use, "checks") if each.resource == "pods/exec"] for use in Use}
    assert found[Use.REVIEW] == found[Use.PREFLIGHT] == []
    assert [each.namespace for each in found[Use.APPLY]] == [config.cluster.namespace] * jwks


def test_preflight_makes_pods_only_where_it_was_told_to() -> None:
    config = form("all-outside")
    assert [each for each in rights(config, Use.PREFLIGHT) if "create" in each.verbs] == []
    made_there = [each for each in rights(config, Use.PREFLIGHT, "checks") if "create" in each.verbs]
    assert [(each.resource, each.namespace) for each in made_there] == [("pods", "checks")]
    assert any("mount every Secret" in note for note in notes(config, Use.PREFLIGHT, None))


def test_a_trial_asks_for_pods_where_it_is_on_and_a_review_for_none_beside_the_keys() -> None:
    def pods(use: Use, **trial: Any) -> set[str | None]:
        config = load(minimal(controller={"trial": trial}))
        return {each.namespace for each in rights(config, use) if each.resource == "pods" and "create" in each.verbs}

    for use in (Use.REVIEW, Use.APPLY):
        assert pods(use) == set()
        assert pods(use, enabled=True, namespace="trials") == {"trials"}
    assert pods(Use.APPLY, enabled=True) == {"slurm"}
    assert pods(Use.REVIEW, enabled=True) == set()
    said = " ".join(notes(load(minimal(controller={"trial": {"enabled": True}})), Use.REVIEW, None))
    assert "controller.trial.namespace" in said


def test_a_stack_that_installs_no_operator_may_write_no_role() -> None:
    own = form("all-outside", operator={"install": False})
    assert {each.group for each in rights(own, Use.APPLY) if set(each.verbs) & {"create", "patch"}} <= {
        "", names.GROUP, "discovery.k8s.io", "admissionregistration.k8s.io"
    }  # fmt: skip
    assert not any("cluster-admin" in note for note in notes(own, Use.APPLY, None))
    assert any("cluster-admin" in note for note in notes(form("all-outside"), Use.APPLY, None))


def test_a_fence_without_an_operator_of_the_stack_asks_for_its_crds_first() -> None:
    def told(**operator: Any) -> bool:
        return any("CRDs must be there" in note for note in notes(form("all-outside", operator=operator), Use.APPLY, None))

    assert (told(install=False), told(install=True)) == (True, False)


@every_example
@every_use
def test_manifests_are_roles_and_bindings_to_the_account_and_lose_no_rule(example: Any, use: Use) -> None:
    config = config_of(example, FULL)
    found = rights(config, use, "checks")
    documents = list(yaml.safe_load_all(as_yaml(manifests(config, use, found, ACCOUNT), notes(config, use, "checks"))))
    rules = {
        (group, resource, verb, document["metadata"].get("namespace"), name)
        for document in documents
        for rule in document.get("rules", [])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", ["*"])
    }
    assert rules == verbs_of(found)
    assert not any("*" in rule["verbs"] or "*" in rule["resources"] for each in documents for rule in each.get("rules", []))
    roles = {
        (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in documents if "rules" in each
    }
    bound = [each for each in documents if "subjects" in each]
    assert {(b["roleRef"]["kind"], b["metadata"].get("namespace"), b["roleRef"]["name"]) for b in bound} == roles
    assert all(b["subjects"] == [{"kind": "ServiceAccount", "name": "drainer", "namespace": "ci"}] for b in bound)


@every_use
def test_the_table_has_a_line_for_every_rule(use: Use) -> None:
    found = rights(form("all-outside"), use)
    table = as_table(found, ("a note " * 30,))
    assert max(map(len, table.splitlines())) <= 100
    for each in found:
        assert f"  {each.resource}" in table
        assert " ".join(each.why.split()) in " ".join(table.split())


@pytest.mark.parametrize("account", ["", "ci", "ci/", "/x", "ci/x; y", "ci/x\n- evil"])
def test_an_account_that_is_none_is_refused(account: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["rights", "--for", "apply", "--account", account])
    assert ended.value.code == 2
    assert "NAMESPACE/NAME" in capsys.readouterr().err


@pytest.mark.parametrize("use", [Use.REVIEW, Use.APPLY])
def test_kubernetes_nodes_are_listed_where_pods_on_the_host_network_take_their_names(use: Use) -> None:
    listing = ("nodes", ("list",))
    plain, hosted = form("all-outside"), form("all-outside", nodesets={"gpu": {"pod": {"hostNetwork": True}}})
    found = {
        each: listing in {(one.resource, one.verbs) for one in rights(config, use)}
        for each, config in (("plain", plain), ("hosted", hosted))
    }
    assert found == {"plain": False, "hosted": True}


@pytest.mark.parametrize(("version", "sorts"), [("1.0.6", ["validating"]), ("1.2.1", ["mutating", "validating"])])
def test_helm_may_make_every_webhook_that_the_operators_chart_has(version: str, sorts: list[str]) -> None:
    operator = {"version": version, "webhook": {"enabled": True, "certManager": False}}
    config = load(minimal(operator=operator))
    found = [each for each in rights(config, Use.APPLY) if each.group == "admissionregistration.k8s.io"]
    kinds = {each.resource for each in found if each.resource.endswith("webhookconfigurations") and "create" in each.verbs}
    assert sorted(kinds) == [f"{sort}webhookconfigurations" for sort in sorts]


@pytest.mark.parametrize(("version", "asks"), [("1.0.1", True), ("1.2.1", False)])
def test_other_clusters_controllers_are_listed_for_releases_that_confuse_equal_names(version: str, asks: bool) -> None:
    rules = rights(load(minimal(operator={"version": version})), Use.REVIEW)
    assert (("controllers", ("list",)) in {(each.resource, each.verbs) for each in rules}) == asks
