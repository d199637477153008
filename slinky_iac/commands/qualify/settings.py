"""The stack of a rung: a cluster of its own, slurmctld inside, of the images and the operator of a site's stack. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from slinky_iac.kube.fake_nodes import ANNOTATION
from slinky_iac.parts import registry

STACK: Final = "qualify"
NAMESPACE: Final = "slinky-qualify"
CLUSTER: Final = "qualify"
NODESET: Final = "fake"
PARTITION: Final = "main"
LABEL: Final = "slinky-iac/qualify"
"""Of every Kubernetes node that a ladder makes."""
RUN: Final = "ladder"
"""Its value."""
SELECTOR: Final = f"{LABEL}={RUN}"
BY: Final = "slinky-iac/qualify-by"
"""Annotation of each of them: which ladder made it."""
SPARE: Final = 64
"""MaxNodeCount beyond the rung."""
DEADLINE: Final = "4h"
"""What a rung can't do is said after half an hour without a change; a rollout of 1,152 pods, 16 at a time, takes as long."""
REGISTER: Final = "15m"
_KEPT: Final = ("images", "slurmVersion", *registry.unguarded({}).get("cluster", {}))
"""What a site's ``cluster`` keeps: all of it that a guard goes by, too."""
_OUTSIDE: Final = "external"
_BROUGHT: Final = {"install": True, "installCrds": True, "protectCrds": False}
"""Where no operator is, the rung brings all of it, also where the site's stack leaves it to others."""


def settings(base: Mapping[str, Any], nodes: int, *, operator_there: bool, context: str | None) -> dict[str, object]:
    """Sections of the rung's stack. ``base``: those of the site's; ``operator_there``: another stack has installed it."""
    cluster = base.get("cluster") or {}
    operator = dict(base.get("operator") or {})
    controller = base.get("controller") or {}
    inside = {} if _OUTSIDE in controller else dict(controller)
    kubernetes = dict(base.get("kubernetes") or {}) | ({"context": context} if context else {})
    made: dict[str, object] = {
        "cluster": {
            **{key: cluster[key] for key in _KEPT if key in cluster},
            "name": CLUSTER,
            "namespace": NAMESPACE,
            "resourceName": CLUSTER,
            "maxNodeCount": nodes + SPARE,
        },
        "operator": operator | ({"install": False} if operator_there else _BROUGHT),
        "keys": {"source": "generated", "protect": False},
        "controller": inside | {"persistence": {"enabled": False}},
        "accounting": {"enabled": False},
        "restapi": base.get("restapi") or {},
        "nodesets": {
            NODESET: {
                "replicas": nodes,
                "drain": {"deadline": DEADLINE, "registerDeadline": REGISTER},
                "pod": {
                    "nodeSelector": {LABEL: RUN},
                    "tolerations": [{"key": ANNOTATION, "operator": "Exists", "effect": "NoSchedule"}],
                    "terminationGrace": "2s",
                },
            }
        },
        "partitions": {PARTITION: {"nodesets": ["ALL"], "config": {"Default": True, "MaxTime": "UNLIMITED"}}},
    }
    return made | ({"kubernetes": kubernetes} if kubernetes else {})


def with_replicas(settings: Mapping[str, Any], replicas: int) -> dict[str, object]:
    """The same with another number of pods."""
    nodeset = {**settings["nodesets"][NODESET], "replicas": replicas}
    return {**settings, "nodesets": {NODESET: nodeset}}


def unguarded(settings: Mapping[str, Any]) -> dict[str, object]:
    """The same with nothing that refuses the operator a pod which it hasn't reported as drained: the operator alone."""
    return registry.unguarded(settings)


def with_new_template(settings: Mapping[str, Any]) -> dict[str, object]:
    """The same with a template that differs from that of the pods that run: each has to be replaced."""
    nodeset = settings["nodesets"][NODESET]
    changed = {**nodeset, "pod": {**nodeset["pod"], "terminationGrace": "3s"}}
    return {**settings, "nodesets": {NODESET: changed}}


def node_names(count: int) -> tuple[str, ...]:
    """Names of the Kubernetes nodes of a rung."""
    return tuple(f"{NAMESPACE}-{number}" for number in range(count))
