"""The gates as resources: one after each NodeSet that owns its number and its deletion, one for all bare-metal hosts."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, cast

import pulumi
from pulumi.dynamic import Resource, ResourceProvider

from slinky_iac import names
from slinky_iac.cluster_access import reach
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.config.workers import Drain, NodeSet
from slinky_iac.drain.gates import NodeSetScaleProvider, OutsideHostsProvider
from slinky_iac.drain.settings import SCHEMA, DrainPolicy, Limits, last_resort_s, plain_policy, reach_props
from slinky_iac.parts.registry import PARTS
from slinky_iac.specs.workers import nodeset_spec, template_digest


class Gate(Resource):
    """A dynamic resource, whose props have its own URN: the engine wants it with every line of progress."""

    def __init__(
        self, provider: ResourceProvider, name: str, props: Mapping[str, Any], opts: pulumi.ResourceOptions, *made: str
    ) -> None:
        """``made``: props that its own check fills in."""
        assert opts.parent is not None, "a gate is a component's child"
        urn = child_urn(opts.parent, type(self), name)
        super().__init__(provider, name, {**props, "urn": urn, **dict.fromkeys(made)}, opts)


class NodeSetScale(Gate, module="slurm", name="NodeSetScale"):
    """Owns ``replicas`` of its NodeSet and its deletion: raises and awaits nodes, drains nodes before either ends them.

    It stands after its NodeSet, so the engine deletes it first, also where the NodeSet is replaced (``replace_with``).
    Were it replaced alone, it would come last and delete the NodeSet of its successor; ``delete_before_replace`` lets the
    new one find that the NodeSet is gone, and say so.
    """

    replicas: pulumi.Output[int]
    plan: pulumi.Output[dict[str, Any]]

    def __init__(self, name: str, props: Mapping[str, Any], nodeset: pulumi.Resource, opts: pulumi.ResourceOptions) -> None:
        options = pulumi.ResourceOptions(depends_on=[nodeset], replace_with=[nodeset], delete_before_replace=True)
        super().__init__(NodeSetScaleProvider(), name, props, pulumi.ResourceOptions.merge(opts, options), "plan")


class OutsideHosts(Gate, module="slurm", name="OutsideHosts"):
    """Holds bare-metal slurmd hosts that the configuration sets to drained, and returns them."""

    def __init__(self, name: str, props: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        super().__init__(OutsideHostsProvider(), name, props, opts, "plan")


def stack_props(config: ClusterConfig) -> dict[str, Any]:
    """Props that all dynamic resources of a cluster have: whose they are, and the way to Kubernetes and slurmrestd."""
    return {"schema": SCHEMA, "stack": pulumi.get_stack(), **reach_props(reach(config))}


def gate_props(config: ClusterConfig, nodeset: str, settings: NodeSet) -> dict[str, Any]:
    """Props of the gate of a NodeSet (:class:`slinky_iac.drain.settings.GateSettings` reads them back)."""
    base = config.cluster.resource_name
    return {
        **stack_props(config),
        "nodeset": nodeset,
        "resource": names.nodeset_resource(base, nodeset),
        "controller": base,
        "cluster": config.cluster.name,
        "replicas": settings.replicas,
        "owner": settings.owner,
        **(
            {"scalingMode": settings.scaling_mode, "selection": settings.pod.selection.fields}
            if settings.on_each_node
            else {}
        ),
        "maxReplicas": settings.most,
        "operatorVersion": config.operator.version,
        "updates": settings.update_strategy.type,
        "maxUnavailable": settings.update_strategy.max_unavailable,
        "template": template_digest(nodeset_spec(config, nodeset, settings)),
        "policy": plain_policy(drain_policy(config.drain_for(settings))),
        **{name: value for part in PARTS for name, value in part.gate_props(config, nodeset, settings).items()},
    }


def counts(settings: NodeSet, number: pulumi.Input[int] | None) -> dict[str, Any]:
    """Props of the gate that an Output gives, where one gives the number of nodes."""
    if number is None:
        return {}
    return {"replicas": number} | ({} if settings.max_replicas is not None else {"maxReplicas": number})


def outside_props(config: StackConfig) -> dict[str, Any]:
    """Props of the gate of the bare-metal hosts."""
    return {
        **stack_props(config),
        "hosts": {host.name: host.state for host in config.external.slurmd_hosts},
        "inside": config.slurmctld.owns_conf,
        "controller": config.cluster.resource_name,
        "cluster": config.cluster.name,
        "policy": plain_policy(policy_of(config)),
    }


def policy_of(config: ClusterConfig) -> DrainPolicy:
    """A configuration's, with the defaults where it says nothing of drains."""
    return drain_policy(config.drain or Drain())


def drain_policy(drain: Drain) -> DrainPolicy:
    """The configuration's drain settings as the planner's value."""
    limits = drain.limits
    return DrainPolicy(
        deadline_s=drain.deadline,
        on_deadline=drain.on_deadline,
        grace_s=drain.grace,
        signal=drain.signal,
        max_at_once=drain.max_at_once,
        register_deadline_s=drain.register_deadline,
        start_at_once=drain.start_at_once,
        bound_s=drain.deadline + drain.grace + 60 + last_resort_s(drain.on_deadline),
        show_users=drain.show_users,
        limits=Limits(max_share=limits.max_share, max_jobs=limits.max_jobs, max_job_age_s=limits.max_job_age),
    )


def child_urn(parent: pulumi.Resource, kind: type[Resource], name: str) -> pulumi.Output[str]:
    """URN that a dynamic child will have, which the engine doesn't tell it."""
    leaf = f"pulumi-python:{kind._resource_type_name}::{name}"

    def of(urn: str) -> str:
        head, project, types, _ = urn.split("::", 3)
        return f"{head}::{project}::{types}${leaf}"

    output = parent.urn.apply(of)
    # Without the dependency that parent.urn carries: on a component it means all its children, this one among them, and
    # the SDK refuses that as a circle. The child waits for its parent in any case.
    value = cast("Awaitable[str]", output.future(with_unknowns=True))
    return pulumi.Output(set(), value, output.is_known(), output.is_secret())
