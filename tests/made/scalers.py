"""Autoscalers of NodeSets."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.made.kubernetes import meta as made_meta


def listed(path: str, model: Any, *names: str, nodeset: str = "hpc-worker-gpu") -> Any:
    """What a list at this path holds of the autoscalers with these names, ``kind/name``."""
    kinds = [(name.partition("/")[2], f"/{name.partition('/')[0].lower()}s") for name in names]
    rows = [
        {"metadata": made_meta(name), "spec": {"scaleTargetRef": target(nodeset)}}
        for name, end in kinds
        if path.endswith(end)
    ]
    return msgspec.convert({"items": rows}, model).items


def target(nodeset: str, version: str = "v1beta1") -> dict[str, str]:
    """``scaleTargetRef`` of what scales a NodeSet, by the NodeSet's name in Kubernetes."""
    return {"apiVersion": f"slinky.slurm.net/{version}", "kind": "NodeSet", "name": nodeset}
