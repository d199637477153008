"""slurmdbd: in Kubernetes with the password of its database, or the operator's picture of an outside one."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from slinky_iac import ownership
from slinky_iac.blueprint import objects
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.keys.public import digest
from slinky_iac.specs.daemons import DATABASE_PASSWORD_ENTRY

from .connection import Component
from .first_look import first_look
from .resources import HIDDEN, child, custom_resource, register_object


@dataclass(frozen=True, kw_only=True)
class AccountingArgs:
    """``database_password``: the secret of an in-cluster slurmdbd's database. ``token_set``: jwks.json, whose hash is noted
    on the Accounting, so that another set restarts slurmdbd's pod."""

    config: ClusterConfig
    database_password: pulumi.Output[str] | None = None
    token_set: pulumi.Input[str] | None = None


class Accounting(Component):
    """The Accounting custom resource."""

    host: pulumi.Output[str]
    port: pulumi.Output[int]

    def __init__(self, name: str, args: AccountingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Accounting", name, args.config, opts)
        config = args.config
        secret = None
        for manifest in objects.database(config) if args.database_password is not None else ():
            data = {DATABASE_PASSWORD_ENTRY: args.database_password}
            secret = register_object(name, config, manifest, child(self, **HIDDEN), string_data=data)
        noted: dict[str, pulumi.Input[str]] = {}
        if args.token_set is not None and config.slurmdbd.pods:
            noted |= {key.annotation: pulumi.Output.from_input(args.token_set).apply(digest) for key in config.own_keys}
        options = child(self, secret, hooks=first_look("accountings", config, ownership.custom(config, "accountings")))
        self.resource = custom_resource(config, objects.accounting(config), options, noted)
        (address,) = config.slurmdbd.addresses
        self.host, self.port = pulumi.Output.from_input(address.host), pulumi.Output.from_input(address.port)
        self.register_outputs({"host": self.host, "port": self.port})
