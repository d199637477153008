"""Login pods: sackd and sshd."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pulumi

from slinky_iac.blueprint import objects
from slinky_iac.config import workers as config
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.specs.workers import replaces_pods

from .connection import Component, as_it_is
from .gates_sessions import SessionsGate, login_hosts, session_props, sessions_first
from .resources import child, custom_resource
from .ways import way_of


@dataclass(frozen=True, kw_only=True)
class LoginSetArgs:
    """``name`` is the login set's, ``settings`` what it is, ``cluster`` the cluster that its users work on."""

    cluster: ClusterConfig
    name: str
    settings: config.LoginSet
    filled: Callable[[Any], Any] = as_it_is
    """What puts a program's Outputs in the place of placeholders."""


class LoginSet(Component):
    """One LoginSet custom resource and its gate: neither an update nor a removal ends a pod in which srun or salloc runs."""

    resource_name: pulumi.Output[str]

    def __init__(self, name: str, args: LoginSetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("LoginSet", name, args.cluster, opts)
        made = objects.loginset(args.cluster, args.name, args.settings)
        hosts = login_hosts(args.cluster, args.name, args.settings)
        hooks = sessions_first(args.cluster, way_of(args.cluster, args.filled), hosts, replaces_pods)
        self.resource = custom_resource(args.cluster, made, child(self, hooks=hooks))
        self.gate = SessionsGate(f"{name}-sessions", session_props(args.cluster, hosts), self.resource, child(self))
        self.resource_name = pulumi.Output.from_input(made.name)
        self.register_outputs({"resource_name": self.resource_name})
