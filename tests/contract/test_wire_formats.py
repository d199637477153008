"""What users' state files hold, pinned: a change of any of it needs an alias, or a reader for the old."""

from __future__ import annotations

import base64
import json
import pickle
import pickletools
from typing import Any

import pytest

from components.hybrid_cluster import EXPORTS
from tests.clusters import all_traces, recorded
from tests.program import Registered, Secret

REACH = {"namespace", "restapiService", "jwtSecret", "jwtEntry", "tokens", "kubeconfig", "context", "url", "caFile"}
REACH |= {"clientCertFile", "clientKeyFile", "restapiScheme", "slurmUser", "allowPlainHttp"}
GATE = REACH | {
    "schema",
    "stack",
    "nodeset",
    "resource",
    "controller",
    "cluster",
    "replicas",
    "owner",
    "maxReplicas",
    "operatorVersion",
    "updates",
    "maxUnavailable",
    "template",
    "policy",
    "urn",
}
PROVIDERS = {
    "pulumi-python:dynamic/slurm:NodeSetScale": ("slinky_iac.drain.gates", "NodeSetScaleProvider", GATE),
    "pulumi-python:dynamic/slurm:OutsideHosts": (
        "slinky_iac.drain.gates",
        "OutsideHostsProvider",
        REACH | {"schema", "stack", "cluster", "controller", "hosts", "inside", "policy", "urn"},
    ),
    "pulumi-python:dynamic/slurm:ControllerGate": (
        "slinky_iac.drain.conf_gates",
        "ControllerGateProvider",
        REACH
        | {"schema", "stack", "cluster", "controller", "partitions", "hosts", "nodesets", "extraConf", "outside", "policy"}
        | {"keepsQueue", "volume", "forgets", "urn"},
    ),
    "pulumi-python:dynamic/slurm:QueueGate": (
        "slinky_iac.drain.conf_gates",
        "QueueGateProvider",
        REACH | {"schema", "stack", "cluster", "controller", "keepsQueue", "volume", "policy", "urn"},
    ),
    "pulumi-python:dynamic/slurm:SessionsGate": (
        "slinky_iac.drain.gates",
        "SessionsProvider",
        REACH
        | {"schema", "stack", "cluster", "host", "podNamespace", "podSelector", "kind", "resource", "interrupts", "policy"}
        | {"urn"},
    ),
    "pulumi-python:dynamic/slurm:Removals": (
        "slinky_iac.drain.gates",
        "RemovalsProvider",
        REACH | {"schema", "stack", "cluster", "operatorVersion", "policy", "stands", "urn"},  # pending is its own
    ),
    "pulumi-python:dynamic/slurm:ClusterIdentity": (
        "slinky_iac.identity",
        "IdentityProvider",
        {"clusterName", "namespace", "resourceName", "slurmKeySecret", "jwtKeySecret", "persistence", "slurmctld"}
        | {
            "createNamespace",
            "keepNamespace",
            "operatorNamespace",
            "operatorCrds",
            "keySecrets",
            "kubernetes",
            "kubernetesPinned",
            "stack",
        }
        | {"kubeconfig", "context"},
    ),
    "pulumi-python:dynamic/slurm:ExternalKey": (
        "slinky_iac.external_keys",
        "ExternalKeyProvider",
        {"key", "namespace", "secret", "entry", "otherSecret", "otherEntry", "madeBy", "waitS", "newline", "accepted"}
        | {"kubeconfig", "context", "urn"},  # salt, mark and since are its own
    ),
    "pulumi-python:dynamic/slurm:JobLife": ("slinky_iac.parts.jobs.gates", "JobLifeProvider", {"job"}),
    "pulumi-python:dynamic/slurm:SlurmJob": (
        "slinky_iac.parts.jobs.gates",
        "SlurmJobProvider",
        REACH
        | {"schema", "stack", "job", "user", "script", "partition", "ownPartition", "account", "qos", "nodes", "timeLimitS"}
        | {
            "environment",
            "workingDirectory",
            "output",
            "waitFor",
            "runs",
            "onDestroy",
            "timeoutS",
            "accounting",
            "awaitRow",
            "urn",
        }
        | {"nonce"},  # run, digest, last and result are its own
    ),
    "pulumi-python:dynamic/slurm:NodeLabels": (
        "slinky_iac.parts.node_table.gates",
        "NodeTableProvider",
        REACH | {"schema", "stack", "rows", "urn"},  # nodes is its own
    ),
}
STORE: dict[str, Any] = {
    "keys": {"source": "external", "slurmKeyFrom": {"secret": "a"}, "jwtKeyFrom": {"secret": "b"}},
    "cluster": {"createNamespace": False},
}
"""Settings with which keys are somebody else's."""
JOBS: dict[str, Any] = {"jobs": {"hello": {"user": "alice", "command": ["hostname"], "workingDirectory": "/tmp"}}}
"""Settings with which the stack runs a job."""
TABLE: dict[str, Any] = {"nodes": {"table": [{"names": ["worker-1"], "features": ["ib"]}]}}
"""Settings with which the stack has labels on Kubernetes nodes."""
LOGINS: dict[str, Any] = {"logins": {"main": {"sssdConfFrom": {"secret": "sssd"}}}}
"""Settings with which the stack has login pods."""
OUTPUTS = [
    "slurmrestdUrl",
    "slurmrestdCa",
    "slurmdJoin",
    "sackdJoin",
    "slurmKeyFingerprint",
    "jwtKeyFingerprint",
    "outsideSlurmConf",
    "nodesets",
    "scaleInPlans",
    "findings",
    "mungeKeyFingerprint",
    "mungeClientPod",
    "clientPods",
    "tokenKeySet",
    "keysSince",
]
every_provider = pytest.mark.parametrize("kind", PROVIDERS)


INSIDE = {"slurm:QueueGate"}
"""Where slurmctld is in Kubernetes, and nowhere else."""


def dynamic(kind: str) -> list[Registered]:
    inside = kind.removeprefix("pulumi-python:dynamic/") in INSIDE
    own = {"ExternalKey": STORE, "SlurmJob": JOBS, "JobLife": JOBS, "NodeLabels": TABLE, "SessionsGate": LOGINS}
    over = own.get(kind.rpartition(":")[2], {})
    found = recorded("all-in-kubernetes" if inside else "dev", **over).of(kind)
    assert found
    return found


def pickled(resource: Registered) -> bytes:
    provider = resource.inputs["__provider"]
    assert isinstance(provider, Secret), "the engine would store it in the clear"
    return base64.b64decode(provider.value)


def test_every_dynamic_resource_is_known() -> None:
    stacks = ("dev", "all-in-kubernetes")
    seen = [{r.type for r in recorded(name).resources if r.type.startswith("pulumi-python:")} for name in stacks]
    store = {r.type for r in recorded("dev", **STORE).resources if r.type.startswith("pulumi-python:")}
    jobs = {r.type for r in recorded("dev", **JOBS).resources if r.type.startswith("pulumi-python:")}
    logins = {r.type for r in recorded("dev", **LOGINS).resources if r.type.startswith("pulumi-python:")}
    table = {r.type for r in recorded("dev", **TABLE).resources if r.type.startswith("pulumi-python:")}
    assert seen[0] | seen[1] | store | jobs | table | logins == set(PROVIDERS)
    assert logins - seen[0] == {"pulumi-python:dynamic/slurm:SessionsGate"}
    assert table - seen[0] == {"pulumi-python:dynamic/slurm:NodeLabels"}
    assert jobs - seen[0] == {f"pulumi-python:dynamic/slurm:{kind}" for kind in ("SlurmJob", "JobLife")}
    assert store - seen[0] == {"pulumi-python:dynamic/slurm:ExternalKey"}
    assert seen[1] - seen[0] == {f"pulumi-python:dynamic/{kind}" for kind in INSIDE}


@every_provider
def test_a_provider_is_stored_by_name_so_that_todays_code_destroys_an_old_state(kind: str) -> None:
    module, name, _ = PROVIDERS[kind]
    for resource in dynamic(kind):
        raw = pickled(resource)
        texts = [argument for _, argument, _ in pickletools.genops(raw) if isinstance(argument, str)]
        assert texts == [module, name]
        assert len(raw) < 100, "code or state of the instance is in it"
        assert type(pickle.loads(raw)).__name__ == name


@every_provider
def test_the_props_of_each_provider_are_pinned(kind: str) -> None:
    _, _, props = PROVIDERS[kind]
    for resource in dynamic(kind):
        assert (
            set(resource.inputs)
            - {"__provider", "plan", "pending", "result"}
            - ({"nonce"} if kind.endswith("JobLife") else set())
            == props
        )


@every_provider
def test_props_are_flat_json_with_a_number_and_no_secret(kind: str) -> None:
    for resource in dynamic(kind):
        plain: dict[str, Any] = {k: v for k, v in resource.inputs.items() if k != "__provider"}
        text = json.dumps(plain)
        assert [trace for trace in all_traces() if trace in text] == []
        assert plain.get("schema", 1) == 1


def test_names_of_stack_outputs_are_pinned() -> None:
    """Other stacks, scripts and people read them by name."""
    assert list(EXPORTS) == OUTPUTS


def test_a_gates_urn_is_the_one_that_the_engine_gives_it() -> None:
    """Progress is shown on the resource's own line, which the engine finds by URN."""
    for kind in (
        "slurm:NodeSetScale",
        "slurm:OutsideHosts",
        "slurm:ControllerGate",
        "slurm:SlurmJob",
        "slurm:NodeLabels",
        *sorted(INSIDE),
    ):
        for resource in dynamic(kind):
            assert resource.inputs["urn"] == resource.urn
