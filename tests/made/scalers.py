"""Autoscalers of NodeSets."""

from __future__ import annotations


def target(nodeset: str, version: str = "v1beta1") -> dict[str, str]:
    """``scaleTargetRef`` of what scales a NodeSet, by the NodeSet's name in Kubernetes."""
    return {"apiVersion": f"slinky.slurm.net/{version}", "kind": "NodeSet", "name": nodeset}
