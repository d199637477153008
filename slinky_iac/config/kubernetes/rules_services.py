"""Kubernetes' rules of Services and of how Deployments are replaced; source and use as in :mod:`.rules`. Pure."""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import Final

from slinky_iac.config.kubernetes import names
from slinky_iac.config.kubernetes.pieces import Faults, Piece, again, mapped, texts
from slinky_iac.config.shown import name_of

_PER_CENT: Final = re.compile(r"[0-9]+%")


def service(value: Piece) -> Faults:
    """``ValidateService``. Without ``type`` the Service is a ClusterIP."""
    balanced = value.get("type") == "LoadBalancer"
    local = value.get("externalTrafficPolicy") == "Local"
    if value.get("externalTrafficPolicy") and value.get("type", "ClusterIP") == "ClusterIP":
        yield ".externalTrafficPolicy", "is taken with service.type NodePort or LoadBalancer only"
    for field in ("allocateLoadBalancerNodePorts", "loadBalancerClass", "loadBalancerSourceRanges"):
        if value.get(field) is not None and not balanced:
            yield f".{field}", "is taken with service.type LoadBalancer only"
    if value.get("healthCheckNodePort") and not (balanced and local):
        yield ".healthCheckNodePort", "is taken with service.type LoadBalancer and externalTrafficPolicy: Local only"
    if value.get("clusterIP") == "None" and value.get("type", "ClusterIP") != "ClusterIP":
        yield ".clusterIP", f"is None, and a Service of type {name_of(str(value['type']))} needs an address"
    if (kind := value.get("loadBalancerClass")) and not names.is_key(str(kind)):
        yield ".loadBalancerClass", f"is {name_of(str(kind))}, and Kubernetes takes {names.KEY.form}"
    for number, source in enumerate(value.get("loadBalancerSourceRanges") or []):
        if not _is_range(str(source).strip()):
            yield f".loadBalancerSourceRanges[{number}]", "isn't a range of addresses, as 192.0.2.0/24"
    yield from _addresses(value)


def _is_range(text: str) -> bool:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text


def _addresses(value: Piece) -> Faults:
    families, several = texts(value, "ipFamilies"), texts(value, "clusterIPs")
    first = value.get("clusterIP") or ""
    yield from again((f".ipFamilies[{number}]", family) for number, family in enumerate(families))
    if value.get("ipFamilyPolicy") == "SingleStack" and max(len(families), len(several)) > 1:
        yield ".ipFamilyPolicy", "must be PreferDualStack or RequireDualStack for two families"
    for field, address in ((".clusterIP", first), *((".clusterIPs", other) for other in several)):
        if address and address != "None" and not names.is_address(str(address)):
            yield field, "isn't an address, as 10.96.0.50"
    if several and first != several[0]:
        yield ".clusterIPs", "must begin with the address of clusterIP"


def strategy(value: Piece) -> Faults:
    """``ValidateDeploymentStrategy``, ``ValidateRollingUpdateDeployment``, with their defaults of 25%."""
    if value.get("type") == "Recreate" and value.get("rollingUpdate") is not None:
        yield ".rollingUpdate", "must be left out with type: Recreate"
        return
    given = mapped(value, "rollingUpdate")
    numbers = {}
    for field in ("maxSurge", "maxUnavailable"):
        amount = given.get(field, "25%")
        if isinstance(amount, str) and _PER_CENT.fullmatch(amount) is None:
            yield f".rollingUpdate.{field}", "is a text without %; write a whole number without quotes, or a share as 25%"
        elif isinstance(amount, int) and amount < 0:
            yield f".rollingUpdate.{field}", "is below 0"
        elif isinstance(amount, int | str):
            numbers[field] = int(str(amount).rstrip("%"))
    if str(given.get("maxUnavailable", "")).endswith("%") and numbers.get("maxUnavailable", 0) > 100:
        yield ".rollingUpdate.maxUnavailable", "is above 100%"
    if list(numbers.values()) == [0, 0]:
        yield ".rollingUpdate", "has maxSurge and maxUnavailable of 0: no pod could ever be replaced"
