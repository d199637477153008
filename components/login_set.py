"""Login pods: sackd and sshd."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from components.resources import child, custom_resource, token
from slinky_iac import names
from slinky_iac.config.stack import StackConfig
from slinky_iac.manifests.workers import loginset_spec


@dataclass(frozen=True, kw_only=True)
class LoginSetArgs:
    """``loginset``: which of the configuration's ``logins``."""

    config: StackConfig
    loginset: str


class LoginSet(pulumi.ComponentResource):
    """One LoginSet custom resource."""

    resource_name: pulumi.Output[str]

    def __init__(self, name: str, args: LoginSetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(token("LoginSet"), name, None, opts)
        kube = names.loginset_resource(args.config.cluster.resource_name, args.loginset)
        spec = loginset_spec(args.config, args.loginset)
        self.resource = custom_resource("LoginSet", kube, args.config, spec, child(self))
        self.resource_name = pulumi.Output.from_input(kube)
        self.register_outputs({"resource_name": self.resource_name})
