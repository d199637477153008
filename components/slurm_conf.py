"""The gates around slurmctld's configuration where slurmctld is in Kubernetes: before it, and before its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from slinky_iac.config.stack import StackConfig
from slinky_iac.drain.conf_gates import QueueGateProvider, SlurmConfGateProvider
from slinky_iac.drain.settings import plain_policy
from slinky_iac.specs.slurm_conf import controller_extra_conf, host_lines, partition_lines

from .gates import Gate, policy_of, stack_props


class SlurmConfGate(Gate, module="slurm", name="SlurmConfGate"):
    """Stands before the Controller, which takes ``extraConf`` from here: no partition and no host leaves slurm.conf while a
    job needs it, by whatever flags the update is made. Where slurmctld is outside, its preview tells what slurm.conf loses,
    and the steps for its admin."""

    extraConf: pulumi.Output[str]
    plan: pulumi.Output[dict[str, Any]]

    def __init__(self, name: str, props: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        super().__init__(SlurmConfGateProvider(), name, props, opts, "plan")


class QueueGate(Gate, module="slurm", name="QueueGate"):
    """Stands after all that runs jobs, so that a destroy comes here first: the queue and bare metal are waited for."""

    def __init__(self, name: str, props: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        super().__init__(QueueGateProvider(), name, props, opts)


def conf_props(config: StackConfig) -> dict[str, Any]:
    """Props of the gate before the Controller. What an outside slurm.conf loses is only told."""
    external = config.controller.external is not None
    text = "" if external else controller_extra_conf(config)
    return {**_props(config), "extraConf": text, "outside": external}


def queue_props(config: StackConfig) -> dict[str, Any]:
    """Props of the gate that a destroy meets first. The claim of slurmctld's volume outlives the Controller, and the
    namespace stays while a protected key is in it."""
    outlives = config.keys.protect or not config.cluster.create_namespace
    return {**_props(config), "keepsQueue": config.controller.persistence.enabled and outlives}


def _props(config: StackConfig) -> dict[str, Any]:
    return {
        **stack_props(config),
        "cluster": config.cluster.name,
        "controller": config.cluster.resource_name,
        "partitions": partition_lines(config),
        "hosts": host_lines(config),
        "policy": plain_policy(policy_of(config)),
    }
