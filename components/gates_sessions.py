"""The gate of pods in which people run srun and salloc, and the look right before an update of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pulumi

from slinky_iac import names
from slinky_iac.cluster.reach import Reach
from slinky_iac.config.clients import Client
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.config.workers import LoginSet
from slinky_iac.drain.gates import SessionsProvider
from slinky_iac.drain.session_hosts import SessionHosts
from slinky_iac.drain.settings import plain_policy
from slinky_iac.specs.clients import client_labels
from slinky_iac.specs.jupyterhub import NOTEBOOKS

from .first_look import Inputs, look_before
from .gates import Gate, policy_of, stack_props
from .ways import Way, asks


class SessionsGate(Gate, module="slurm", name="SessionsGate"):
    """Owns the deletion of such pods: it stands after what makes them, and deletes that once nothing runs from them."""

    def __init__(self, name: str, props: dict[str, Any], host: pulumi.Resource, opts: pulumi.ResourceOptions) -> None:
        options = pulumi.ResourceOptions(depends_on=[host], replace_with=[host], delete_before_replace=True)
        super().__init__(SessionsProvider(), name, props, pulumi.ResourceOptions.merge(opts, options))


def login_hosts(config: ClusterConfig, name: str, login: LoginSet) -> SessionHosts:
    """The pods of a login set."""
    resource, space = names.loginset_resource(config.cluster.resource_name, name), config.cluster.namespace
    pods = names.login_pods(resource)
    return SessionHosts(
        name=f"logins.{name}",
        namespace=space,
        selector=pods,
        kind="LoginSet",
        resource=resource,
        interrupts=login.interrupt_sessions,
    )


def client_hosts(config: ClusterConfig, name: str, client: Client) -> SessionHosts | None:
    """The pod of a client's Deployment; None where there is none. With auth/munge this stack has no slurmrestd to ask."""
    if client.deployment is None or not config.auth.makes_daemons:
        return None
    pods = ",".join(f"{key}={value}" for key, value in client_labels(config, name).items())
    resource = names.client(config.cluster.resource_name, name)
    return SessionHosts(
        name=f"clients.{name}", namespace=client.namespace, selector=pods, kind="Deployment", resource=resource
    )


def notebook_hosts(config: ClusterConfig, name: str, client: Client) -> SessionHosts | None:
    """The pods of a hub's notebooks, which end with their namespace; None where there are none."""
    hub = client.jupyterhub
    if hub is None or hub.spawn != "pod" or not config.auth.makes_daemons:
        return None
    return SessionHosts(name=f"clients.{name}.jupyterhub", namespace=client.namespace, selector=NOTEBOOKS)


def session_props(config: ClusterConfig, hosts: SessionHosts) -> dict[str, Any]:
    """Props of the gate."""
    own = {"cluster": config.cluster.name, "host": hosts.name, "policy": plain_policy(policy_of(config))}
    return {**stack_props(config), **own, **hosts.props()}


def sessions_first(
    config: ClusterConfig, way: Way, hosts: SessionHosts, replaces: Callable[[Inputs, Inputs], bool]
) -> pulumi.ResourceHookBinding | None:
    """A look, right before an update that replaces the pods, at who works in them with srun or salloc. ``way``: to
    slurmrestd.

    A preview warns. An update stops before the pods are changed.
    """
    return None if hosts.interrupts else pulumi.ResourceHookBinding(before_update=[_look(config, way, hosts, replaces)])


def before_sssd(config: StackConfig, way: Way) -> pulumi.ResourceHookBinding:
    """The same before another sssd.conf: slurm-operator replaces login pods by a digest of it (``login_app.go``)."""

    def replaces(old: Inputs, new: Inputs) -> bool:
        return old.get("stringData") != new.get("stringData")

    users = {name: login for name, login in config.logins.items() if login.sssd_conf_from is None}
    hosts = [login_hosts(config, name, login) for name, login in users.items()]
    return pulumi.ResourceHookBinding(
        before_update=[_look(config, way, host, replaces, "-sssd") for host in hosts if not host.interrupts]
    )


def _look(
    config: ClusterConfig, way: Way, hosts: SessionHosts, replaces: Callable[[Inputs, Inputs], bool], which: str = ""
) -> pulumi.ResourceHook:
    hide = policy_of(config).hide_by(pulumi.get_stack())

    def look(known: Reach) -> str:
        from slinky_iac.drain import restart_losses  # noqa: PLC0415 - few updates change such pods, and its clients take 0.1 s

        return restart_losses.session_jobs(known, hosts.namespace, hosts.selector, hide, config.cluster.name)

    return look_before(
        f"slinky-sessions-{hosts.name}{which}",
        replaces,
        asks(way, look),
        warns=f"{hosts.resource}: {{}}. The update stops before it; wait{hosts.or_else}",
        stops=f"{hosts.resource} was not changed: {{}}. Wait until they have ended{hosts.or_else}",
    )
