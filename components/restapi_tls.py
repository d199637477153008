"""What TLS before slurmrestd needs beside its pods: the proxy's files, its certificate, the Service that leads to it."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import pulumi
import pulumi_random

from slinky_iac import names
from slinky_iac.blueprint import objects
from slinky_iac.config.rest_api import RestApiTls as Settings
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.specs.objects import Object
from slinky_iac.specs.restapi_tls import certificate_names

from .connection import Component
from .resources import HIDDEN, child, register_object

SEED_LENGTH = 64
"""Letters and digits: 380 bits, more than the 256 of the keys that are made from it."""


@dataclass(frozen=True, kw_only=True)
class RestApiTlsArgs:
    """``tls``: the section, which is there."""

    config: ClusterConfig
    tls: Settings


class RestApiTls(Component):
    """``ca``: PEM of who signed the certificate, where this stack did; else an empty text."""

    ca: pulumi.Output[str]
    url: pulumi.Output[str]

    def __init__(self, name: str, args: RestApiTlsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("RestApiTls", name, args.config, opts)
        config, tls = args.config, args.tls
        base = config.cluster.resource_name
        service = names.restapi_tls_service(names.restapi_service(base))
        self.ca = pulumi.Output.from_input("")
        for each in objects.restapi_tls(config):
            if each.kind == "Secret":
                self.ca = self._generate(name, config, tls, each)
            else:
                register_object(name, config, each, child(self))
        self.url = pulumi.Output.from_input(f"https://{service}.{config.cluster.namespace}:{names.SLURMRESTD_TLS_PORT}")
        self.register_outputs({"ca": self.ca, "url": self.url})

    def _generate(self, name: str, config: ClusterConfig, tls: Settings, secret: Object) -> pulumi.Output[str]:
        since = tls.since
        if since is None:
            raise ValueError("a generated certificate needs since; rules_tls says so before this is called")
        seed = pulumi_random.RandomPassword(f"{name}-seed", length=SEED_LENGTH, special=False, opts=child(self))

        def make(text: str) -> dict[str, str]:
            from slinky_iac import certificates  # noqa: PLC0415 - 60 ms that stacks without TLS needn't spend

            cluster = config.cluster.name
            made = certificates.make(text.encode(), cluster, certificate_names(config, tls), since, tls.days)
            return {"tls.crt": made.chain, "tls.key": made.key, "ca.crt": made.ca}

        made = seed.result.apply(make)
        data = made.apply(lambda files: {entry: base64.b64encode(pem.encode()).decode() for entry, pem in files.items()})
        register_object(name, config, secret, child(self, **HIDDEN), data=data)
        # A certificate is public: users of slurmrestd need it to know whom they speak to.
        return pulumi.Output.unsecret(made.apply(lambda files: files["ca.crt"]))
