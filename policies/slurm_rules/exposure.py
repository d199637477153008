"""slurmrestd speaks plain HTTP: who can reach it, and how the gates do."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from slurm_rules.cluster import containers, on_host_network
from slurm_rules.gate_shape import GATES
from slurm_rules.model import Resource, Stack, everything
from slurm_rules.rule import Options, rule, words

_PORT = 6820
_APP = "slurmrestd"
_TLS_PROXY = "slinky-tls"
"""Container that `restapi.tls` puts beside slurmrestd (slinky_iac/specs/restapi_tls.py)."""
_OPEN = ("NodePort", "LoadBalancer")
_ROUTES = ("HTTPRoute", "GRPCRoute", "TCPRoute", "UDPRoute")
_OTHERS = (
    "IngressRoute",
    "IngressRouteTCP",
    "HTTPProxy",
    "VirtualService",
    "Route",
    "Mapping",
    "ApisixRoute",
    "HTTPScaledObject",
)
"""Ways in from outside of well-known controllers (Traefik, Contour, Istio, OpenShift, Emissary, APISIX, KEDA)."""
_CORE = ("Service",)
_TUNNELS = ("tailscale.com/expose", "tailscale.com/funnel", "k8s.ngrok.com/")
"""Annotations by which well-known controllers open a Service to a network of their own."""


def _subject(resource: Resource) -> bool:
    if resource.is_slinky:
        return resource.base_kind == "RestApi"
    return resource.is_a("", *_CORE) or (resource.is_kubernetes and resource.base_kind in ("Ingress", *_ROUTES, *_OTHERS))


@rule("no-open-slurmrestd", _subject)
def no_open_slurmrestd(resource: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """slurmrestd isn't open to a network that isn't Kubernetes' own.

    Why: slurmrestd speaks plain HTTP. On a node's network, behind a NodePort, a load balancer, an external address or a
    route without TLS, everyone on that network can read tokens as they pass and use them as any user.

    Source: Slinky hybrid guide, "Host Network" (access to the entire network and all ports); slurmrestd(8), security note;
    slurm-operator internal/builder/labels (labels of its pods); Gateway API, "TLS".

    Do: leave the RestApi on the pod network with a ClusterIP Service; for users run a slurmrestd behind a TLS proxy, or an
    Ingress or Gateway that takes TLS only.

    Level: mandatory, since tokens leak.
    """
    if resource.is_slinky:
        yield from _restapi(resource)
    elif resource.is_a("", *_CORE):
        if _leads_there(resource, stack):
            yield from _service(resource.get("spec") or {}, resource.label)
            for note in resource.names("metadata", "annotations"):
                if note.startswith(_TUNNELS):
                    yield f"{resource.label} opens slurmrestd in plain HTTP to another network ({note}); remove that"
    elif resource.base_kind == "Ingress":
        if _names_it(resource.get("spec"), stack):
            yield from _ingress(resource)
    elif resource.base_kind in _ROUTES:
        if _names_it(resource.get("spec"), stack):
            yield from _route(resource, stack)
    elif _names_it(resource.get("spec"), stack) and not resource.get("spec", "tls"):
        yield f"{resource.label} leads to slurmrestd without TLS; add it, or take the way out"


def _restapi(restapi: Resource) -> Iterator[str]:
    if on_host_network(restapi):
        yield f"{restapi.label} is on the host's network: port {_PORT} of the node is open in plain HTTP; remove it"
    yield from _service(restapi.get("spec", "service", "spec") or {}, restapi.label)
    for path in containers(restapi):
        for port in restapi.get(*path, "ports") or ():
            if port.get("hostPort"):
                yield f"{restapi.label}: hostPort {port['hostPort']:g} opens slurmrestd on its node's network; remove it"


def _service(spec: Mapping[str, Any], label: str) -> Iterator[str]:
    if spec.get("type") in _OPEN:
        yield f"{label} opens slurmrestd in plain HTTP by a {spec['type']} Service; use ClusterIP"
    if spec.get("externalIPs"):
        yield f"{label} opens slurmrestd in plain HTTP on {', '.join(map(str, spec['externalIPs']))}; remove externalIPs"


def _leads_there(service: Resource, stack: Stack) -> bool:
    """Whether a Service leads to slurmrestd: by its port, or since its selector fits the pods of a RestApi."""
    for port in service.get("spec", "ports") or ():
        target = port.get("targetPort", port.get("port"))
        if target in (_PORT, str(_PORT), _APP) or port.get("port") == _PORT:
            return True
    selector = service.get("spec", "selector") or {}
    return bool(selector) and any(
        _labels(restapi) | selector == _labels(restapi) and not _takes_tls_only(service, restapi)
        for restapi in stack.slinky("RestApi")
        if restapi.namespace == service.namespace
    )


def _takes_tls_only(service: Resource, restapi: Resource) -> bool:
    """Whether all ports of a Service lead to the TLS proxy that `restapi.tls` puts into slurmrestd's pods."""
    proxies = [restapi.get(*path) or {} for path in containers(restapi) if restapi.get(*path, "name") == _TLS_PROXY]
    offered = {port.get("containerPort") for proxy in proxies for port in proxy.get("ports") or ()}
    targets = {port.get("targetPort", port.get("port")) for port in service.get("spec", "ports") or ()}
    return bool(targets) and targets <= offered - {_PORT}


def _labels(restapi: Resource) -> dict[str, Any]:
    """Labels of a RestApi's pods."""
    own = {"app.kubernetes.io/name": _APP, "app.kubernetes.io/instance": restapi.in_cluster_name}
    return {**(restapi.get("spec", "template", "metadata", "labels") or {}), **own, "app.kubernetes.io/component": "restapi"}


def _names_it(value: Any, stack: Stack) -> bool:  # noqa: ANN401 - a JSON value
    """Whether a route names slurmrestd's Service, its port, or a Service of the stack that leads there."""
    names = {f"{restapi.in_cluster_name}-restapi" for restapi in stack.slinky("RestApi")}
    names |= {s.in_cluster_name for s in stack.resources if s.is_a("", "Service") and _leads_there(s, stack)}
    return any(_is_backend(part, names) for _, _, part in everything(value))


def _is_backend(part: object, names: set[str]) -> bool:
    if isinstance(part, str):
        first = part.split("//", 1)[-1].split(":", 1)[0].split(".", 1)[0]
        return first in names or first.endswith("-restapi") or part == _APP
    return part == _PORT


def _ingress(ingress: Resource) -> Iterator[str]:
    covered = {str(host) for tls in ingress.get("spec", "tls") or () for host in tls.get("hosts") or ("",)}
    hosts = {str(each.get("host", "")) for each in ingress.get("spec", "rules") or ()} or {""}
    bare = sorted(host for host in hosts if host not in covered and "" not in covered)
    if bare or not covered:
        shown = ", ".join(bare) or "all hosts"
        yield f"{ingress.label} leads to slurmrestd without TLS ({shown}); add spec.tls, or remove it"
    notes = ingress.get("metadata", "annotations") or {}
    for name, value in notes.items():
        if name.endswith("ssl-redirect") and value == "false":
            yield f"{ingress.label} leads to slurmrestd and takes plain HTTP too ({name}); remove the annotation"


def _route(route: Resource, stack: Stack) -> Iterator[str]:
    if route.base_kind in ("TCPRoute", "UDPRoute"):
        yield f"{route.label} leads to slurmrestd without TLS; use an HTTPRoute with an HTTPS listener"
        return
    for parent in route.get("spec", "parentRefs") or ():
        place = (parent.get("namespace") or route.namespace, parent.get("name"))
        gateways = [
            g for g in stack.resources if g.is_kubernetes and g.base_kind in ("Gateway", "ListenerSet", "XListenerSet")
        ]
        known = [gateway for gateway in gateways if (gateway.namespace, gateway.in_cluster_name) == place]
        if not known:
            yield f"{route.label} leads to slurmrestd by the Gateway {place[1]}, which is not in this stack; declare it here"
        for gateway in known:
            for listener in gateway.get("spec", "listeners") or ():
                if parent.get("sectionName") in (None, listener.get("name")) and listener.get("protocol") != "HTTPS":
                    shown = f"{listener.get('name')} of {gateway.label} ({listener.get('protocol')})"
                    yield f"{route.label} leads to slurmrestd by the listener {shown}; use one with HTTPS"


@rule(
    "slurmrestd-over-tls",
    lambda resource: resource.type in GATES,
    scope="resource",
    options={"plainHttpHosts": words((), "Hosts whose slurmrestd may be asked in plain HTTP, on a network of their own.")},
)
def slurmrestd_over_tls(gate: Resource, _: Stack, options: Options) -> Iterator[str]:
    """Gates ask slurmrestd over TLS, by Kubernetes' API server, or on their own machine.

    Why: a gate sends a token of SlurmUser. Over plain HTTP everyone on the way has it, submits and cancels as any user for
    as long as it lives, and may answer in slurmrestd's place that busy nodes are idle: their jobs are lost.

    Source: RFC 6750 section 5.3 (bearer tokens need TLS); slurm.schedmd.com/jwt.html.

    Do: give slurmrest.url an https address with caFile, or leave it out, which goes by the API server's proxy.

    Level: mandatory, since tokens leak and jobs are lost.
    """
    url = gate.text("url").strip()
    if not url:
        return
    parts = urlsplit(url)
    if (
        parts.scheme != "https"
        and not _own_machine(parts.hostname or "")
        and parts.hostname not in options["plainHttpHosts"]
    ):
        yield f"{gate.name}: slurmrest.url has the scheme {parts.scheme or 'none'}, so tokens pass in plain text; use https"


def _own_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
