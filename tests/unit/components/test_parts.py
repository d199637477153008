"""Each component alone: the resources it registers, with their inputs and their protection."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from components import Operator, OperatorArgs
from slinky_iac.keys.raw import GENERATED_LENGTH, fingerprint
from slinky_iac.keys.raw import several_keys as jwks
from slinky_iac.specs.daemons import accounting_spec, controller_spec, restapi_spec
from slinky_iac.specs.workers import loginset_spec, nodeset_spec
from tests.clusters import PASSWORD, RAW_KEYS, SECRETS, recorded
from tests.program import GENERATED, Recording, Registered, Secret, run
from tests.stacks import FORMS, form

CR = "kubernetes:slinky.slurm.net/v1beta1:"
LOGINS = {"main": {"sssdConfFrom": {"secret": "sssd"}}}


def key_secrets(recording: Recording) -> list[Registered]:
    return [r for r in recording.of("core/v1:Secret") if "-keys-" in r.name]


def inputs_by_name(found: list[Registered]) -> dict[str, dict[str, Any]]:
    return {each.name: each.inputs for each in found}


def keys_of(recording: Recording) -> dict[str, Any]:
    return recording.outputs[recording.one("slinky:slurm:AuthKeys").urn]


@pytest.mark.parametrize("stack", FORMS)
def test_specs_reach_kubernetes_unchanged(stack: str) -> None:
    recording, config = recorded(stack, logins=LOGINS), form(stack, logins=LOGINS)
    expected = {
        "slurm-slurm-controller": controller_spec(config),
        "slurm-slurm-accounting": accounting_spec(config),
        "slurm-slurm-restapi": restapi_spec(config),
        "slurm-slurm-login-main-loginset": loginset_spec(config, "main", config.logins["main"]),
    } | {
        f"slurm-slurm-worker-{name}-nodeset": nodeset_spec(config, name, nodeset)
        for name, nodeset in config.nodesets.items()
    }
    assert {r.name: r.inputs["spec"] for r in recording.resources if r.type.startswith(CR)} == expected


@pytest.mark.parametrize("stack", FORMS)
def test_every_custom_resource_says_whose_it_is(stack: str) -> None:
    for resource in recorded(stack, logins=LOGINS).resources:
        if resource.type.startswith(CR):
            meta = resource.inputs["metadata"]
            assert resource.inputs["apiVersion"] == "slinky.slurm.net/v1beta1"
            assert meta["namespace"] == "slurm"
            assert meta["labels"] == {
                "app.kubernetes.io/managed-by": "slinky-iac",
                "app.kubernetes.io/part-of": "slurm",
                "slinky.slurm.net/cluster": "slurm",
            }


def test_imported_keys_are_byte_for_byte_the_outside_ones() -> None:
    recording = recorded("controller-outside")
    data = {r.inputs["metadata"]["name"]: r.inputs["data"] for r in key_secrets(recording)}
    assert data == {
        "slurm-auth-slurm": Secret({"slurm.key": base64.b64encode(RAW_KEYS[0]).decode()}),
        "slurm-auth-jwths256": Secret({"jwt_hs256.key": base64.b64encode(RAW_KEYS[1]).decode()}),
    }
    assert recording.of("RandomPassword") == []
    assert keys_of(recording)["slurm_key_fingerprint"] == fingerprint(RAW_KEYS[0])
    assert keys_of(recording)["jwt_key_fingerprint"] == fingerprint(RAW_KEYS[1])


def test_generated_keys_are_random_passwords_never_random_bytes() -> None:
    """The ID of RandomBytes is the value, and an ID is in plain text in state and previews."""
    recording = recorded("all-in-kubernetes")
    made = [r for r in recording.resources if r.type.startswith("random:")]
    assert {r.type for r in made} == {"random:index/randomPassword:RandomPassword"}
    assert [r.inputs for r in made] == [{"length": GENERATED_LENGTH, "special": False}] * 2
    assert all(r.protect and "result" in r.secret_outputs for r in made)
    for secret in key_secrets(recording):
        (value,) = secret.inputs["data"].value.values()
        assert base64.b64decode(value).decode() == GENERATED
    assert keys_of(recording)["slurm_key_fingerprint"] == fingerprint(GENERATED.encode())


@pytest.mark.parametrize("stack", ["all-in-kubernetes", "all-outside"])
def test_key_secrets_are_immutable_protected_and_secret(stack: str) -> None:
    secrets = key_secrets(recorded(stack))
    assert len(secrets) == 2
    for secret in secrets:
        assert secret.inputs["immutable"] is True
        assert secret.protect
        assert {"data", "stringData"} <= secret.secret_outputs
        assert isinstance(secret.inputs["data"], Secret)
        assert "stringData" not in secret.inputs


def test_while_the_jwt_key_is_rotated_its_secret_holds_both() -> None:
    recording = recorded("controller-outside", coming=["jwtKeyNext"])
    secret = next(r for r in key_secrets(recording) if r.name.endswith("jwt-key-secret"))
    assert set(secret.inputs["data"].value) == {"jwt_hs256.key", "jwt_hs256.key.next"}
    assert secret.inputs["immutable"] is True


def test_before_a_planned_stop_an_update_has_nothing_to_do() -> None:
    """The Secrets are protected: a preview with the new key already in them would end with an error."""
    for stack, coming, more in (
        ("all-in-kubernetes", "jwtKeyNext", {"keys": {"source": "imported"}}),
        ("slurmdbd-outside", "jwtKeyNext", {}),
        ("slurmdbd-outside", "slurmKeyNext", {}),
        ("controller-outside", "slurmKeyNext", {}),
    ):
        before, then = recorded(stack, **more), recorded(stack, coming=[coming], **more)
        # By name: components register side by side, in any order.
        assert inputs_by_name(key_secrets(then)) == inputs_by_name(key_secrets(before)), (stack, coming)


def test_a_new_jwt_key_changes_the_controller_so_that_the_operator_looks_again() -> None:
    noted = recorded("controller-outside").one(f"{CR}Controller").inputs["metadata"]["annotations"]
    assert noted["slinky-iac/jwt-key"] == fingerprint(RAW_KEYS[1])


def test_the_secret_that_pods_follow_is_changed_in_place() -> None:
    """Replaced, it would be gone for a moment, and a pod that starts just then would hang."""
    recording = recorded("controller-outside", keys={"jwks": True})
    secret = next(r for r in key_secrets(recording) if r.name.endswith("slurm-jwks-secret"))
    assert secret.inputs["data"] == Secret({"slurm.jwks": base64.b64encode(jwks(RAW_KEYS[0])).decode()})
    assert "immutable" not in secret.inputs
    assert not secret.protect
    assert recording.one("pulumi:providers:kubernetes").inputs["enableSecretMutable"] == "true"
    assert "enableSecretMutable" not in recorded("controller-outside").one("pulumi:providers:kubernetes").inputs


def test_a_stack_may_give_up_the_protection_of_its_keys() -> None:
    recording = recorded("all-in-kubernetes", keys={"protect": False})
    assert not any(r.protect for r in (*key_secrets(recording), *recording.of("RandomPassword")))


def test_existing_secrets_are_referred_to_and_not_made() -> None:
    keys = {"source": "existing", "slurmKeyFrom": {"secret": "ours"}, "jwtKeyFrom": {"secret": "theirs", "key": "jwt.key"}}
    recording = recorded("controller-outside", keys=keys, cluster={"createNamespace": False})
    assert key_secrets(recording) == []
    spec = recording.one(f"{CR}Controller").inputs["spec"]
    assert spec["slurmKeyRef"] == {"name": "ours", "key": "slurm.key"}
    assert spec["jwtKeyRef"] == {"name": "theirs", "key": "jwt.key"}
    assert keys_of(recording)["slurm_key_fingerprint"].startswith("not known")
    assert keys_of(recording)["secret_names"] == ["ours", "theirs"]


def test_keys_of_an_external_store_stand_before_all_that_reads_them() -> None:
    keys = {
        "source": "external",
        "slurmKeyFrom": {"secret": "ours"},
        "jwtKeyFrom": {"secret": "theirs"},
        "madeBy": "Vault",
        "wait": "1m",
    }
    recording = recorded("controller-outside", keys=keys, cluster={"createNamespace": False})
    assert key_secrets(recording) == []
    jwt, slurm = sorted(recording.of("ExternalKey"), key=lambda each: each.name)
    assert (slurm.inputs["secret"], slurm.inputs["otherSecret"]) == ("ours", "theirs")
    assert (jwt.inputs["secret"], jwt.inputs["madeBy"], jwt.inputs["waitS"]) == ("theirs", "Vault", 60)
    for kind in ("Controller", "Accounting", "RestApi", "NodeSet"):
        for daemon in recording.of(f"{CR}{kind}"):
            assert {slurm.urn, jwt.urn} <= recording.before(daemon)
    assert not any(b64 in str(r.inputs) for r in recording.resources for b64 in (SECRETS["slurmKey"], SECRETS["jwtKey"]))


def test_the_database_password_is_a_secret_that_slurmdbd_reads() -> None:
    recording = recorded("all-in-kubernetes")
    secret = recording.one("core/v1:Secret", "atlas-accounting-database")
    assert secret.inputs["stringData"] == Secret({"password": PASSWORD})
    reference = recording.one(f"{CR}Accounting").inputs["spec"]["storageConfig"]["passwordKeyRef"]
    assert reference == {"name": secret.inputs["metadata"]["name"], "key": "password"}
    assert secret.urn in recording.one(f"{CR}Accounting").dependencies


def test_an_outside_slurmdbd_has_its_service_and_endpoint() -> None:
    recording = recorded("controller-outside", accounting={"external": {"host": "192.0.2.11", "port": 16819}})
    service, slice_ = recording.one("core/v1:Service"), recording.one("discovery.k8s.io/v1:EndpointSlice")
    assert service.inputs["metadata"]["name"] == "slurm-accounting"
    assert slice_.inputs["metadata"]["labels"]["kubernetes.io/service-name"] == "slurm-accounting"
    assert slice_.inputs["endpoints"] == [{"addresses": ["192.0.2.11"], "conditions": {"ready": True}}]
    assert slice_.inputs["ports"] == [{"name": "slurmdbd", "port": 16819, "protocol": "TCP"}]
    assert service.urn in slice_.dependencies


def test_with_everything_inside_no_service_leads_outside() -> None:
    recording = recorded("all-in-kubernetes")
    assert recording.of("core/v1:Service") == []
    assert recording.outputs[recording.one("slinky:slurm:ExternalEndpoints").urn] == {"service_names": []}


def test_the_operator_is_two_helm_releases_and_its_crds_are_protected() -> None:
    """Rendered on the client, the chart would sign a new webhook certificate in every preview."""
    recording = recorded("all-in-kubernetes")
    releases = {r.inputs["name"]: r for r in recording.of("helm.sh/v3:Release")}
    assert set(releases) == {"slurm-operator", "slurm-operator-crds"}
    assert releases["slurm-operator-crds"].protect
    assert not releases["slurm-operator"].protect
    charts = "oci://ghcr.io/slinkyproject/charts"
    assert {n: (r.inputs["chart"], r.inputs["version"]) for n, r in releases.items()} == {
        "slurm-operator": (f"{charts}/slurm-operator", "1.2.1"),
        "slurm-operator-crds": (f"{charts}/slurm-operator-crds", "1.2.1"),
    }
    assert releases["slurm-operator"].inputs["values"]["webhook"] == {"enabled": True}


def test_another_stacks_operator_is_left_alone() -> None:
    recording = recorded("all-outside", operator={"install": False})
    assert recording.of("helm.sh/v3:Release") == []
    assert recording.of("slinky:slurm:Operator") == []
    assert [r.inputs["metadata"]["name"] for r in recording.of("core/v1:Namespace")] == ["slurm"]


@pytest.mark.parametrize(
    ("operator", "made"),
    [
        ({"version": "1.0.1"}, 1),
        ({"version": "1.1.0"}, 1),
        ({"version": "1.1.1"}, 0),
        ({"version": "1.0.1", "serviceMonitorStub": False}, 0),
        ({"version": "1.2.1", "serviceMonitorStub": True}, 1),
    ],
)
def test_the_service_monitor_stub_is_made_where_the_release_needs_it(operator: dict[str, Any], made: int) -> None:
    config = form("all-outside", operator=operator)
    recording = run(lambda: Operator("atlas-operator", OperatorArgs(config=config)))
    stubs = recording.of("apiextensions.k8s.io/v1:CustomResourceDefinition")
    assert len(stubs) == made
    release = recording.one("helm.sh/v3:Release", "atlas-operator-slurm-operator")
    assert {stub.urn for stub in stubs} <= release.dependencies


def test_namespaces_that_others_made_are_not_made() -> None:
    recording = recorded("all-outside", cluster={"createNamespace": False}, operator={"createNamespace": False})
    assert recording.of("core/v1:Namespace") == []


def test_pulumi_writes_the_number_of_no_nodeset_again() -> None:
    recording = recorded("all-outside")
    by_name = {r.inputs["metadata"]["name"]: r.ignore_changes for r in recording.of(f"{CR}NodeSet")}
    assert by_name == {"slurm-worker-cpu": ("spec.replicas",), "slurm-worker-gpu": ("spec.replicas",)}


def test_scripts_and_files_become_config_maps_before_the_controller() -> None:
    recording = recorded(
        "all-in-kubernetes",
        controller={"configFiles": {"cgroup.conf": "IgnoreSystemd=yes"}, "prolog": {"p.sh": "#!/bin/sh\n"}},
    )
    maps = {r.inputs["metadata"]["name"]: r for r in recording.of("core/v1:ConfigMap")}
    assert {name: r.inputs["data"] for name, r in maps.items()} == {
        "slurm-config-files": {"cgroup.conf": "IgnoreSystemd=yes", "gres.conf": "AutoDetect=nvidia\n"},
        "slurm-prolog": {"p.sh": "#!/bin/sh\n"},
    }
    assert {r.urn for r in maps.values()} <= recording.one(f"{CR}Controller").dependencies


def test_the_kubernetes_cluster_is_the_configurations_not_the_shells() -> None:
    recording = recorded("all-outside", kubernetes={"kubeconfig": "cluster.kubeconfig", "context": "prod"})
    provider = recording.one("pulumi:providers:kubernetes")
    assert (provider.inputs["kubeconfig"], provider.inputs["context"]) == ("cluster.kubeconfig", "prod")


def test_the_shells_kubeconfig_is_not_written_into_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/home/ann/.kube/config")
    provider = recorded("all-outside").one("pulumi:providers:kubernetes")
    assert "kubeconfig" not in provider.inputs
