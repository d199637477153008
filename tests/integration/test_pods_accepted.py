"""Preflight's question for the stack's pods, to a real API server: its own words against each kind of wrong stack, and
`slinky check` refuses offline what the server refuses of whole pods as slurm-operator merges them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.cluster_access import kube_connection
from slinky_iac.commands.check import judge
from slinky_iac.config.findings import Level
from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.kube.pods import ShortPodClient
from slinky_iac.kube.wire import Retry, Timeouts
from slinky_iac.preflight import notices
from slinky_iac.preflight.ask_verdicts import ask_verdicts
from slinky_iac.preflight.check import Verdict
from slinky_iac.preflight.compare import checks
from slinky_iac.preflight.facts import Facts, KubeFacts
from tests.integration.kube_api import KubeApi
from tests.integration.test_kubernetes_rules import make_namespace
from tests.stacks import ROOT, Data, merged, read_yaml, yaml_of

NAMESPACE = "accepted"
VERSIONS = ("1.0.5", "1.1.2", "1.2.1")
BASE: Data = {
    "cluster": {"name": "atlas", "namespace": NAMESPACE, "createNamespace": False},
    "accounting": {"database": {"host": "db.example.org", "name": "slurm_acct_db", "username": "slurm"}},
    "nodesets": {"cpu": {"replicas": 2, "resources": {"cpus": 4, "memory": "8Gi"}}},
    "logins": {"main": {"sssdConfFrom": {"secret": "sssd"}}},
}
EVERY: dict[str, Data] = read_yaml((ROOT / "tests" / "cases" / "kubernetes" / "stacks.yaml").read_text())
EARLIER = {"sshd in worker pods", "options of DNS", "a hook of two kinds with the operator's"}
"""Not with slurm-operator 1.0, whatever Kubernetes says (:mod:`slinky_iac.config.operator.raw_merge`)."""


OURS = {"a variable twice"}
"""Refused by rules that are not Kubernetes'."""


def sections(over: Data, version: str = "1.2.1") -> Data:
    return merged(merged(BASE, {"operator": {"version": version}}), over)


@pytest.fixture(scope="module")
def client(kube: KubeApi) -> Iterator[ShortPodClient]:
    """Preflight's own client; the namespace has what a controller would make."""
    make_namespace(kube, NAMESPACE)
    with kube_connection(load(BASE), {"KUBECONFIG": str(kube.kubeconfig)}, Path("/nowhere")) as way:
        yield way.client(ShortPodClient, budget_s=20, timeouts=Timeouts(connect_s=3), retry=Retry(tries=1))


def said(client: ShortPodClient, config: StackConfig) -> list[tuple[Verdict, str, str]]:
    """Verdict, subject and text of the check, as preflight prints it."""
    facts = Facts(kube=KubeFacts(server="https://kube:6443", namespace=True, pods=ask_verdicts(client, config)))
    return [(each.verdict, each.subject, each.got) for each in checks(config, facts) if each.name == "pods-accepted"]


def errors(data: Data) -> list[str]:
    text = yaml_of({"config": {f"slinky-iac:{name}": section for name, section in data.items()}})
    return [str(each.finding) for each in judge(text)[1] if each.finding.level is Level.ERROR]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("version", VERSIONS)
def test_check_refuses_the_stacks_whose_pods_the_api_server_refuses(client: ShortPodClient, version: str, name: str) -> None:
    if name in EARLIER and version.startswith("1.0"):
        return
    data = sections(EVERY[name], version)
    theirs = [each for each in said(client, load(data)) if each[0] is not Verdict.FINE]
    own = errors(data)
    if name in OURS:
        assert not theirs
        assert own
        return
    assert bool(theirs) == bool(own), f"the server says {theirs}, and check {own}"
    assert all(verdict is Verdict.PROBLEM for verdict, *_ in theirs)


def test_no_pod_is_made_and_each_daemons_is_asked_for(client: ShortPodClient, kube: KubeApi) -> None:
    found = said(client, load(sections({})))
    assert {subject for _, subject, _ in found} == {
        f"pods of {path}" for path in ("controller", "accounting", "restapi", "nodesets.cpu", "logins.main")
    }
    assert {verdict for verdict, *_ in found} == {Verdict.FINE}
    assert json.loads(kube.kubectl("get", "pods", "-n", NAMESPACE, "-o", "json"))["items"] == []


def of_namespace(name: str) -> StackConfig:
    return load(sections({"cluster": {"namespace": name}}))


def test_pod_security_speaks_its_own_words(client: ShortPodClient, kube: KubeApi) -> None:
    make_namespace(kube, "strict", **{"pod-security.kubernetes.io/enforce": "baseline"})
    (refused,) = [each for each in said(client, of_namespace("strict")) if each[0] is not Verdict.FINE]
    assert refused[:2] == (Verdict.PROBLEM, "pods of nodesets.cpu")
    assert 'violates PodSecurity "baseline:latest"' in refused[2]
    assert "privileged" in refused[2]


def full(kube: KubeApi, namespace: str) -> None:
    """A namespace whose quota is used up."""
    make_namespace(kube, namespace)
    quota: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": namespace},
    }
    kube.kubectl("create", "-f", "-", stdin=json.dumps({**quota, "spec": {"hard": {"pods": "0"}}}))
    counted = json.dumps({"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}})  # as the quota controller does
    kube.kubectl("patch", "quota", "few", "-n", namespace, "--subresource=status", "--type=merge", "-p", counted)


def test_a_quota_that_is_used_up_is_a_warning(client: ShortPodClient, kube: KubeApi) -> None:
    full(kube, "full")
    found = said(client, of_namespace("full"))
    assert {verdict for verdict, *_ in found} == {Verdict.WARNING}
    assert "exceeded quota: few" in found[0][2]


def noticed(kube: KubeApi, config: StackConfig) -> list[str]:
    """What a preview says of the stack's pods."""
    found = notices(config, {"KUBECONFIG": str(kube.kubeconfig)}, Path("/nowhere"), longest_s=20)
    return [str(each) for each in found if each.id == "preflight.pods-accepted"]


def test_a_preview_says_what_the_api_server_would_refuse(kube: KubeApi) -> None:
    make_namespace(kube, "strict-in-preview", **{"pod-security.kubernetes.io/enforce": "baseline"})
    (told,) = noticed(kube, of_namespace("strict-in-preview"))
    assert told.startswith("preflight.pods-accepted: pods of nodesets.cpu: the API server refuses them: ")
    assert 'violates PodSecurity "baseline:latest"' in told


def test_a_preview_says_nothing_of_a_quota_that_the_running_pods_use_up(kube: KubeApi) -> None:
    full(kube, "full-in-preview")
    assert noticed(kube, of_namespace("full-in-preview")) == []


def test_an_admission_policy_speaks_its_own_words(client: ShortPodClient, kube: KubeApi) -> None:
    make_namespace(kube, "guarded", guarded="yes")
    name = {"name": "registries.example.org"}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    spec = {
        "matchConstraints": {
            "resourceRules": [rule],
            "namespaceSelector": {"matchLabels": {"guarded": "yes"}},
        },
        "validations": [{"expression": "false", "message": "images come from registry.example.org only"}],
    }
    for kind, body in (
        ("ValidatingAdmissionPolicy", spec),
        ("ValidatingAdmissionPolicyBinding", {"policyName": name["name"], "validationActions": ["Deny"]}),
    ):
        made = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": name, "spec": body}
        kube.kubectl("create", "-f", "-", stdin=json.dumps(made))
    found = said(client, of_namespace("guarded"))
    until = time.monotonic() + 30  # the API server takes up a policy within seconds
    while {verdict for verdict, *_ in found} != {Verdict.PROBLEM} and time.monotonic() < until:
        time.sleep(0.2)
        found = said(client, of_namespace("guarded"))
    assert {verdict for verdict, *_ in found} == {Verdict.PROBLEM}
    assert "images come from registry.example.org only" in found[0][2]


def test_before_the_namespace_is_there_another_is_asked(client: ShortPodClient, kube: KubeApi) -> None:
    made = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}}
    kube.kubectl("apply", "-f", "-", stdin=json.dumps(made))
    found = said(client, of_namespace("not-there"))
    assert {verdict for verdict, *_ in found} == {Verdict.FINE}
    assert "asked in namespace default, not in not-there" in found[0][2]
