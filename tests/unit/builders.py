"""Slurm's and Kubernetes' objects as the tests want them, built through the wire format: what can't come from slurmrestd or
the API server can't be built."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from slinky_iac import names
from slinky_iac.kube.kubeconfig import KubeAccess, KubeUser
from slinky_iac.kube.objects import REVISION_LABEL, NodeSet, Pod
from slinky_iac.kube.resources import Secret
from slinky_iac.slurmrest.controller import Diag, Pings, Reservation
from slinky_iac.slurmrest.daemons import Accounted, Cluster
from slinky_iac.slurmrest.objects import Job, Node
from tests.unit.slurmrest import fake
from tests.unit.slurmrest.fake import META, number

Read = TypeVar("Read")


def read(kind: type[Read], body: object) -> Read:
    """``body`` as it would be read from JSON."""
    return msgspec.convert(body, kind)


def numbers(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    """``fields``, those of ``names`` as slurmrestd writes numbers; None is one that isn't set."""
    return {name: number(value) if name in names else value for name, value in fields.items()}


def node(name: str, state: str = "IDLE", **fields: Any) -> Node:
    """``state`` as sinfo has it, with ``+``."""
    return read(Node, fake.node(name, *state.split("+"), **numbers(fields, "reason_changed_at", "resume_after")))


def job(job_id: int, nodes: str = "", state: str = "RUNNING", **fields: Any) -> Job:
    """``nodes`` as a hostlist; an ``end_time`` alone comes with a time limit."""
    given = numbers(
        fields, "start_time", "end_time", "array_job_id", "array_task_id", "het_job_id", "het_job_offset", "node_count"
    )
    return read(Job, fake.job(job_id, *state.split("+"), nodes=nodes, **given))


def reservation(name: str, node_list: str, start_time: int | None, end_time: int | None) -> Reservation:
    """A reservation; None is a moment that isn't set."""
    times = {"start_time": number(start_time), "end_time": number(end_time)}
    return read(Reservation, {"name": name, "node_list": node_list, **times})


def run(job_id: int, *states: str, **fields: Any) -> Accounted:
    """A run of a job as slurmdbd has it."""
    return read(Accounted, fake.run(job_id, *states, **fields))


def pings(*controllers: dict[str, Any], release: str = "26.05.5", cluster: str = "lab") -> Pings:
    """slurmrestd's word about each slurmctld; one that answers unless said."""
    up = {"hostname": "ctl", "responding": True, "primary": True, "mode": "primary"}
    rows = [up | each for each in controllers or ({},)]
    return read(Pings, {"pings": rows, "errors": [], "meta": {"slurm": {"release": release, "cluster": cluster}}})


def diag(jobs_running: int = 0) -> Diag:
    """slurmctld's numbers."""
    return read(Diag, {"statistics": {"jobs_running": jobs_running}, "errors": [], "meta": META})


def cluster(name: str, host: str = "", port: int = 0, rpc_version: int = 0) -> Cluster:
    """A cluster of slurmdbd's."""
    return read(Cluster, {"name": name, "controller": {"host": host, "port": port}, "nodes": "", "rpc_version": rpc_version})


def kube_access(**user: Any) -> KubeAccess:
    """An API server and who one is there, by the fields of :class:`KubeUser`."""
    return KubeAccess(
        server="https://api:6443",
        ca=None,
        insecure=True,
        tls_server_name=None,
        proxy_url=None,
        namespace="slurm",
        user=KubeUser(**user),
        origin="the test",
    )


def moment(seconds: int | None) -> str | None:
    """Seconds since 1970 as Kubernetes writes them."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def meta(name: str, *, created: int = 0, deleting: bool = False, **more: Any) -> dict[str, Any]:
    """metadata of an object that is written to."""
    gone = {"deletionTimestamp": moment(created)} if deleting else {}
    return {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "creationTimestamp": moment(created), **gone, **more}


def pod(
    name: str,
    *,
    ordinal: int = 0,
    slurm_node: str = "",
    scheduled: bool = True,
    phase: str = "Running",
    ready: bool = True,
    terminating: bool = False,
    deletion_cost: int | None = None,
    cost_text: str | None = None,
    deadline: int | None = None,
    cordon: bool = False,
    gate: str = "",
    ready_changed: int | None = None,
    created: int = 0,
    slurm_states: Collection[str] = (),
    slurm_reason: str = "",
    trouble: str = "",
    revision: str = "",
    annotations: Mapping[str, str] | None = None,
    machine: str = "k-1",
    host_network: bool = False,
) -> Pod:
    """A pod of a NodeSet, from what it is to look like."""
    cost = cost_text if cost_text is not None or deletion_cost is None else str(deletion_cost)
    written = {
        names.ANNOTATION_DELETION_COST: cost,
        names.ANNOTATION_POD_DEADLINE: moment(deadline),
        names.ANNOTATION_POD_CORDON: "true" if cordon else None,
        names.ANNOTATION_GATE: gate or None,
        **(annotations or {}),
    }
    conditions: list[dict[str, Any]] = [
        {"type": f"{names.CONDITION_PREFIX}{each.title().replace('_', '')}", "status": "True"} for each in slurm_states
    ]
    for each in conditions:
        if each["type"].endswith("Drain"):
            each["message"] = slurm_reason
    since = {} if ready_changed is None else {"lastTransitionTime": moment(ready_changed)}
    conditions.append({"type": "Ready", "status": str(ready), **since})
    if trouble:
        conditions.append({"type": "PodScheduled", "status": "False", "message": trouble})
    body = {
        "metadata": meta(
            name,
            created=created,
            deleting=terminating,
            labels={names.LABEL_POD_INDEX: str(ordinal), **({REVISION_LABEL: revision} if revision else {})},
            annotations={key: text for key, text in written.items() if text is not None},
        ),
        "spec": {"nodeName": machine if scheduled else "", "hostname": slurm_node, "hostNetwork": host_network},
        "status": {"phase": phase, "conditions": conditions},
    }
    return msgspec.convert(body, Pod)


def secret(data: Mapping[str, bytes], created: int, written: int | None = None) -> Secret:
    """A Secret, all of whose entries were last written at the same moment."""
    owned: dict[str, Any] = {"time": moment(written), "fieldsV1": {"f:data": {f"f:{entry}": {} for entry in data}}}
    meta = {"creationTimestamp": moment(created), "managedFields": [] if written is None else [owned]}
    return msgspec.convert({"metadata": meta, "data": dict(data)}, Secret)


def nodeset(
    name: str,
    replicas: int,
    *,
    generation: int = 1,
    observed_generation: int = 1,
    updated: int | None = None,
    on_delete: bool = False,
    deleting: bool = False,
    frozen: str | None = None,
    permitted: bool = False,
    revision: str = "",
    template: str = "",
    annotations: Mapping[str, str] | None = None,
    partition: bool = False,
    template_spec: Mapping[str, Any] | None = None,
    mode: str = "StatefulSet",
) -> NodeSet:
    """A NodeSet, settled unless said."""
    written = {
        names.ANNOTATION_FREEZE: frozen,
        names.ANNOTATION_PERMIT: names.permit_to_delete(generation) if permitted else None,
        names.ANNOTATION_TEMPLATE: template or None,
        **(annotations or {}),
    }
    body = {
        "metadata": meta(
            name,
            deleting=deleting,
            generation=generation,
            annotations={key: text for key, text in written.items() if text is not None},
        ),
        "spec": {
            "replicas": replicas,
            "updateStrategy": {"type": "OnDelete" if on_delete else "RollingUpdate"},
            "partition": {"enabled": partition},
            "template": {"spec": dict(template_spec or {})},
            "scalingMode": mode,
        },
        "status": {
            "replicas": replicas,
            "updatedReplicas": replicas if updated is None else updated,
            "observedGeneration": observed_generation,
            "nodeSetHash": revision,
        },
    }
    return msgspec.convert(body, NodeSet)
