"""The gate of pods in which people run srun and salloc, and the look right before an update of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pulumi

from slinky_iac.config.stack import ClusterConfig
from slinky_iac.drain.gates import SessionsProvider
from slinky_iac.drain.settings import plain_policy
from slinky_iac.reach import reach

from .first_look import Inputs, look_before
from .gates import Gate, policy_of, stack_props


@dataclass(frozen=True, kw_only=True)
class SessionHosts:
    """Pods in which people run srun and salloc."""

    name: str
    """The setting that they come from, ``logins.main``."""
    namespace: str
    selector: str
    kind: str = ""
    """What makes them, ``LoginSet`` or ``Deployment``; ``""``: nothing that the gate could delete."""
    resource: str = ""
    interrupts: bool = False
    or_else: str = ""
    """What to do instead of waiting, in words."""


class SessionsGate(Gate, module="slurm", name="SessionsGate"):
    """Owns the deletion of such pods: it stands after what makes them, and deletes that once nothing runs from them."""

    def __init__(self, name: str, props: dict[str, Any], host: pulumi.Resource, opts: pulumi.ResourceOptions) -> None:
        options = pulumi.ResourceOptions(depends_on=[host], replace_with=[host], delete_before_replace=True)
        super().__init__(SessionsProvider(), name, props, pulumi.ResourceOptions.merge(opts, options))


def session_props(config: ClusterConfig, hosts: SessionHosts) -> dict[str, Any]:
    """Props of the gate (:class:`slinky_iac.drain.sessions.SessionSettings` reads them back)."""
    return {
        **stack_props(config),
        "cluster": config.cluster.name,
        "host": hosts.name,
        "podNamespace": hosts.namespace,
        "podSelector": hosts.selector,
        "kind": hosts.kind,
        "resource": hosts.resource,
        "interrupts": hosts.interrupts,
        "policy": plain_policy(policy_of(config)),
    }


def sessions_first(
    config: ClusterConfig, hosts: SessionHosts, replaces: Callable[[Inputs, Inputs], bool]
) -> pulumi.ResourceHookBinding | None:
    """A look, right before an update that replaces the pods, at who works in them with srun or salloc.

    A preview warns. An update stops before the pods are changed.
    """
    if hosts.interrupts:
        return None
    hide = policy_of(config).hide_by(pulumi.get_stack())
    way = reach(config)

    def look() -> str:
        from slinky_iac import restarts  # noqa: PLC0415 - few updates change such pods, and its clients take 0.1 s

        return restarts.session_jobs(way, hosts.namespace, hosts.selector, hide, config.cluster.name)

    hook = look_before(
        f"slinky-sessions-{hosts.name}",
        replaces,
        look,
        warns=f"{hosts.resource}: {{}}. The update stops before it; wait{hosts.or_else}",
        stops=f"{hosts.resource} was not changed: {{}}. Wait until they have ended{hosts.or_else}",
    )
    return pulumi.ResourceHookBinding(before_update=[hook])
