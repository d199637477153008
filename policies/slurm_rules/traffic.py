"""Where connections to Slurm's daemons end: who may lead them elsewhere, and which objects do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch

from slurm_rules.cluster import is_external
from slurm_rules.model import Resource, Stack, mappings
from slurm_rules.networks import shuts_out_all
from slurm_rules.rbac import Power, aggregations, allowed, is_role, names, rules_of
from slurm_rules.rule import Options, rule, words

_WRITE = ("create", "update", "patch")
_SUFFIXES = {"Controller": "controller", "RestApi": "restapi", "Accounting": "accounting"}
"""Services of slurm-operator are named after their resource and this (api/v1beta1)."""
_APPS = ("slurmctld", "slurmrestd", "slurmdbd", "slurmd", "login")
_APP = "app.kubernetes.io/name"
_INSTANCE = "app.kubernetes.io/instance"
_SLICE_OF = "kubernetes.io/service-name"
_NETWORK = ("coredns", "coredns-custom", "kube-dns", "node-local-dns", "kube-proxy", "cilium-config")
"""ConfigMaps of kube-system by which names and Services are found."""
_SHARED = ("ServiceExport", "ServiceImport")
"""Kinds that open the Service of their name to other Kubernetes clusters, or have it answered there (mcs-api)."""
_DENYING = (
    *("CiliumNetworkPolicy", "CiliumClusterwideNetworkPolicy", "GlobalNetworkPolicy"),
    *("AdminNetworkPolicy", "BaselineAdminNetworkPolicy", "ClusterNetworkPolicy", "AuthorizationPolicy"),
)
"""Kinds that refuse connections, whatever other policies allow."""
_MESH = ("EnvoyFilter",)
_POLICY = "NetworkPolicy"
_WORKLOADS = ("Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob")


@dataclass(frozen=True)
class Way:
    """A right by which connections are led elsewhere."""

    power: Power
    by_name: bool = False
    """Whether it leads no connection of Slurm's where it is limited to objects of other names."""
    anywhere: bool = False
    """Whether it does so from any namespace."""


_WAYS = (
    Way(
        Power("", ("services",), _WRITE, "lead any address to pods of its choice by a Service (externalIPs)"),
        by_name=True,
        anywhere=True,
    ),
    Way(Power("", ("services/status",), _WRITE, "lead any address to pods of its choice (loadBalancer)"), anywhere=True),
    Way(Power("", ("endpoints",), _WRITE, "set where a Service of Slurm's leads"), by_name=True),
    Way(Power("discovery.k8s.io", ("endpointslices",), _WRITE, "set where a Service of Slurm's leads")),
    Way(Power("", ("pods/status",), _WRITE, "give a pod of Slurm's another address")),
    Way(Power("networking.k8s.io", ("ingresses",), _WRITE, "open slurmrestd to the outside")),
    Way(
        Power(
            "gateway.networking.k8s.io",
            ("httproutes", "grpcroutes", "tcproutes", "tlsroutes", "udproutes"),
            _WRITE,
            "open slurmrestd to the outside",
        )
    ),
    Way(Power("traefik.io", ("ingressroutes", "ingressroutetcps"), _WRITE, "open slurmrestd to the outside")),
    Way(
        Power(
            "networking.istio.io",
            ("virtualservices", "destinationrules", "serviceentries", "envoyfilters", "gateways", "sidecars"),
            _WRITE,
            "lead connections elsewhere in the mesh",
        )
    ),
    Way(Power("cilium.io", ("ciliumlocalredirectpolicies",), _WRITE, "set where a Service of Slurm's leads")),
    Way(
        Power(
            "networking.k8s.io",
            ("networkpolicies",),
            (*_WRITE, "delete", "deletecollection"),
            "let any pod connect to Slurm's daemons",
        )
    ),
)
_CONFIG_MAPS = Power("", ("configmaps",), (*_WRITE, "delete", "deletecollection"), "set where names lead")


def _subject(resource: Resource) -> bool:
    return (
        is_role(resource)
        or resource.is_a("", "Service", "Endpoints", "ConfigMap")
        or resource.is_a("discovery.k8s.io", "EndpointSlice")
        or resource.is_a("cilium.io", "CiliumLocalRedirectPolicy")
        or (resource.is_kubernetes and resource.base_kind in (*_SHARED, *_DENYING, *_MESH))
        or resource.is_a("networking.k8s.io", _POLICY)
        or (resource.is_kubernetes and not resource.is_slinky and resource.base_kind in _WORKLOADS)
    )


@rule(
    "slurm-traffic-left-alone",
    _subject,
    options={
        "reviewed": words((), "Names (with *) of roles and objects that people have judged, e.g. an Ingress controller's.")
    },
)
def slurm_traffic_left_alone(resource: Resource, stack: Stack, options: Options) -> Iterator[str]:
    """No role and no object of the stack leads connections to Slurm's daemons elsewhere, or opens them.

    Why: gates, the operator and users send their tokens to whatever the Service of slurmrestd leads to. Who changes that
    Service, its EndpointSlices, a pod's address or the cluster's DNS has SlurmUser's token, and answers that busy nodes are
    idle: their jobs are lost. A Service with externalIPs takes over an address for the whole Kubernetes cluster, an outside
    slurmctld's too. Anyone who writes Ingresses or NetworkPolicies can open slurmrestd, which speaks plain HTTP. A
    policy that refuses connections cuts the operator off from slurmrestd: it then takes busy nodes for drained.

    Source: Kubernetes, "Role Based Access Control Good Practices", "Services" (externalIPs; Services without selectors),
    CVE-2020-8554 and CVE-2021-25740; slurm-operator api/v1beta1 (names of its Services), internal/builder/labels.

    Do: limit the role to namespaces without Slurm, or to Services of its own by resourceNames; give pods labels of their
    own; or have it read by people and put its name into the site file (reviewed).

    Level: mandatory, since tokens leak and jobs are lost.
    """
    by_name = not resource.is_patch and not (is_role(resource) and aggregations(resource))
    if by_name and any(fnmatch(resource.in_cluster_name, pattern) for pattern in options["reviewed"]):
        return
    services = set(_services(stack))
    if is_role(resource):
        yield from _role(resource, services, {each.namespace for each in stack.resources if each.is_slinky})
    elif resource.is_a("", "ConfigMap"):
        if resource.namespace.startswith("kube-") and resource.in_cluster_name in _NETWORK:
            yield f"{resource.label} in {resource.namespace} sets where names and Services lead; remove it"
    elif not resource.is_patch:  # a patch of anything else is refused by cluster-in-sight
        yield from _object(resource, stack, services)


def _services(stack: Stack) -> Iterator[tuple[str, str]]:
    """Namespace and name of each Service that the operator makes for a daemon. For one outside Kubernetes it makes none, and
    the stack's own leads to where the stack says that the daemon is."""
    for each in stack.slinky(*_SUFFIXES):
        if not is_external(each):
            yield each.namespace, f"{each.in_cluster_name}-{_SUFFIXES[each.kind]}"


def _role(role: Resource, services: set[tuple[str, str]], slurms: set[str]) -> Iterator[str]:
    everywhere = role.base_kind == "ClusterRole"
    near = everywhere or role.namespace in slurms
    given: dict[str, str] = {}
    for entry in rules_of(role):
        limited = names(entry)
        harmless = limited and not any(name in limited for _, name in services)
        for way in _WAYS:
            if (near or way.anywhere) and not (way.by_name and harmless) and (verbs := allowed(entry, way.power)):
                given[way.power.gives] = ", ".join(verbs)
        network = everywhere or role.namespace.startswith("kube-")
        if network and (not limited or set(limited) & set(_NETWORK)) and (verbs := allowed(entry, _CONFIG_MAPS)):
            given[_CONFIG_MAPS.gives] = ", ".join(verbs)
    if given:
        shown = "; ".join(f"{what} ({verbs})" for what, verbs in given.items())
        yield f"{role.label} may {shown}; take that away, or review it (reviewed)"


def _object(resource: Resource, stack: Stack, services: set[tuple[str, str]]) -> Iterator[str]:
    place = (resource.namespace, resource.in_cluster_name)
    if resource.base_kind in _WORKLOADS:
        yield from _workload(resource, stack)
    elif resource.base_kind == "CiliumLocalRedirectPolicy":
        yield f"{resource.label} leads connections to pods of its choice on each node; remove it, or review it (reviewed)"
    elif resource.base_kind == "EndpointSlice":
        service = resource.text("metadata", "labels", _SLICE_OF)
        if (resource.namespace, service) in services:
            yield f"{resource.label} sets where Slurm's Service {service} leads; remove it"
    elif resource.base_kind in (*_SHARED, *_DENYING, *_MESH, _POLICY):
        yield from _way(resource, stack, services)
    elif place in services:
        yield f"{resource.label} takes the name of a Service that slurm-operator makes for a daemon; give it another"
    elif resource.base_kind == "Service" and (addresses := resource.get("spec", "externalIPs")):
        shown = ", ".join(map(str, addresses))
        yield f"{resource.label} takes over {shown} for all pods (externalIPs); use a LoadBalancer, or review it (reviewed)"


def _way(resource: Resource, stack: Stack, services: set[tuple[str, str]]) -> Iterator[str]:
    """Objects on the way to a Service of Slurm's: of other clusters, of a mesh, and policies."""
    spaces = {space for space, _ in services}
    if resource.base_kind in _SHARED and (resource.namespace, resource.in_cluster_name) in services:
        yield f"{resource.label} shares Slurm's Service {resource.in_cluster_name} with other Kubernetes clusters; remove it"
    if resource.base_kind in _MESH and resource.namespace in spaces:
        yield f"{resource.label} rewrites connections of Slurm's pods in the mesh; remove it, or review it (reviewed)"
    where = _refuses(resource.get("spec"), "spec") if resource.base_kind in _DENYING else ""
    if where:
        yield (
            f"{resource.label}: {where} refuses connections whatever else allows them; an operator that can't ask"
            " slurmrestd deletes busy pods. Remove it, or review it (reviewed)"
        )
    if resource.base_kind == _POLICY and any(shuts_out_all(resource, each, stack) for each in stack.slinky("RestApi")):
        yield (
            f"{resource.label} refuses everybody who connects to slurmrestd, and no other policy lets the operator; it would"
            " delete busy pods. Allow its namespace"
        )


def _refuses(value: object, path: str) -> str:
    """Where a policy refuses connections; empty for one that only allows some."""
    for here, each in mappings(value, path):
        for key, part in each.items():
            if (key in ("ingressDeny", "egressDeny") and part) or (key == "action" and str(part).upper() == "DENY"):
                return f"{here}.{key}"
    return ""


def _workload(resource: Resource, stack: Stack) -> Iterator[str]:
    """Pods with the labels that Slurm's Services select."""
    for path in (("metadata",), ("spec", "template", "metadata"), ("spec", "jobTemplate", "spec", "template", "metadata")):
        if path == ("metadata",) and resource.base_kind != "Pod":
            continue
        labels = resource.get(*path, "labels")
        if not isinstance(labels, Mapping) or labels.get(_APP) not in _APPS:
            continue
        for each in stack.resources:
            same = each.is_slinky and (each.namespace, each.in_cluster_name) == (resource.namespace, labels.get(_INSTANCE))
            if same:
                yield (
                    f"{resource.label}: its pods have the labels of {each.label}'s ({labels[_APP]}), so a Service of Slurm's"
                    " leads to them; give them labels of their own"
                )
                return
