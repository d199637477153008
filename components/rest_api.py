"""slurmrestd in Kubernetes: made before every NodeSet, removed after the last; and TLS before it."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_random

from slinky_iac import names, ownership
from slinky_iac.blueprint import objects
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.parts.registry import beside
from slinky_iac.parts.slurmrestd.objects import generated
from slinky_iac.specs.objects import Object

from .connection import Component
from .first_look import Lost, first_look, none_lost, require_there
from .resources import HIDDEN, child, custom_resource, register_object

SEED_LENGTH: Final = 64
"""Letters and digits: 380 bits, more than the 256 of the keys that are made from it."""


@dataclass(frozen=True, kw_only=True)
class RestApiArgs:
    """All that a RestApi is made of is in the configuration."""

    config: ClusterConfig
    lost: Lost = none_lost


class RestApi(Component):
    """The RestApi custom resource; ``url`` is its address inside Kubernetes, ``ca`` who signed its certificate where this
    stack did."""

    url: pulumi.Output[str]
    service: pulumi.Output[str]
    ca: pulumi.Output[str]

    def __init__(self, name: str, args: RestApiArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("RestApi", name, args.config, opts)
        config = args.config
        needed = beside(config, "slurmrestd")
        tls = RestApiTls(f"{name}-tls", config, needed, child(self)) if needed else None
        options = child(self, tls, hooks=first_look("restapis", config, ownership.custom(config, "restapis")))
        self.resource = custom_resource(config, objects.restapi(config), options)
        require_there(self.resource, "restapis", args.lost)
        self.service = pulumi.Output.from_input(names.restapi_service(config.cluster.resource_name))
        self.url = pulumi.Output.from_input(config.slurmrestd.url)
        self.ca = pulumi.Output.from_input("") if tls is None else tls.ca
        self.register_outputs({"url": self.url, "service": self.service, "ca": self.ca})


class RestApiTls(Component):
    """What slurmrestd's pods need for TLS. ``ca``: PEM of who signed the certificate, where this stack did; else an empty
    text."""

    ca: pulumi.Output[str]

    def __init__(
        self, name: str, config: ClusterConfig, needed: tuple[Object, ...], opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("RestApiTls", name, config, opts)
        self.ca = pulumi.Output.from_input("")
        for manifest in needed:
            if manifest.kind == "Secret":
                self.ca = self._generate(name, config, manifest)
            else:
                register_object(name, config, manifest, child(self))
        self.register_outputs({"ca": self.ca, "url": config.slurmrestd.url})

    def _generate(self, name: str, config: ClusterConfig, secret: Object) -> pulumi.Output[str]:
        seed = pulumi_random.RandomPassword(f"{name}-seed", length=SEED_LENGTH, special=False, opts=child(self))
        made = seed.result.apply(lambda text: generated(config, text))
        data = made.apply(lambda files: {entry: base64.b64encode(pem.encode()).decode() for entry, pem in files.items()})
        register_object(name, config, secret, child(self, **HIDDEN), data=data)
        # A certificate is public: users of slurmrestd need it to know whom they speak to.
        return pulumi.Output.unsecret(made.apply(lambda files: files["ca.crt"]))
