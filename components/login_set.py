"""Login pods: sackd and sshd."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from slinky_iac import names
from slinky_iac.config import workers as config
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.reach import reach
from slinky_iac.specs.workers import loginset_spec, replaces_pods

from .connection import Component
from .first_look import look_before
from .gates import policy_of
from .resources import child, custom_resource


@dataclass(frozen=True, kw_only=True)
class LoginSetArgs:
    """``name`` is the login set's, ``settings`` what it is, ``cluster`` the cluster that its users work on."""

    cluster: ClusterConfig
    name: str
    settings: config.LoginSet


class LoginSet(Component):
    """One LoginSet custom resource."""

    resource_name: pulumi.Output[str]

    def __init__(self, name: str, args: LoginSetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("LoginSet", name, args.cluster, opts)
        kube = names.loginset_resource(args.cluster.cluster.resource_name, args.name)
        options = child(self, hooks=_sessions_first(args, kube))
        spec = loginset_spec(args.cluster, args.settings)
        self.resource = custom_resource("LoginSet", kube, args.cluster, spec, options)
        self.resource_name = pulumi.Output.from_input(kube)
        self.register_outputs({"resource_name": self.resource_name})


def _sessions_first(login: LoginSetArgs, resource: str) -> pulumi.ResourceHookBinding | None:
    """A look, right before an update that replaces the pods, at who works in them with srun or salloc.

    A preview warns. An update stops before the login set is changed, which is among its last acts.
    """
    if login.settings.interrupt_sessions:
        return None
    hide = policy_of(login.cluster).hide_by(pulumi.get_stack())
    way = reach(login.cluster)

    def look() -> str:
        from slinky_iac import restarts  # noqa: PLC0415 - few updates change a login set, and its clients take 0.1 s

        return restarts.login_jobs(way, resource, hide, login.cluster.cluster.name)

    setting = f"set logins.{login.name}.interruptSessions: true"
    hook = look_before(
        f"slinky-sessions-{login.name}",
        replaces_pods,
        look,
        warns=f"{resource}: {{}}. The update stops before it; wait, or {setting}",
        stops=f"{resource} was not changed: {{}}. Wait until they have ended, or {setting}",
    )
    return pulumi.ResourceHookBinding(before_update=[hook])
