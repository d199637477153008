"""How every component makes its Kubernetes resources: tokens, metadata, and custom resources of the operator."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import Namespace

from slinky_iac import names, ownership
from slinky_iac.config.adopted import ANNOTATIONS, LABELS, AdoptedObject
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.selection import FIELDS
from slinky_iac.specs.objects import Object
from slinky_iac.specs.shared import labels

from .first_look import first_look

BACKGROUND = {"pulumi.com/deletionPropagationPolicy": "background"}
"""pulumi-kubernetes deletes in the foreground: a custom resource stays until its children are gone. The operator continues
reconciling all but NodeSets meanwhile and makes the children again, for minutes (seen with 1.0.1: RestApi, 5 s to 5 min)."""

GATED: Final = {"Controller": "extraConf", "NodeSet": "replicas"}
"""Field of a spec that only a gate writes, once the object is there."""
OF_EACH_NODE: Final = ("scalingMode", *(f"template.spec.{field}" for field in FIELDS))
"""The same of a NodeSet in DaemonSet mode. It is created as one without a pod (docs/adr/0032)."""
MODE: Final = f'metadata.annotations["{names.ANNOTATION_MODE}"]'
"""Where a NodeSet says its mode for the engine, which replaces it on a change."""
HIDDEN: Final = {"additional_secret_outputs": ["data", "stringData"]}
"""Options of a Secret, whose data the engine encrypts in the state."""


_SDK: Final = {
    ("v1", "ConfigMap"): "core.v1",
    ("v1", "ResourceQuota"): "core.v1",
    ("v1", "Secret"): "core.v1",
    ("v1", "Service"): "core.v1",
    ("apps/v1", "Deployment"): "apps.v1",
    ("batch/v1", "CronJob"): "batch.v1",
    ("networking.k8s.io/v1", "NetworkPolicy"): "networking.v1",
    ("discovery.k8s.io/v1", "EndpointSlice"): "discovery.v1",
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"): "admissionregistration.v1",
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"): "admissionregistration.v1",
}
"""Kubernetes' own kinds, and the SDK's modules that have them. They are imported when a stack makes one."""


def token(kind: str) -> str:
    """Type token of a component: part of the URN, pinned by a test; a rename needs an alias."""
    return f"{names.TYPE_PREFIX}:{kind}"


def metadata(config: ClusterConfig, name: str, annotations: Mapping[str, pulumi.Input[str]] | None = None) -> dict[str, Any]:
    """ObjectMeta of a resource in the cluster's namespace, under exactly this name."""
    meta: dict[str, Any] = {"name": name, "namespace": config.cluster.namespace, "labels": labels(config)}
    return meta | ({"annotations": dict(annotations)} if annotations else {})


def register(
    parent: pulumi.Resource,
    name: str,
    config: ClusterConfig,
    objects: Iterable[Object],
    keys: Mapping[str, pulumi.Output[str]] = MappingProxyType({}),
) -> None:
    """The objects as children of ``parent``; logical names begin with ``name``. ``keys``: those that are in them, by their
    configuration values. What follows a key is made after it."""
    made: dict[str, pulumi.Resource] = {}
    secrets: list[pulumi.Resource] = []
    for manifest in objects:
        if manifest.key is None:
            made[manifest.logical] = register_object(
                name, config, manifest, child(parent, made.get(manifest.after), *secrets)
            )
        elif (value := keys.get(manifest.key.config)) is not None:
            options, data = (
                child(parent, protect=config.keys.protect, **HIDDEN),
                {config.secret_of(manifest.key).entry: value},
            )
            secrets.append(register_object(name, config, manifest, options, data=data))


def register_object(
    name: str,
    config: ClusterConfig,
    made: Object,
    opts: pulumi.ResourceOptions,
    annotations: Mapping[str, pulumi.Input[str]] | None = None,
    **more: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401 - of the SDK's class for its kind
    """One object; its logical name begins with ``name``. ``more``: what a Secret holds, and what only outputs know."""
    meta = metadata(config, made.name, {**made.annotations, **(annotations or {})})
    meta["labels"] = {**meta["labels"], **made.labels}
    taken = _adopted(config, made)
    for field in () if taken is None else {LABELS, ANNOTATIONS} & {*taken.keep}:
        meta.pop(field.removeprefix("metadata."), None)
    space = made.space(meta.pop("namespace"))
    if space is not None:
        meta["namespace"] = space
    name = f"{name}-{made.logical}" if name else made.logical
    module = _SDK.get((made.api_version, made.kind))
    if module is None:
        own = {**made.body, **more}
        return CustomResource(name, api_version=made.api_version, kind=made.kind, metadata=meta, opts=opts, **own)
    kind: type[pulumi.Resource] = getattr(import_module(f"pulumi_kubernetes.{module}"), made.kind)
    fields = {re.sub("([A-Z])", r"_\1", key).lower(): value for key, value in made.body.items()}
    return kind(name, metadata=meta, opts=opts, **fields, **more)  # type: ignore[call-arg]


def custom_resource(
    config: ClusterConfig,
    made: Object,
    opts: pulumi.ResourceOptions,
    annotations: Mapping[str, pulumi.Input[str]] | None = None,
) -> CustomResource:
    """A ``slinky.slurm.net`` custom resource.

    A NodeSet's deletion ends when its pods have: slurmrestd must outlive them. A replacement deletes first: under one
    name, creating first would take up the old object, which is then deleted as the old one, and none is left.

    One that the stack takes over from Helm is imported by the engine, which then updates it in the same run and refuses to
    replace it (Pulumi 3, step_generator.go). pulumi-kubernetes reads no spec of it into the state's inputs, so a field that
    the program leaves out stays as it is (server-side apply).
    """
    noted = {} if made.kind == "NodeSet" else dict(BACKGROUND)
    options = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(delete_before_replace=True))
    if _adopted(config, made) is not None:
        there = f"{made.space(config.cluster.namespace)}/{made.name}"
        options = pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(import_=there))
        spec = {field: value for field, value in made.body["spec"].items() if field != GATED.get(made.kind)}
        made = replace(made, body={"spec": spec})
    resource: CustomResource = register_object("", config, made, options, noted | dict(annotations or {}))
    return resource


def _adopted(config: ClusterConfig, made: Object) -> AdoptedObject | None:
    return None if config.adopted is None else config.adopted.object(made.kind, made.name)


def nodeset_object(config: ClusterConfig, made: Object, opts: pulumi.ResourceOptions) -> CustomResource:
    """An object of a NodeSet. A gate that lowers a maximum writes it before Pulumi does: Pulumi takes it over.

    Annotations of a shared one stay as they are: pulumi-kubernetes takes over what any ``kubectl`` command has set on an
    object that it changes (fixCSAFieldManagers), and would remove a person's pause as not its own (run).
    """
    ignored = ["metadata.annotations"] if made.is_shared else None
    own = pulumi.ResourceOptions(delete_before_replace=True, ignore_changes=ignored)
    noted = {"pulumi.com/patchForce": "true"} if made.is_shared else {}
    resource: CustomResource = register_object("", config, made, pulumi.ResourceOptions.merge(opts, own), noted)
    return resource


def child(parent: pulumi.Resource, *after: pulumi.Resource | None, **more: Any) -> pulumi.ResourceOptions:  # noqa: ANN401
    """Options of a child: parented, and made after (so removed before) the resources given."""
    waits: Sequence[pulumi.Resource] = [resource for resource in after if resource is not None]
    return pulumi.ResourceOptions(parent=parent, depends_on=waits, **more)


def namespace(
    parent: pulumi.Resource,
    name: str,
    which: str,
    config: ClusterConfig,
    space: str,
    setting: str,
    labels: Mapping[str, str] | None = None,
    **more: Any,  # noqa: ANN401
) -> Namespace:
    """The Namespace ``space``, noted as this stack's; one of others is refused. ``setting`` says that the stack makes it,
    ``which`` tells the hooks of a program apart."""
    stack = pulumi.get_stack()
    meta = {"name": space, "annotations": {names.ANNOTATION_STACK: stack}, **({"labels": labels} if labels else {})}
    hooks = first_look(which, config, ownership.namespace(space, stack, setting))
    return Namespace(f"{name}-namespace", metadata=meta, opts=child(parent, hooks=hooks, **more))
