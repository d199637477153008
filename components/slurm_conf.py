"""The gates of slurmctld: one that owns what jobs rely on, one for its queue before a destroy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from slinky_iac import names
from slinky_iac.config.stack import StackConfig
from slinky_iac.drain.conf_gates import ControllerGateProvider, QueueGateProvider
from slinky_iac.drain.settings import plain_policy
from slinky_iac.specs.slurm_conf import controller_extra_conf, host_lines, partition_lines

from .gates import Gate, policy_of, stack_props


class ControllerGate(Gate, module="slurm", name="ControllerGate"):
    """Owns the Controller's ``extraConf`` and its deletion: no partition, no host and no room for nodes leaves slurm.conf,
    and slurmctld does not end, while a job needs it, by whatever flags the update is made.

    It stands after Controller and RestApi, and all that runs jobs after it, so a destroy comes here right before the two.
    Where slurmctld is outside, its preview tells what slurm.conf loses, and the steps for its admin.
    """

    plan: pulumi.Output[dict[str, Any]]

    def __init__(
        self, name: str, props: Mapping[str, Any], controller: pulumi.Resource, opts: pulumi.ResourceOptions
    ) -> None:
        options = pulumi.ResourceOptions(depends_on=[controller], replace_with=[controller], delete_before_replace=True)
        super().__init__(ControllerGateProvider(), name, props, pulumi.ResourceOptions.merge(opts, options), "plan")


class QueueGate(Gate, module="slurm", name="QueueGate"):
    """Stands after all that runs jobs, so that a destroy comes here first: the queue and bare metal are waited for."""

    def __init__(self, name: str, props: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        super().__init__(QueueGateProvider(), name, props, opts)


def controller_props(config: StackConfig) -> dict[str, Any]:
    """Props of the gate of the Controller. What an outside slurm.conf loses is only told."""
    inside, base = config.slurmctld.owns_conf, config.cluster.resource_name
    daemon_nodesets = [
        names.nodeset_resource(base, name) for name, nodeset in config.nodesets.items() if nodeset.on_each_node
    ]
    return {
        **queue_props(config),
        "partitions": partition_lines(config),
        "hosts": host_lines(config),
        "nodesets": {name: names.nodeset_resource(base, name) for name in config.nodesets} if inside else {},
        "extraConf": controller_extra_conf(config) if inside else "",
        "forgets": config.operator_version.prunes_slurm_conf and config.slurmctld.forgets_queue,
        "outside": not inside,
        **({"onEachNode": sorted(daemon_nodesets)} if daemon_nodesets else {}),
    }


def queue_props(config: StackConfig) -> dict[str, Any]:
    """Props of the gate that a destroy meets first."""
    outlives = config.cluster.keep_namespace or not config.cluster.create_namespace
    return {
        **stack_props(config),
        "cluster": config.cluster.name,
        "controller": config.cluster.resource_name,
        # The claim of slurmctld's volume outlives the Controller where its namespace does.
        "keepsQueue": config.slurmctld.keeps_queue and outlives,
        "volume": config.slurmctld.keeps_queue,
        "policy": plain_policy(policy_of(config)),
    }
