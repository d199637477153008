"""The Kubernetes objects of a part, which it says itself (slinky_iac/parts/part.py)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any, Final

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource

from slinky_iac.config.stack import ClusterConfig
from slinky_iac.specs.objects import Object

from .connection import Component
from .resources import child, metadata

_SDK: Final = {
    ("v1", "ConfigMap"): "core.v1",
    ("v1", "Service"): "core.v1",
    ("batch/v1", "CronJob"): "batch.v1",
    ("discovery.k8s.io/v1", "EndpointSlice"): "discovery.v1",
}
"""Kubernetes' own kinds, and the SDK's modules that have them. They are imported when a stack makes one: few do."""


class PartObjects(Component):
    """The objects of one part. ``kind`` is the part's type in URNs."""

    def __init__(
        self,
        kind: str,
        name: str,
        config: ClusterConfig,
        objects: Iterable[Object],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(kind, name, config, opts)
        register(self, name, config, objects)
        self.register_outputs({})


def register(parent: pulumi.Resource, name: str, config: ClusterConfig, objects: Iterable[Object]) -> None:
    """The objects as children of ``parent``; logical names begin with ``name``."""
    made: dict[str, pulumi.Resource] = {}
    for each in objects:
        meta = metadata(config, each.name, each.annotations)
        meta["labels"] = {**meta["labels"], **each.labels}
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
