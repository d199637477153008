"""The Kubernetes objects of a part, which it says itself (slinky_iac/parts/part.py)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource

from slinky_iac.config.reader import StackRefused
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.parts.part import Document
from slinky_iac.parts.registry import PARTS
from slinky_iac.specs.objects import Object

from .connection import Component
from .resources import child, metadata

_SDK: Final = {
    ("v1", "ConfigMap"): "core.v1",
    ("v1", "Service"): "core.v1",
    ("batch/v1", "CronJob"): "batch.v1",
    ("discovery.k8s.io/v1", "EndpointSlice"): "discovery.v1",
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"): "admissionregistration.v1",
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"): "admissionregistration.v1",
}
"""Kubernetes' own kinds, and the SDK's modules that have them. They are imported when a stack makes one: few do."""


def _no_document() -> str:
    raise StackRefused("monitoring.status looks at a HybridCluster of the same program. Nothing was made. Leave it out here")


@dataclass(frozen=True, kw_only=True)
class PartObjectsArgs:
    """``part``: a folder of slinky_iac/parts. ``document``: what the stack is, for a CronJob that has no state."""

    config: StackConfig
    part: str
    document: Document = _no_document


class PartObjects(Component):
    """What one part makes: the fence, or objects for Prometheus and Grafana. Without objects it makes nothing itself."""

    def __init__(self, name: str, args: PartObjectsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        part = next(each for each in PARTS if each.name == args.part)
        super().__init__(part.component, name, args.config, opts)
        register(self, name, args.config, part.objects(args.config, args.document))
        self.register_outputs({})


def register(parent: pulumi.Resource, name: str, config: ClusterConfig, objects: Iterable[Object]) -> None:
    """The objects as children of ``parent``; logical names begin with ``name``."""
    made: dict[str, pulumi.Resource] = {}
    for each in objects:
        meta = metadata(config, each.name, each.annotations)
        meta["labels"] = {**meta["labels"], **each.labels}
        if not each.namespaced:
            del meta["namespace"]
        options = child(parent, made.get(each.after))
        made[each.logical] = _resource(f"{name}-{each.logical}", each, meta, options)


def _resource(name: str, made: Object, meta: dict[str, Any], opts: pulumi.ResourceOptions) -> pulumi.Resource:
    module = _SDK.get((made.api_version, made.kind))
    if module is None:
        return CustomResource(
            name, api_version=made.api_version, kind=made.kind, metadata=meta, opts=opts, **dict(made.body)
        )
    own: type[pulumi.Resource] = getattr(import_module(f"pulumi_kubernetes.{module}"), made.kind)
    fields = {re.sub("([A-Z])", r"_\1", key).lower(): value for key, value in made.body.items()}
    return own(name, metadata=meta, opts=opts, **fields)  # type: ignore[call-arg]
