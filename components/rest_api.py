"""slurmrestd in Kubernetes: made before every NodeSet, removed after the last."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from slinky_iac import names, ownership
from slinky_iac.blueprint import objects
from slinky_iac.config.stack import ClusterConfig

from .connection import Component
from .first_look import Lost, first_look, none_lost, require_there
from .resources import child, custom_resource
from .restapi_tls import RestApiTls, RestApiTlsArgs


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
        base = config.cluster.resource_name
        tls = None
        if config.restapi.tls is not None:
            tls = RestApiTls(f"{name}-tls", RestApiTlsArgs(config=config, tls=config.restapi.tls), child(self))
        options = child(self, tls, hooks=first_look("restapis", config, ownership.custom(config, "restapis")))
        self.resource = custom_resource(config, objects.restapi(config), options)
        require_there(self.resource, "restapis", args.lost)
        service = names.restapi_service(base)
        self.service = pulumi.Output.from_input(service)
        plain = pulumi.Output.from_input(f"http://{service}.{config.cluster.namespace}:{names.SLURMRESTD_PORT}")
        self.url = plain if tls is None else tls.url
        self.ca = pulumi.Output.from_input("") if tls is None else tls.ca
        self.register_outputs({"url": self.url, "service": self.service, "ca": self.ca})
