"""What of a cluster stands, so that a preview has the plan of what leaves the program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from slinky_iac import names
from slinky_iac.config.stack import StackConfig
from slinky_iac.drain.gates import RemovalsProvider
from slinky_iac.drain.settings import plain_policy

from .gates import Gate, drain_policy, policy_of, stack_props
from .gates_sessions import client_hosts, login_hosts, notebook_hosts


class Removals(Gate, module="slurm", name="Removals"):
    """Lists NodeSets, login sets and clients' pods. A preview plans what has left the list."""

    plan: pulumi.Output[dict[str, Any]]

    def __init__(self, name: str, props: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        super().__init__(RemovalsProvider(), name, props, opts, "plan", "pending")


def removal_props(config: StackConfig) -> dict[str, Any]:
    """Props of the list."""
    base = config.cluster.resource_name
    standing: dict[str, Any] = {}
    for name, nodeset in config.nodesets.items():
        own = {"policy": plain_policy(drain_policy(nodeset.drain))} if nodeset.drain is not None else {}
        standing[name] = {"resource": names.nodeset_resource(base, name), "controller": base, **own}
    hosts = [login_hosts(config, name, login) for name, login in config.logins.items()]
    for name, client in config.clients.items():
        optional_hosts = (client_hosts(config, name, client), notebook_hosts(config, name, client))
        hosts += [host for host in optional_hosts if host is not None]
    return {
        **stack_props(config),
        "cluster": config.cluster.name,
        "operatorVersion": config.operator.version,
        "policy": plain_policy(policy_of(config)),
        "stands": {**standing, **{host.name: host.props() for host in hosts}},
    }
