"""A cluster with something of everything: two NodeSets, metal, a stranger's node, drains of four owners."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from slinky_iac import names
from slinky_iac.blueprint.document import document
from slinky_iac.cluster.pulumi_state import State
from slinky_iac.cluster.snapshot import Workers
from slinky_iac.commands.status import facts as state_facts
from slinky_iac.commands.status.facts import Facts
from slinky_iac.commands.status.model import Answer, Configured, Seen, SeenKey
from slinky_iac.config.reading.load import load
from slinky_iac.kube.objects import Pod
from slinky_iac.parts.tokens.public import public_set as jwks
from slinky_iac.slurmrest.lists import JobsAnswer, NodesAnswer
from slinky_iac.slurmrest.objects import Job, Node
from tests.made.jobs import job as made_job
from tests.made.nodes import node as made_node
from tests.made.nodesets import nodeset as made_nodeset
from tests.made.pods import worker_pod
from tests.made.slurm import cluster, diag, pings
from tests.rsa_keys import token_key

NOW = 1_800_000_000
HOUR = 3600
REACH = {
    "namespace": "slurm", "restapiService": "slurm-restapi", "jwtSecret": "slurm-auth-jwths256",
    "jwtEntry": "jwt_hs256.key", "kubeconfig": "", "context": "prod-eu", "url": "", "caFile": "",
}  # fmt: skip
POLICY = {
    "bound_s": 1920, "deadline_s": 1800, "grace_s": 60, "hold_factor": 2, "limits": {}, "min_hold_s": 3600,
    "on_deadline": "keep", "poll_s": 2, "register_deadline_s": 300, "signal": "SIGTERM",
}  # fmt: skip
OUTSIDE = {"controller": "ctl", "accounting": "dbd"}
PRINTS = ("SHA256:" + "s" * 43, "SHA256:" + "j" * 43)


def facts(stack: str, resources: list[dict[str, Any]]) -> Facts:
    return state_facts.facts(stack, State.read(resources))


def gate(nodeset: str, replicas: int, **more: Any) -> dict[str, Any]:
    return {
        "schema": 1, "stack": "prod", "nodeset": nodeset, "resource": f"slurm-worker-{nodeset}", "controller": "slurm",
        "replicas": replicas, "owner": "stack", "maxReplicas": replicas, "operatorVersion": "1.2.1", "policy": POLICY,
        "urn": "", **REACH, **more,
    }  # fmt: skip


def custom(kind: str) -> dict[str, Any]:
    meta = {"name": "slurm", "namespace": "slurm"}
    kind = f"kubernetes:{names.API_VERSION}:{kind}"
    logical = f"slurm-slurm-{kind.rpartition(':')[2].lower()}"
    return {"type": kind, "urn": urn(f"{kind}::{logical}"), "inputs": {"metadata": meta}}


def urn(tail: str) -> str:
    return f"urn:pulumi:prod::slinky-iac::slinky:slurm:HybridCluster${tail}"


def of_keys(kind: str, logical: str, name: str, **more: Any) -> dict[str, Any]:
    """An object of the component that holds the keys, as the state has it; ``more``: its other inputs."""
    return {
        "type": f"kubernetes:core/v1:{kind}",
        "urn": urn(f"slinky:slurm:AuthKeys$kubernetes:core/v1:{kind}::slurm-keys-{logical}"),
        "inputs": {"metadata": {"name": name, "namespace": "slurm"}, **more},
        "created": "2027-01-05T08:00:00.123456789Z",
        "modified": "2027-01-14T08:00:00Z",
        "protect": kind == "Secret",
    }


def blueprint(name: str = "slurm", **parts: Any) -> dict[str, Any]:
    """What the stack is, as its state has it; ``parts``: of the document, in place of the example's."""
    outside = {daemon: {"external": {"host": f"{host}.example.org"}} for daemon, host in OUTSIDE.items()}
    config = load(
        {"cluster": {"name": "atlas"}, "operator": {"version": "1.2.1"}, "keys": {"source": "imported"}, **outside}
    )
    found = {**document(config, name), "reach": REACH, "guards": {}, **parts}
    token = "slinky:slurm:Blueprint"
    where = urn(f"{token}::{name}-blueprint")
    return {"type": token, "urn": where, "protect": False, "outputs": {"document": found}}


def token_parts(*kids: str) -> dict[str, Any]:
    """The parts of the document that a stack with a token key has otherwise."""
    public = jwks(each for each in map(token_key, ("old", "new", "third")) if each.kid in kids).decode()
    own = {
        "name": "token key",
        "secret": "slurm-token-key",
        "entry": "token.pem",
        "holders": [],
        "beside": "slurm-token-jwks",
    }
    keys = blueprint()["outputs"]["document"]["keys"]
    return {"keys": [*keys, own], "tokenSet": {"name": "slurm-token-jwks", "text": public}}


def token_objects() -> list[dict[str, Any]]:
    """What such a stack has besides."""
    return [of_keys("Secret", "token-key-secret", "slurm-token-key"), of_keys("ConfigMap", "token-jwks", "slurm-token-jwks")]


def resources(**parts: Any) -> list[dict[str, Any]]:
    """What `pulumi stack export` lists; ``parts``: of the blueprint."""
    release = {"name": "slurm-operator", "namespace": "slinky", "version": "1.2.1"}
    return [
        {
            "type": "pulumi:pulumi:Stack",
            "urn": "urn:pulumi:prod::slinky-iac::pulumi:pulumi:Stack::slinky-iac-prod",
            "outputs": {},
        },
        blueprint(**parts),
        {
            "type": "slinky:slurm:AuthKeys",
            "urn": urn("slinky:slurm:AuthKeys::slurm-keys"),
            "outputs": {"slurm_key_fingerprint": PRINTS[0], "jwt_key_fingerprint": PRINTS[1]},
        },
        {"type": "pulumi-python:dynamic/slurm:NodeSetScale", "outputs": gate("gpu", 3)},
        {"type": "pulumi-python:dynamic/slurm:NodeSetScale", "outputs": gate("cpu", 2, owner="autoscaler", maxReplicas=64)},
        {
            "type": "pulumi-python:dynamic/slurm:OutsideHosts",
            "outputs": {
                "schema": 1, "stack": "prod", "policy": POLICY, **REACH,
                "controller": "slurm",
                "hosts": {"metal-1": "active", "metal-2": "drained"},
            },
        },
        {"type": "kubernetes:helm.sh/v3:Release", "inputs": release},
        custom("Controller"),
        custom("Accounting"),
        custom("RestApi"),
        of_keys("Secret", "slurm-key-secret", "slurm-auth-slurm"),
        of_keys("Secret", "jwt-key-secret", "slurm-auth-jwths256"),
    ]  # fmt: skip


def fenced() -> list[dict[str, Any]]:
    """The same of a stack with a fence."""
    kind, name = "ValidatingAdmissionPolicy", "slinky-iac-nodesets.slurm.slurm"
    policy = {"kind": kind, "name": name, "spec": {"failurePolicy": "Fail"}}
    binding = {"kind": f"{kind}Binding", "name": name, "spec": {"policyName": name, "validationActions": ["Deny"]}}
    return resources(guards={"fence": [policy, binding]})


def configured(*marks: str, **keys: Any) -> Configured:
    """The configuration of that stack as status reads it; ``keys``: its section of that name."""
    sections = {
        "cluster": {"name": "atlas"},
        "keys": {"source": "imported", **keys},
        "controller": {"external": {"host": "ctl.example.org"}},
        "accounting": {"external": {"host": "dbd.example.org"}},
        "external": {"slurmrestd": {"url": "https://rest.example.org:6820"}},
    }
    return Configured(frozenset(marks), load(sections))


def known_facts() -> Facts:
    return facts("", resources())


def node(name: str, state: str = "IDLE", reason: str = "", user: str = "", **more: Any) -> Node:
    """``state`` as sinfo has it, with ``+``."""
    plain: dict[str, Any] = {"features": [], "active_features": [], "partitions": []}
    return made_node(name, state, reason=reason, user=user, **plain | more)


def worker(name: str, state: str = "IDLE", reason: str = "", user: str = "", **more: Any) -> Node:
    """A pod's node: dynamic, with its NodeSet as a feature."""
    return node(name, f"{state}+DYNAMIC_NORM", reason, user, **{"features": [name.rpartition("-")[0]], **more})


def pod(nodeset: str, index: int, **more: Any) -> Pod:
    at = {"created": NOW - HOUR, "ready_changed": NOW - HOUR}
    return worker_pod(f"{nodeset}-{index}", **at | more)


def nodeset(name: str, replicas: int, *pods: Pod) -> Answer[Workers]:
    return Answer(Workers(made_nodeset(f"slurm-worker-{name}", replicas, updated=len(pods)), pods), 5)


def job(number: int, *nodes: str, user: str = "alice", **more: Any) -> Job:
    return made_job(number, ",".join(nodes), user_name=user, limit=120, **more)


OURS = names.drain_reason("prod", "gpu", "scale-in 3->2")


def nodes() -> tuple[Node, ...]:
    return (
        worker("gpu-0", "MIXED"),
        worker("gpu-1", "ALLOCATED"),
        worker("gpu-2", "MIXED+DRAIN", OURS, "slurm", resume_after=NOW + 2 * HOUR),
        worker("cpu-0"),
        worker("cpu-1", "IDLE+DRAIN", "slurm-operator: pod cpu-1 is cordoned", "slurm"),
        worker("cpu-7", "DOWN+NOT_RESPONDING"),
        node("metal-1", "IDLE+DRAIN", "bad DIMM", "carol"),
        node("metal-2", "IDLE+DRAIN", names.drain_reason("prod", "outside-hosts", "maintenance"), "slurm"),
        node("old-1", "ALLOCATED", version="25.11.2"),
        node("old-2", "IDLE+DRAIN", names.drain_reason("beta", "gpu", "x"), "slurm"),
    )


def answers(**more: Any) -> Seen:
    """One look at that cluster, all answered."""
    start = "2027-01-15T07:00:00.000Z"
    history = [
        {"kind": "refresh", "result": "succeeded", "startTime": start},
        {
            "kind": "update", "result": "succeeded", "startTime": "2027-01-15T06:00:00.000Z", "message": "more GPUs\nlong",
            "endTime": "2027-01-15T06:03:20.000Z", "resourceChanges": {"update": 2, "same": 30},
            "environment": {"git.head": "0123456789ab", "git.author": "Carol", "git.dirty": "true", "ci.system": "GitHub"},
            "config": {"slinky-iac:slurmKey": {"value": "v1:cipher", "secret": True}},
        },
    ]  # fmt: skip
    base = Seen(
        now=NOW,
        kube=Answer("v1.35.2", 42),
        slurmrestd=Answer(pings(cluster="atlas"), 31),
        token=Answer(diag(2), 18),
        served=Answer(("v0.0.45", "v0.0.44"), 60),
        slurmdbd=Answer((cluster("atlas", "192.0.2.1", 6817, 11520),), 22),
        nodes=Answer(NodesAnswer(nodes(), NOW, 0.0, 0.0), 12),
        jobs=Answer(JobsAnswer((job(71, "gpu-2", "gpu-0"), job(72, "gpu-1", user="bob")), NOW, 0.0, 0.0), 12),
        workers={
            "gpu": nodeset("gpu", 3, *(pod("gpu", index) for index in range(3))),
            "cpu": nodeset("cpu", 2, pod("cpu", 0), pod("cpu", 1), pod("cpu", 2, ready=False, trouble="ImagePullBackOff")),
        },
        operator=Answer(("ghcr.io/slinkyproject/slurm-operator:1.2.1",), 9),
        keys={
            "slurm.key": Answer(SeenKey(PRINTS[0], NOW - 10 * 24 * HOUR), 8),
            "JWT key": Answer(SeenKey(PRINTS[1], NOW - 10 * 24 * HOUR), 8),
        },
        configured=Answer(configured(), 300),
        users_slurmrestd=Answer("takes connections from here", 3),
        history=Answer(history, 200),
    )
    return replace(base, **more)
