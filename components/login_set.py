"""Login pods: sackd and sshd."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from slinky_iac.blueprint import objects
from slinky_iac.config import workers as config
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.specs.workers import replaces_pods

from .connection import Component
from .gates_sessions import SessionsGate, login_hosts, session_props, sessions_first
from .resources import child, custom_resource


@dataclass(frozen=True, kw_only=True)
class LoginSetArgs:
    """``name`` is the login set's, ``settings`` what it is, ``cluster`` the cluster that its users work on."""

    cluster: ClusterConfig
    name: str
    settings: config.LoginSet


class LoginSet(Component):
    """One LoginSet custom resource and its gate: neither an update nor a removal ends a pod in which srun or salloc runs."""

    resource_name: pulumi.Output[str]

    def __init__(self, name: str, args: LoginSetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("LoginSet", name, args.cluster, opts)
        made = objects.loginset(args.cluster, args.name, args.settings)
        hosts = login_hosts(args.cluster, args.name, args.settings)
        hooks = sessions_first(args.cluster, hosts, replaces_pods)
        self.resource = custom_resource(args.cluster, made, child(self, hooks=hooks))
        self.gate = SessionsGate(f"{name}-sessions", session_props(args.cluster, hosts), self.resource, child(self))
        self.resource_name = pulumi.Output.from_input(made.name)
        self.register_outputs({"resource_name": self.resource_name})
