"""The gates around slurmctld's configuration where slurmctld is in Kubernetes: before it, and before its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi.dynamic import Resource

from slinky_iac.config.stack import StackConfig
from slinky_iac.drain.conf_gates import QueueGateProvider, SlurmConfGateProvider
from slinky_iac.drain.settings import SCHEMA, plain_policy, reach_props
from slinky_iac.reach import reach
from slinky_iac.specs.slurm_conf import controller_extra_conf, host_lines, partition_lines

from .gates import policy_of


class SlurmConfGate(Resource, module="slurm", name="SlurmConfGate"):
    """Stands before the Controller, which takes ``extraConf`` from here: no partition and no host leaves slurm.conf while a
    job needs it, by whatever flags the update is made. Where slurmctld is outside, its preview tells what slurm.conf loses,
    and the steps for its admin."""

    extraConf: pulumi.Output[str]
    plan: pulumi.Output[dict[str, Any]]

    def __init__(self, name: str, props: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        super().__init__(SlurmConfGateProvider(), name, {**props, "plan": None}, opts)


class QueueGate(Resource, module="slurm", name="QueueGate"):
    """Stands after all that runs jobs, so that a destroy comes here first: the queue and bare metal are waited for."""

    def __init__(self, name: str, props: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        super().__init__(QueueGateProvider(), name, dict(props), opts)


def conf_props(config: StackConfig, urn: pulumi.Input[str]) -> dict[str, Any]:
    """Props of the gate before the Controller. What an outside slurm.conf loses is only told."""
    external = config.controller.external is not None
    text = "" if external else controller_extra_conf(config)
    return {**_props(config, urn), "extraConf": text, "outside": external}


def queue_props(config: StackConfig, urn: pulumi.Input[str]) -> dict[str, Any]:
    """Props of the gate that a destroy meets first. The claim of slurmctld's volume outlives the Controller, and the
    namespace stays while a protected key is in it."""
    outlives = config.keys.protect or not config.cluster.create_namespace
    return {**_props(config, urn), "keepsQueue": config.controller.persistence.enabled and outlives}


def _props(config: StackConfig, urn: pulumi.Input[str]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "stack": pulumi.get_stack(),
        "cluster": config.cluster.name,
        "controller": config.cluster.resource_name,
        "partitions": partition_lines(config),
        "hosts": host_lines(config),
        "policy": plain_policy(policy_of(config)),
        "urn": urn,
        **reach_props(reach(config)),
    }
