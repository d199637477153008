"""Previews made for tests, in both forms of the engine (their shape: tests/integration/test_change_order.py)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from slinky_iac.text import stamp

NOW = 1_795_240_000
"""2026-11-21 05:46:40 UTC."""
MINUTE, HOUR = 60, 3600
COMPONENT = "slinky:slurm:HybridCluster$slinky:slurm:NodeSet"
Json = dict[str, Any]


def urn(kind: str, name: str, parents: str = COMPONENT) -> str:
    """URN of a resource in a NodeSet component."""
    return f"urn:pulumi:prod::slinky-iac::{parents}${kind}::{name}"


def job(label: str, user: str, start: int, end: int | None, *, partition: str = "gpu", state: str = "RUNNING") -> Json:
    """One job of a plan; times in seconds from NOW."""
    ends = "unknown" if end is None else stamp(NOW + end)
    began = stamp(NOW + start)
    return {
        "job": label,
        "user": user,
        "partition": partition,
        "state": state,
        "nodes": 1,
        "started": began,
        "ends_by": ends,
    }


def node(name: str, jobs: Sequence[Json] = (), *, kind: str = "busy") -> Json:
    """One node of a plan, free when its last job ends."""
    ends = [each["ends_by"] for each in jobs]
    free = "now" if not jobs else "unknown" if "unknown" in ends else max(ends)
    return {
        "node": name,
        "pod": f"slurm-worker-{name}",
        "kind": kind if jobs else "idle",
        "free_at": free,
        "jobs": [each["job"] for each in jobs],
        "jobs_total": len(jobs),
    }


def plan(nodes: Mapping[str, Sequence[Json]], *, before: int, after: int, nodeset: str = "gpu", **more: Any) -> Json:
    """A plan as :mod:`slinky_iac.drain.written_plan` has it."""
    jobs = {each["job"]: each for on in nodes.values() for each in on}
    ends = [each["ends_by"] for each in jobs.values()]
    free = "now" if not jobs else "unknown" if "unknown" in ends else max(ends)
    return {
        "schema": 1,
        "nodeset": nodeset,
        "from": before,
        "to": after,
        "known": True,
        "nodes": [node(name, on) for name, on in nodes.items()],
        "jobs": list(jobs.values()),
        "jobs_total": len(jobs),
        "free_at": free,
        "blocks": [],
        "warnings": [],
        **more,
    }


def gate_inputs(
    replicas: int, planned: Json | None, *, nodeset: str = "gpu", deadline: int = HOUR, act: str = "keep"
) -> Json:
    """Inputs of a NodeSetScale."""
    return {
        "schema": 1,
        "stack": "prod",
        "nodeset": nodeset,
        "resource": f"slurm-worker-{nodeset}",
        "replicas": replicas,
        "maxReplicas": replicas,
        "owner": "stack",
        "policy": {"deadline_s": deadline, "on_deadline": act},
        "plan": planned if planned is not None else {},
        "__provider": "[secret]",
    }


def step(op: str, kind: str, name: str, old: Json | None = None, new: Json | None = None, **flags: Any) -> Json:
    """One step of the document form."""
    where = urn(kind, name)
    found: Json = {"op": op, "urn": where, "detailedDiff": None}
    if old is not None:
        found["oldState"] = {"urn": where, "type": kind, "custom": True, "inputs": old, **flags}
    if new is not None:
        found["newState"] = {"urn": where, "type": kind, "custom": True, "inputs": new, **flags}
    return found


def scale_in(
    planned: Json | None, *, before: int, after: int, op: str = "update", old: Json | None = None, **more: Any
) -> Json:
    """A NodeSetScale's step."""
    name = more.get("nodeset", "gpu")
    return step(
        op,
        "pulumi-python:dynamic/slurm:NodeSetScale",
        f"prod-{name}-scale",
        gate_inputs(before, old, **more),
        gate_inputs(after, planned, **more),
    )


def teardown(op: str = "delete", *, replicas: int = 2, nodeset: str = "gpu", **more: Any) -> Json:
    """The step of a NodeSetScale that goes with its NodeSet."""
    props = gate_inputs(replicas, None, nodeset=nodeset, **more)
    return step(op, "pulumi-python:dynamic/slurm:NodeSetScale", f"prod-{nodeset}-scale", props)


def custom(op: str, kind: str, name: str, old: Json | None = None, new: Json | None = None, **flags: Any) -> Json:
    """A step of one of the operator's custom resources."""
    return step(op, f"kubernetes:slinky.slurm.net/v1beta1:{kind}", name, old, new, **flags)


def digest(*steps: Json, diagnostics: Sequence[Json] = (), **more: Any) -> str:
    """The document form."""
    found = {
        "config": {},
        "steps": list(steps),
        "diagnostics": list(diagnostics),
        "duration": 1,
        "changeSummary": {},
        **more,
    }
    return json.dumps(found)


def events(*steps: Json, said: Sequence[Json] = (), result: str = "succeeded", summary: bool = True) -> str:
    """The event form: steps, then other events, then the summary."""
    rows: list[Json] = [{"preludeEvent": {"config": {}}}]
    for each in steps:
        metadata = {
            "op": each["op"],
            "urn": each["urn"],
            "old": each.get("oldState"),
            "new": each.get("newState"),
            "detailedDiff": None,
        }
        rows.append({"resourcePreEvent": {"metadata": metadata, "planning": True}})
    rows += said
    if summary:
        rows.append({"summaryEvent": {"resourceChanges": {}, "isPreview": True, "result": result}})
    return "\n".join(json.dumps({"sequence": at, "timestamp": NOW, **row}) for at, row in enumerate(rows))


def policy(name: str, level: str, message: str, resource: str = "slurm-worker-gpu-nodeset") -> Json:
    """A policy's objection as an event."""
    return {
        "policyEvent": {
            "resourceUrn": urn("kubernetes:slinky.slurm.net/v1beta1:NodeSet", resource),
            "message": message,
            "color": "never",
            "policyName": name,
            "policyPackName": "slinky-iac",
            "policyPackVersion": "0.1.0",
            "enforcementLevel": level,
        }
    }


def worked_example() -> str:
    """The preview of docs/change-order.md: a scale-in of five nodes, one bare-metal host held, a login set removed."""
    gpu = {
        "gpu-2": [job("48213", "alice", -5 * HOUR, 74 * MINUTE), job("48377", "bob", -20 * MINUTE, 31 * MINUTE)],
        "gpu-3": [job("48102_7", "chandra", -26 * HOUR, 3 * HOUR)],
        "gpu-4": [],
        "gpu-5": [job("48391", "bob", -8 * MINUTE, 22 * MINUTE), job("48213", "alice", -5 * HOUR, 74 * MINUTE)],
        "gpu-6": [job("48400", "dmitri", -3 * MINUTE, 57 * MINUTE)],
    }
    planned = plan(
        gpu, before=12, after=7, warnings=["a rolling update of slurm-worker-gpu is on, and its end is waited for first"]
    )
    metal = [job("48055", "eve", -50 * MINUTE, 95 * MINUTE, partition="metal")]
    hosts = {
        "schema": 1,
        "stack": "prod",
        "hosts": {"metal-1": "active", "metal-2": "active"},
        "policy": {"deadline_s": 2 * HOUR},
    }
    held = {**hosts, "hosts": {"metal-1": "drained", "metal-2": "active"}}
    held |= {"plan": {"drains": ["metal-1"], "returns": [], "jobs": metal, "refused": [], "notices": []}}
    old = {"spec": {"replicas": 12, "slurmd": {"image": "slurmd:26.05.1"}}}
    new = {"spec": {"replicas": 7, "slurmd": {"image": "slurmd:26.05.2"}}}
    passed = {"policyPackName": "slinky-iac", "passed": [f"rule-{at}" for at in range(38)]}
    return events(
        scale_in(planned, before=12, after=7, deadline=2 * HOUR),
        step("update", "pulumi-python:dynamic/slurm:OutsideHosts", "prod-hosts", hosts, held),
        custom("update", "NodeSet", "slurm-worker-gpu-nodeset", old, new),
        custom("delete", "LoginSet", "slurm-login-old", {"spec": {"replicas": 1}}),
        step("create", "kubernetes:core/v1:Service", "prod-rest", None, {"spec": {}}),
        *(step("same", "kubernetes:core/v1:Secret", f"prod-{at}", {}, {}) for at in range(17)),
        said=[
            policy("images-pinned", "advisory", "slurmd:26.05.2 has no digest, so what runs tomorrow may differ from today"),
            {"policyAnalyzeStackSummaryEvent": passed},
        ],
    )
