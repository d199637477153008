"""The wire format of a Service, as far as it tells where a load balancer made it reachable, and of a ConfigMap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class _Raw(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True, strict=True, defer_build=True)


class _Ingress(_Raw):
    ip: str = ""


class _Balancer(_Raw):
    ingress: list[_Ingress] = []


class _Status(_Raw):
    balancer: _Balancer = Field(_Balancer(), alias="loadBalancer")


class ServiceBody(_Raw):
    """``status.loadBalancer.ingress``; a name instead of an address is left out."""

    status: _Status = _Status()

    @property
    def address(self) -> str | None:
        """The first IP address, None where there is none (yet)."""
        return next((each.ip for each in self.status.balancer.ingress if each.ip), None)


class ConfigMapBody(_Raw):
    """A ConfigMap's texts, by entry."""

    data: dict[str, str] = Field(default_factory=dict)


def config_map_apply(name: str, data: Mapping[str, str], owner: str) -> dict[str, Any]:
    """A ConfigMap of ours as a request: body, parameters and headers of a server-side apply."""
    meta = {"name": name, "labels": {"app.kubernetes.io/managed-by": "slinky-iac"}}
    return {
        "json": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": dict(data)},
        "params": {"fieldManager": owner, "force": "true"},
        "headers": {"content-type": "application/apply-patch+yaml"},
    }
