"""Autoscaling in whole programs: each has its own NodeSets, so none is switched on for all."""

from __future__ import annotations

_ADDS_NODES = {"replicas": 1, "owner": "autoscaler", "maxReplicas": 2, "autoscale": {}}
OF_A_LOOK = [({"nodesets": {"gpu": _ADDS_NODES}}, "autoscale-without-keda")]
