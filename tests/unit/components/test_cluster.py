"""The composed cluster: what is made before what, what outlives what on destroy, and what the next person reads."""

from __future__ import annotations

import itertools

import pytest

from slinky_iac.keys.raw import fingerprint
from slinky_iac.specs.shared import namespace_labels
from tests.clusters import RAW_KEYS, STACKS, recorded
from tests.program import Recording, Registered
from tests.stacks import form, networks

CR = "kubernetes:slinky.slurm.net/v1beta1:"
every_stack = pytest.mark.parametrize("stack", STACKS)
LOGINS = {"main": {"sssdConfFrom": {"secret": "sssd"}}}


def whole(stack: str) -> Recording:
    """The stack with login pods, NetworkPolicies and, as without a setting, the fence."""
    return recorded(stack, logins=LOGINS, **networks(stack))


def without(stack: str) -> Recording:
    """The stack without these."""
    return recorded(stack, cluster={"fence": False})


def outputs(recording: Recording, kind: str = "slinky:slurm:HybridCluster") -> dict[str, object]:
    return recording.outputs[recording.one(kind).urn]


def missing_before(recording: Recording, later: list[Registered], earlier: list[Registered]) -> list[tuple[str, str]]:
    """Pairs where ``earlier`` isn't made before, and so isn't removed after, ``later``."""
    assert later
    assert earlier
    return [(r.name, e.name) for r in later for e in earlier if e.urn not in recording.before(r)]


@every_stack
def test_slurmrestd_is_there_before_every_nodeset_and_outlives_it(stack: str) -> None:
    """Without it the operator takes every node for drained and deletes busy pods."""
    recording = whole(stack)
    assert missing_before(recording, recording.of(f"{CR}NodeSet"), recording.of(f"{CR}RestApi")) == []


@every_stack
def test_all_that_a_drain_needs_outlives_the_gate(stack: str) -> None:
    recording = whole(stack)
    needed = [*recording.of(f"{CR}RestApi"), *recording.of(f"{CR}Controller"), *recording.of(f"{CR}NodeSet")]
    needed += [*recording.of("core/v1:Secret"), *recording.of("helm.sh/v3:Release")]
    for gate in recording.of("slurm:NodeSetScale"):
        own = recording.one(f"{CR}NodeSet", f"slurm-slurm-worker-{gate.inputs['nodeset']}-nodeset")
        others = [r for r in needed if not r.type.endswith("NodeSet")]
        assert missing_before(recording, [gate], [own, *others]) == []
        assert gate.replace_with == {own.urn}


@every_stack
def test_nothing_lowers_a_nodeset_around_its_gate(stack: str) -> None:
    recording = whole(stack)
    for resource in recording.of(f"{CR}NodeSet"):
        (gate,) = [
            g for g in recording.of("slurm:NodeSetScale") if g.inputs["resource"] == resource.inputs["metadata"]["name"]
        ]
        assert resource.urn in gate.dependencies
        assert resource.inputs["spec"]["replicas"] == 0
        assert resource.ignore_changes == ("spec.replicas",)


PEOPLE = {"people": {"alice": {"uid": 2001, "gid": 2001}}}
CLIENTS = {
    "ci": {"namespace": "ci", **PEOPLE, "deployment": {"person": "alice"}},
    "lab": {
        "namespace": "lab",
        **PEOPLE,
        "jupyterhub": {
            "chart": {"version": "4.2.0"},
            "image": "notebook:1",
            "values": {"hub": {"config": {"JupyterHub": {"authenticator_class": "ldap"}}}},
        },
    },
}


@every_stack
def test_each_pod_of_srun_and_salloc_has_a_gate_that_slurmrestd_outlives(stack: str) -> None:
    """With `--continue-on-error` a destroy goes on where a gate of workers refuses: these refuse for themselves."""
    recording = recorded(stack, logins=LOGINS, clients=CLIENTS)
    gates = {gate.inputs["host"]: gate for gate in recording.of("slurm:SessionsGate")}
    assert set(gates) == {"logins.main", "clients.ci", "clients.lab.jupyterhub"}
    (hub,) = [r for r in recording.of("helm.sh/v3:Release") if r.inputs["name"].endswith("-hub")]
    hosts = {
        "logins.main": recording.one(f"{CR}LoginSet"),
        "clients.ci": recording.one("apps/v1:Deployment"),
        "clients.lab.jupyterhub": hub,
    }
    for name, gate in gates.items():
        assert gate.replace_with == {hosts[name].urn}
        assert missing_before(recording, [gate], [hosts[name], *recording.of(f"{CR}RestApi")]) == []
    for name in ("logins.main", "clients.ci"):
        assert hosts[name].hooks == {f"slinky-sessions-{name}"}
    assert {name: gate.inputs["resource"] for name, gate in gates.items()} == {
        "logins.main": hosts["logins.main"].inputs["metadata"]["name"],
        "clients.ci": hosts["clients.ci"].inputs["metadata"]["name"],
        "clients.lab.jupyterhub": "",
    }
    labels = hosts["clients.ci"].inputs["spec"]["template"]["metadata"]["labels"]
    assert sorted(gates["clients.ci"].inputs["podSelector"].split(",")) == sorted(f"{k}={v}" for k, v in labels.items())


def test_another_sssd_conf_asks_first_who_works_in_the_login_pods_that_read_it() -> None:
    """slurm-operator replaces them by its digest, whatever else changes."""
    logins = {"main": {}, "own": {"sssdConfFrom": {"secret": "sssd"}}, "free": {"interruptSessions": True}}
    recording = recorded("dev", coming=("sssdConf",), identity={"sssd": {}}, logins=logins)
    (secret,) = [r for r in recording.of("core/v1:Secret") if r.name.endswith("-sssd")]
    assert secret.hooks == {"slinky-sessions-logins.main-sssd"}


@every_stack
def test_the_operator_stands_first_and_goes_last(stack: str) -> None:
    recording = whole(stack)
    theirs = [r for r in recording.resources if r.type.startswith(CR)]
    assert missing_before(recording, theirs, recording.of("helm.sh/v3:Release")) == []
    crds = recording.one("helm.sh/v3:Release", f"{cluster_name(recording)}-operator-slurm-operator-crds")
    operator = recording.one("helm.sh/v3:Release", f"{cluster_name(recording)}-operator-slurm-operator")
    assert missing_before(recording, [operator], [crds]) == []


@every_stack
def test_the_fence_stands_before_what_it_guards_and_goes_after_it(stack: str) -> None:
    recording = whole(stack)
    guarded = [r for kind in ("NodeSet", "Controller", "RestApi", "Accounting") for r in recording.of(CR + kind)]
    policies = recording.of(":ValidatingAdmissionPolicy")
    bindings = recording.of(":ValidatingAdmissionPolicyBinding")
    assert missing_before(recording, guarded, [*policies, *bindings]) == []
    named = {policy.inputs["metadata"]["name"]: policy for policy in policies}
    for binding in bindings:
        assert missing_before(recording, [binding], [named[binding.inputs["spec"]["policyName"]]]) == []
    assert missing_before(recording, policies, recording.of("helm.sh/v3:Release")) == []


@every_stack
def test_the_fence_is_left_out_where_it_is_off(stack: str) -> None:
    assert [r.name for r in without(stack).resources if "ValidatingAdmission" in r.type] == []


@every_stack
def test_network_policies_stand_before_the_pods_that_they_guard(stack: str) -> None:
    recording = whole(stack)
    guarded = [r for kind in ("NodeSet", "LoginSet", "RestApi") for r in recording.of(CR + kind)]
    policies = recording.of("networking.k8s.io/v1:NetworkPolicy")
    assert missing_before(recording, guarded, policies) == []
    assert {"slurm", "slinky"} == {r.inputs["metadata"]["namespace"] for r in policies}
    assert missing_before(recording, policies, recording.of("helm.sh/v3:Release")) == []
    assert [r.name for r in without(stack).resources if r.type.endswith(":NetworkPolicy")] == []


@pytest.mark.parametrize("level", ["privileged", None])
def test_the_level_that_is_enforced_is_the_one_that_was_set(level: str | None) -> None:
    config = form("all-in-kubernetes", cluster={"podSecurity": level})
    assert namespace_labels(config).get("pod-security.kubernetes.io/enforce") == level


def test_a_quota_is_made_in_the_namespace_before_its_pods() -> None:
    recording = recorded("all-in-kubernetes", cluster={"quota": {"pods": 40, "requests.storage": "1Ti"}})
    (quota,) = recording.of("core/v1:ResourceQuota")
    meta = quota.inputs["metadata"]
    assert (meta["namespace"], meta["name"]) == ("slurm", "slurm-quota")
    assert quota.inputs["spec"] == {"hard": {"pods": "40", "requests.storage": "1Ti"}}
    for kind in ("Controller", "Accounting", "RestApi", "NodeSet"):
        for made in recording.of(f"slinky.slurm.net/v1beta1:{kind}"):
            assert quota.urn in recording.before(made)
    assert recorded("all-in-kubernetes").of("core/v1:ResourceQuota") == []


@every_stack
def test_keys_and_outside_services_are_there_before_the_daemons_that_use_them(stack: str) -> None:
    recording = whole(stack)
    daemons = [r for r in recording.resources if r.type.startswith(CR)]
    first = [*recording.of("core/v1:Secret"), *recording.of("core/v1:Service"), *recording.of("v1:EndpointSlice")]
    first = [r for r in first if not r.name.endswith("-database")]
    assert missing_before(recording, daemons, first) == []


@every_stack
def test_daemons_follow_slurms_own_order(stack: str) -> None:
    recording = whole(stack)
    kinds = ("Accounting", "Controller", "RestApi")
    for earlier, later in itertools.pairwise(kinds):
        assert missing_before(recording, recording.of(CR + later), recording.of(CR + earlier)) == []
    workers = [*recording.of(f"{CR}NodeSet"), *recording.of(f"{CR}LoginSet")]
    assert missing_before(recording, workers, recording.of(f"{CR}Controller")) == []


@every_stack
def test_the_namespace_outlives_everything_in_it(stack: str) -> None:
    recording = whole(stack)
    (namespace,) = [r for r in recording.of("core/v1:Namespace") if r.inputs["metadata"]["name"] == "slurm"]
    inside = [r for r in recording.resources if r.inputs.get("metadata", {}).get("namespace") == "slurm"]
    assert missing_before(recording, inside, [namespace]) == []


@every_stack
def test_a_change_of_what_cannot_change_is_refused_before_anything_else(stack: str) -> None:
    recording = whole(stack)
    everything = [r for r in recording.resources if r.type.startswith("kubernetes:")]
    assert missing_before(recording, everything, recording.of("slurm:ClusterIdentity")) == []


def cluster_name(recording: Recording) -> str:
    return recording.one("slinky:slurm:HybridCluster").name


def test_the_next_person_is_told_all_they_need() -> None:
    told = outputs(recorded("all-outside"))
    assert told["slurmrestd_url"] == "http://slurm-restapi.slurm:6820"
    assert told["slurmd_join"] == "/usr/sbin/slurmd --conf-server slurmctld.example.org:6817"
    assert told["sackd_join"] == "/usr/sbin/sackd --conf-server slurmctld.example.org:6817"
    assert (told["slurm_key_fingerprint"], told["jwt_key_fingerprint"]) == tuple(fingerprint(raw) for raw in RAW_KEYS)
    assert told["nodesets"] == {"gpu": 4, "cpu": 8}
    assert "NodeSet=gpu Feature=gpu\n" in str(told["outside_slurm_conf"])
    assert any("external.slurmdHosts" in text for text in told["findings"])  # type: ignore[attr-defined]


def test_an_ipv6_address_is_joined_in_brackets_and_not_taken_for_a_port() -> None:
    recording = recorded("controller-outside", controller={"external": {"host": "2001:db8::1"}})
    assert outputs(recording)["slurmd_join"] == "/usr/sbin/slurmd --conf-server [2001:db8::1]:6817"


def test_a_slurmctld_on_another_port_is_joined_there_and_reached_through_the_shim() -> None:
    recording = recorded("controller-outside", controller={"external": {"host": "192.0.2.1", "port": 7000}})
    assert outputs(recording)["slurmd_join"] == "/usr/sbin/slurmd --conf-server 192.0.2.1:7000"
    spec = recording.one(f"{CR}Controller").inputs["spec"]
    assert spec["externalConfig"] == {"host": "slurm-slurmctld-shim.slurm", "port": 6817}
    assert outputs(recording, "slinky:slurm:ExternalEndpoints")["service_names"] == [
        "slurm-accounting",
        "slurm-slurmctld-shim",
    ]


def test_logical_names_of_the_labs_stack_are_pinned() -> None:
    """They are part of URNs in state files: a change would replace what runs, workers with their jobs included."""
    names = sorted((r.type.rsplit(":", 1)[-1], r.name) for r in recorded("dev").resources)
    assert names == [
        ("Accounting", "lab-accounting"),
        ("Accounting", "slurm-slurm-accounting"),
        ("AuthKeys", "lab-keys"),
        ("Blueprint", "lab-blueprint"),
        ("ClusterIdentity", "cluster-identity"),
        ("Controller", "lab-controller"),
        ("Controller", "slurm-slurm-controller"),
        ("ControllerGate", "lab-slurmctld"),
        ("CustomResourceDefinition", "lab-operator-service-monitor-stub"),
        ("ExternalEndpoints", "lab-endpoints"),
        ("Fence", "lab-fence"),
        ("HybridCluster", "lab"),
        ("Namespace", "lab-namespace"),
        ("Namespace", "lab-operator-namespace"),
        ("NodeSet", "lab-cpu"),
        ("NodeSet", "lab-gpu"),
        ("NodeSet", "slurm-slurm-worker-cpu-nodeset"),
        ("NodeSet", "slurm-slurm-worker-gpu-nodeset"),
        ("NodeSetScale", "lab-cpu-scale"),
        ("NodeSetScale", "lab-gpu-scale"),
        ("Operator", "lab-operator"),
        ("OutsideHosts", "lab-outside-hosts"),
        ("Release", "lab-operator-slurm-operator"),
        ("Release", "lab-operator-slurm-operator-crds"),
        ("Removals", "lab-removals"),
        ("RestApi", "lab-restapi"),
        ("RestApi", "slurm-slurm-restapi"),
        ("Secret", "lab-keys-jwt-key-secret"),
        ("Secret", "lab-keys-slurm-key-secret"),
        ("Service", "lab-endpoints-slurm-accounting"),
        ("ValidatingAdmissionPolicy", "lab-fence-controller"),
        ("ValidatingAdmissionPolicy", "lab-fence-crds"),
        ("ValidatingAdmissionPolicy", "lab-fence-namespace"),
        ("ValidatingAdmissionPolicy", "lab-fence-needed"),
        ("ValidatingAdmissionPolicy", "lab-fence-nodesets"),
        ("ValidatingAdmissionPolicy", "lab-fence-pods"),
        ("ValidatingAdmissionPolicy", "lab-fence-workers"),
        ("ValidatingAdmissionPolicyBinding", "lab-fence-controller-binding"),
        ("ValidatingAdmissionPolicyBinding", "lab-fence-crds-binding"),
        ("ValidatingAdmissionPolicyBinding", "lab-fence-namespace-binding"),
        ("ValidatingAdmissionPolicyBinding", "lab-fence-needed-binding"),
        ("ValidatingAdmissionPolicyBinding", "lab-fence-nodesets-binding"),
        ("ValidatingAdmissionPolicyBinding", "lab-fence-pods-binding"),
        ("ValidatingAdmissionPolicyBinding", "lab-fence-workers-binding"),
        ("kubernetes", "lab-kubernetes"),
    ]
