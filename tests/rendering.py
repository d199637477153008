"""All that slinky_iac.specs makes of one configuration, by kind and name, as components would register it."""

from __future__ import annotations

from typing import Any

from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.daemons import accounting_spec, controller_spec, restapi_spec
from slinky_iac.specs.endpoints import slurmctld_endpoint, slurmdbd_endpoint
from slinky_iac.specs.workers import loginset_spec, nodeset_spec

Rendered = dict[str, dict[str, Any]]


def custom_resources(config: StackConfig) -> Rendered:
    """Specs of the operator's custom resources: ``Controller``, ``NodeSet/gpu``, …"""
    specs: Rendered = {"Controller": controller_spec(config), "RestApi": restapi_spec(config)}
    if config.accounting.enabled:
        specs["Accounting"] = accounting_spec(config)
    specs |= {f"NodeSet/{name}": nodeset_spec(config, name, nodeset) for name, nodeset in config.nodesets.items()}
    return specs | {f"LoginSet/{name}": loginset_spec(config, name, login) for name, login in config.logins.items()}


def services(config: StackConfig) -> Rendered:
    """Services that lead outside, each with its EndpointSlice."""
    made: Rendered = {}
    for endpoint in (slurmdbd_endpoint(config), slurmctld_endpoint(config)):
        if endpoint is not None:
            made[f"Service/{endpoint.name}"] = endpoint.service
            if endpoint.slice is not None:
                made[f"EndpointSlice/{endpoint.name}"] = endpoint.slice
    return made
