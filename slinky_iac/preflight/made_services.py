"""Services that stay as slurm-operator made them, and settings that say something else. Up to 1.2 it never changes one
(``internal/controller``; watched with 1.2.1: `up` was green, and the Service stayed a LoadBalancer)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from slinky_iac import names
from slinky_iac.blueprint.flows import SSH
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.sections import Service
from slinky_iac.config.stack import StackConfig

Live = tuple[str, int | None]
"""Type and first node port of a Service."""


def offered(config: StackConfig) -> Iterator[tuple[str, str, Service, int]]:
    """Setting, name, wanted Service and port of each one that the operator makes of the stack's resources."""
    base = config.cluster.resource_name
    for service in config.slurmctld.services:
        yield "controller.service", service, config.controller.service, names.SLURMCTLD_PORT
    if config.slurmdbd.pods:
        yield "accounting.service", names.accounting_service(base), config.accounting.service, names.SLURMDBD_PORT
    yield "restapi.service", names.restapi_service(base), config.restapi.service, names.SLURMRESTD_PORT
    for name, login in config.logins.items():
        yield f"logins.{name}.service", names.loginset_resource(base, name), login.service, SSH


def applies(config: StackConfig) -> bool:
    """Whether the stack's operator leaves Services as they are."""
    return config.auth.makes_daemons and config.operator_version.leaves_services


def unchanged(config: StackConfig, live: Mapping[str, Live]) -> Iterable[Finding]:
    """Warnings of Services that aren't what settings say; ``live``: those of the namespace, by name."""
    for path, name, wanted, port in offered(config):
        if name not in live:
            continue
        kind, node_port = live[name]
        if kind == wanted.type and wanted.node_port in (None, node_port):
            continue
        ports = {"ports": [{"port": port, "nodePort": wanted.node_port}]} if wanted.node_port else {}
        patch = json.dumps({"spec": {"type": wanted.type, **ports}})
        yield at(path).warning(
            f"asks for {_said(wanted.type, wanted.node_port)}, but Service {name} in Kubernetes is still"
            f" {_said(kind, node_port)}: slurm-operator {config.operator.version} never changes a Service that exists. After"
            f" `pulumi up` change it yourself: `kubectl patch service -n {config.cluster.namespace} {name} -p '{patch}'`",
            id="service-unchanged",
        )


def _said(kind: str, node_port: int | None) -> str:
    return f"{kind} with node port {node_port}" if node_port else kind
