"""Pods of NodeSets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from slinky_iac import names
from slinky_iac.kube.objects import REVISION_LABEL, Pod
from tests.made.kubernetes import meta, moment
from tests.made.wire import read


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
    mode: str = "",
    affinity: Mapping[str, Any] | None = None,
    host_name: str | None = None,
) -> Pod:
    """A pod of a NodeSet, from what it is to look like. ``host_name``: the operator's label with it, where another."""
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
            labels={
                **({names.LABEL_SCALING_MODE: mode} if mode else {}),
                **({} if mode == "DaemonSet" else {names.LABEL_POD_INDEX: str(ordinal)}),
                **(
                    {names.LABEL_POD_HOSTNAME: slurm_node if host_name is None else host_name} if mode == "DaemonSet" else {}
                ),
                **({REVISION_LABEL: revision} if revision else {}),
            },
            annotations={key: text for key, text in written.items() if text is not None},
        ),
        "spec": {
            "nodeName": machine if scheduled else "",
            "hostname": slurm_node,
            "hostNetwork": host_network,
            "affinity": affinity,
        },
        "status": {"phase": phase, "conditions": conditions},
    }
    return read(Pod, body)


def worker_pod(node: str, **more: Any) -> Pod:
    """A NodeSet's pod, by its Slurm node: ``gpu-1`` is pod 1 of NodeSet gpu."""
    last = node.rpartition("-")[2]
    return pod(f"slurm-worker-{node}", ordinal=int(last) if last.isdecimal() else 0, slurm_node=node, **more)


def short_pod(name: str = "p", **status: Any) -> dict[str, Any]:
    """A pod that preflight has made, as the API server sends it."""
    return {"metadata": {"name": name}, "spec": {"nodeName": "node-1"}, "status": status}
