"""How every component makes its Kubernetes resources: tokens, metadata, and custom resources of the operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import Namespace

from slinky_iac import names, ownership
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.parts.autoscale.scaler import Scaler
from slinky_iac.specs.shared import labels

from .first_look import first_look

BACKGROUND = {"pulumi.com/deletionPropagationPolicy": "background"}
"""pulumi-kubernetes deletes in the foreground: a custom resource stays until its children are gone. The operator continues
reconciling all but NodeSets meanwhile and makes the children again, for minutes (seen with 1.0.1: RestApi, 5 s to 5 min)."""

HIDDEN: Final = {"additional_secret_outputs": ["data", "stringData"]}
"""Options of a Secret, whose data the engine encrypts in the state."""


def token(kind: str) -> str:
    """Type token of a component: part of the URN, pinned by a test; a rename needs an alias."""
    return f"{names.TYPE_PREFIX}:{kind}"


def metadata(config: ClusterConfig, name: str, annotations: Mapping[str, pulumi.Input[str]] | None = None) -> dict[str, Any]:
    """ObjectMeta of a resource in the cluster's namespace, under exactly this name."""
    meta: dict[str, Any] = {"name": name, "namespace": config.cluster.namespace, "labels": labels(config)}
    return meta | ({"annotations": dict(annotations)} if annotations else {})


def logical(config: ClusterConfig, name: str, kind: str) -> str:
    """Logical name of a ``slinky.slurm.net`` custom resource."""
    return f"{config.cluster.namespace}-{name}-{kind.lower()}"


def custom_resource(
    kind: str,
    name: str,
    config: ClusterConfig,
    spec: Mapping[str, Any] | pulumi.Output[dict[str, Any]],
    opts: pulumi.ResourceOptions,
    annotations: Mapping[str, pulumi.Input[str]] | None = None,
) -> CustomResource:
    """A ``slinky.slurm.net`` custom resource; ``name`` is its Kubernetes name and its logical name.

    A NodeSet's deletion ends when its pods have: slurmrestd must outlive them. A replacement deletes first: under one
    name, creating first would take up the old object, which is then deleted as the old one, and none is left.
    """
    noted = {} if kind == "NodeSet" else dict(BACKGROUND)
    return CustomResource(
        logical(config, name, kind),
        api_version=names.API_VERSION,
        kind=kind,
        metadata=metadata(config, name, noted | dict(annotations or {})),
        spec=spec if isinstance(spec, pulumi.Output) else dict(spec),
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(delete_before_replace=True)),
    )


def autoscaler(config: ClusterConfig, found: Scaler | None, opts: pulumi.ResourceOptions) -> CustomResource | None:
    """The autoscaler of a NodeSet. A gate that lowers the maximum writes it before Pulumi does: Pulumi takes it over.

    Annotations stay as they are: pulumi-kubernetes takes over what any ``kubectl`` command has set on an object that it
    changes (fixCSAFieldManagers), and would remove a person's pause as not its own (run).
    """
    if found is None:
        return None
    return CustomResource(
        f"{config.cluster.namespace}-{found.name}-{found.kind.lower()}",
        api_version=found.api_version,
        kind=found.kind,
        metadata=metadata(config, found.name, {"pulumi.com/patchForce": "true"}),
        spec=found.spec,
        opts=pulumi.ResourceOptions.merge(
            opts, pulumi.ResourceOptions(delete_before_replace=True, ignore_changes=["metadata.annotations"])
        ),
    )


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
