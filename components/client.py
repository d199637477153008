"""Clients of the cluster in a namespace of their own: the key as a Secret, people as a ConfigMap, the pieces of a pod that
uses both, and a pod where one is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.core.v1 import Namespace

from slinky_iac import names, ownership
from slinky_iac.blueprint import objects
from slinky_iac.config import clients
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.specs.clients import client_pod, client_secret, ends_pods
from slinky_iac.specs.jupyterhub import ACCOUNT, chart, hub_binding, hub_role_rules, hub_values
from slinky_iac.specs.objects import Object
from slinky_iac.specs.shared import labels

from . import helm_chart
from .connection import Component, as_it_is
from .first_look import first_look
from .gates_sessions import SessionsGate, client_hosts, notebook_hosts, session_props, sessions_first
from .resources import HIDDEN, child, namespace, register_object
from .ways import way_of


@dataclass(frozen=True, kw_only=True)
class ClientArgs:
    """``key``: base64 of the file that the pods get, as a secret output; None where others make the Secret."""

    cluster: ClusterConfig
    name: str
    settings: clients.Client
    key: pulumi.Output[str] | None = None
    filled: Callable[[Any], Any] = as_it_is
    """What puts a program's Outputs in the place of placeholders."""


class Client(Component):
    """What pods of your own need. No resource of the cluster depends on it."""

    pod: pulumi.Output[dict[str, Any]]

    def __init__(self, name: str, args: ClientArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Client", name, args.cluster, opts)
        config, settings = args.cluster, args.settings
        space = self._namespace(name, args)
        for manifest in objects.client_objects(config, args.name, settings):
            if manifest.kind == "Secret" and args.key is not None:
                data = {client_secret(config, args.name, settings).entry: args.key}
                register_object(name, config, manifest, child(self, space, **HIDDEN), data=data)
            elif manifest.kind == "ConfigMap":
                register_object(name, config, manifest, child(self, space))
            elif manifest.kind == "Deployment":
                self._deployment(name, args, manifest, space)
        if settings.jupyterhub is not None:
            self._hub(name, args, settings.jupyterhub, space)
        self.pod = pulumi.Output.from_input(client_pod(config, args.name, settings))
        self.register_outputs({"pod": self.pod})

    def _namespace(self, name: str, args: ClientArgs) -> Namespace | None:
        if not args.settings.create_namespace:
            return None
        made, setting = objects.client_namespace(args.cluster, args.settings), f"clients.{args.name}.createNamespace"
        return namespace(self, name, f"client-{args.name}", args.cluster, made.name, setting, made.labels)

    def _deployment(self, name: str, args: ClientArgs, made: Object, space: Namespace | None) -> None:
        config = args.cluster
        hosts = client_hosts(config, args.name, args.settings)
        hooks = None if hosts is None else sessions_first(config, way_of(config, args.filled), hosts, ends_pods)
        # After no Secret: a planned stop removes the Secret with all that depends on it, and pods wait for it anyway.
        pods = register_object(name, config, made, child(self, space, hooks=hooks))
        if hosts is not None:
            SessionsGate(f"{name}-sessions", session_props(config, hosts), pods, child(self, space))

    def _hub(self, name: str, args: ClientArgs, hub: clients.JupyterHub, space: Namespace | None) -> None:
        # Only stacks with a hub pay for these imports.
        from pulumi_kubernetes.core.v1 import ServiceAccount  # noqa: PLC0415
        from pulumi_kubernetes.helm.v3 import Release, RepositoryOptsArgs  # noqa: PLC0415
        from pulumi_kubernetes.rbac.v1 import Role, RoleBinding  # noqa: PLC0415

        settings = args.settings
        meta = {"name": ACCOUNT, "namespace": settings.namespace, "labels": labels(args.cluster)}
        account = ServiceAccount(f"{name}-hub-account", metadata=meta, opts=child(self, space))
        role = Role(f"{name}-hub-role", metadata=meta, rules=hub_role_rules(), opts=child(self, space))
        binding = RoleBinding(f"{name}-hub-binding", metadata=meta, **hub_binding(settings), opts=child(self, account, role))
        reference, repo, version = chart(hub.chart)
        release = f"{names.client(args.cluster.cluster.resource_name, args.name)}-hub"
        hooks = first_look(f"hub-{args.name}", args.cluster, ownership.release(settings.namespace, release))
        if hub.chart.digest is not None:
            setting = f"clients.{args.name}.jupyterhub.chart.digest"
            hooks = helm_chart.of_release(f"jupyterhub-{args.name}", setting, version, hooks)
        # After no Secret of the key: a planned stop would remove the hub with it, and its database.
        hub_release = Release(
            f"{name}-hub",
            name=release,
            chart=helm_chart.located(reference, local=hub.chart.path is not None),
            repository_opts=None if repo is None else RepositoryOptsArgs(repo=repo),
            version=version,
            namespace=settings.namespace,
            values=hub_values(args.cluster, args.name, settings, hub),
            timeout=hub.timeout,
            opts=child(self, account, binding, hooks=hooks),
        )
        if (hosts := notebook_hosts(args.cluster, args.name, settings)) is not None:
            SessionsGate(f"{name}-hub-sessions", session_props(args.cluster, hosts), hub_release, child(self, space))
