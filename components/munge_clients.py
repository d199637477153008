"""Clients of a munge cluster: munge.key as a Secret, slurm.conf as a ConfigMap, and the pieces of a pod that uses them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi

from slinky_iac.config.stack import ClusterConfig
from slinky_iac.parts.munge.clients import client_pod
from slinky_iac.parts.munge.part import conf_map, key_secret
from slinky_iac.parts.munge.settings import MUNGE

from .auth_keys import key_fingerprint
from .connection import Component
from .resources import HIDDEN, child, register_object


@dataclass(frozen=True, kw_only=True)
class MungeClientsArgs:
    """``key``: base64 of munge.key as a secret output, with ``keys.source: imported`` only."""

    config: ClusterConfig
    key: pulumi.Output[str] | None = None


class MungeClients(Component):
    """Makes no pod: login and Jupyter pods are others' (JupyterHub's, a chart's), and take ``pod`` into their specs."""

    key_fingerprint: pulumi.Output[str]
    pod: pulumi.Output[dict[str, Any]]

    def __init__(self, name: str, args: MungeClientsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("MungeClients", name, args.config, opts)
        config = args.config
        made: list[pulumi.Resource] = []
        place = config.secret_of(MUNGE)
        if args.key is not None:
            options, data = child(self, protect=config.keys.protect, **HIDDEN), {place.entry: args.key}
            made.append(register_object(name, config, key_secret(config), options, data=data))
        register_object(name, config, conf_map(config), child(self, *made))
        self.key_fingerprint = munge_fingerprint(args.key)
        self.pod = pulumi.Output.from_input(client_pod(config))
        self.register_outputs({"key_fingerprint": self.key_fingerprint, "pod": self.pod})


def munge_fingerprint(key: pulumi.Output[str] | None) -> pulumi.Output[str]:
    """Fingerprint of munge.key, where the stack has it."""
    unknown = pulumi.Output.from_input("not known: the Secret was made outside this stack")
    return unknown if key is None else key_fingerprint(key)
