"""What a stack's cluster is called and where it is: the names by which everything else in the stack is judged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from slurm_rules.charts import HELM_RELEASE, chart_name
from slurm_rules.cluster import NODESET_SCALE, has_cgroups, most_nodes
from slurm_rules.model import Hidden, HiddenValueError, Resource, Stack, everything, mappings, texts
from slurm_rules.slurm_conf import settings

GATE_TYPES = "pulumi-python:dynamic/slurm:"
"""Beginning of the types of this program's gates."""
OPERATOR_NAMESPACE = "slinky"
"""Where slurm-operator is, unless the stack deploys it elsewhere."""
_ELSEWHERE = (("spec", "external"), ("spec", "template", "spec", "hostNetwork"))
_STORES = {"Controller": ("persistence",), "MariaDB": ("storage",)}
_MADE = ("ConfigMap", "PersistentVolumeClaim", "ServiceAccount")
_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
_OF_HERE = (".internal", ".local", ".lan", ".home.arpa", ".localdomain")
"""Ends of names that the world's servers of names don't answer for. Source: RFC 6762, 8375; ICANN, .internal."""
_NETWORK = re.compile(r"[\d.]{7,15}/(?:[89]|[12]\d|3[0-2])|[\da-f:]{2,39}/(?:1[6-9]|[2-9]\d|1[0-2]\d)")
"""No network so wide that it says nothing."""
_NAME = re.compile(r"[a-z0-9_.-]{1,253}")
_HOST = re.compile(r"(?:(?<=//)|(?<![\w./-])(?!\S{1,255}/))(?:[\w-]{1,63}+\.){1,9}[A-Za-z][\w-]{1,62}+(?![\w-]|\.\w)")
"""A host's name, and no image's: that is believed for its certificate and its digest."""
_REFERENCES = ("name", "secretName", "claimName")
_OF_A_VARIABLE = frozenset({"secretKeyRef", "configMapKeyRef"})
"""Where Kubernetes takes a container's variable from. What else refers to an entry of a Secret means a key of Slurm."""


@dataclass(frozen=True)
class World:
    """Names that follow from a stack. ``texts`` are the values that a template's mark may have (:mod:`slurm_rules.made`)."""

    slurm: frozenset[str]
    operator: frozenset[str]
    bases: frozenset[str]
    clusters: frozenset[str]
    scaled: frozenset[str]
    hosts: frozenset[str]
    referred: frozenset[str]
    files: frozenset[str]
    """ConfigMaps of which a Controller takes files of /etc/slurm, prologs or epilogs."""
    scripts: frozenset[str]
    """Names of the files in them, as far as the stack makes them."""
    archives: frozenset[str]
    """Folders to which slurmdbd writes what it purges (ArchiveDir)."""
    addresses: frozenset[str]
    """Names of hosts in what the cluster's own objects say: daemons, databases, gates."""
    sssd: frozenset[tuple[str, str]]
    """Name and entry of the Secrets that pods read as sssd.conf; ``""`` for what isn't known yet, which may be any."""
    priorities: frozenset[str]
    keys: frozenset[str]
    held: frozenset[str]
    """Secrets of daemons with keys that no pod of jobs may have: the database's password, private keys for TLS."""
    secrets: tuple[str, ...]
    """Secrets of the cluster's namespaces, once for each resource of the stack that makes or fills one."""
    apps: frozenset[str]
    """Values of the label app that the daemons' pods have."""
    policies: frozenset[tuple[str, str]]
    """Name and direction of the NetworkPolicies there."""
    balanced: bool
    """Whether a daemon's Service takes a node port or a load balancer."""
    pods: float
    """How many pods the daemons have at least, those of NodeSets at their most."""
    made: frozenset[tuple[str, str, str]]
    """Kind, namespace and name of what the stack makes: ConfigMaps with files, claims of no given volume, accounts."""
    provider: bool
    """Whether Slurm takes tokens of an identity provider, or its slurm.conf isn't of this stack."""
    networks: frozenset[str]
    """Networks that NetworkPolicies of the cluster's namespaces name."""
    reach: Mapping[str, frozenset[str]]
    daemons: frozenset[str]
    """Kinds of Slinky's of which the stack runs pods with addresses of their own."""
    databases: frozenset[tuple[str, str]]
    """Name and user of slurmdbd's database."""
    stores: frozenset[tuple[str, float]]
    """Host and port of the databases that slurmdbd's pods ask; ``""`` and 0 for what isn't known."""
    labels: frozenset[str] | None
    """Labels of the cluster's namespaces; None where this stack doesn't make them."""
    classes: frozenset[str]
    """StorageClasses of slurmctld's state and of databases; ``""`` for the default one."""
    cgroups: bool
    """Whether jobs of any cluster here are held by cgroups. True where a file can't be read now."""

    @property
    def closed(self) -> frozenset[str]:
        """Namespaces in which everything is judged: the cluster's and the operator's."""
        return self.slurm | self.operator

    def knows(self, host: str) -> bool:
        """Whether a host is one of the stack's, or of the domain of one."""
        domain = host.partition(".")[2]
        return host in self.hosts or ("." in domain and any(own.partition(".")[2] == domain for own in self.hosts))

    def near(self, host: str) -> bool:
        """Whether no host of a stranger is called so: a private address, one of a known network, or a name of here."""
        with suppress(ValueError):
            address = ip_address(host)
            return any(address in _network(network) for network in (*_PRIVATE, *self.networks))
        return bool(_NAME.fullmatch(host)) and ("." not in host or host.endswith(_OF_HERE) or self.knows(host))

    def reaches(self, host: str) -> bool:
        """Whether a host is one of Kubernetes' Services, or known to the stack."""
        labels = host.split(".")
        return len(labels) <= 2 or labels[2:] in (["svc"], ["svc", "cluster", "local"]) or self.knows(host)

    def lacks_label(self, label: str) -> bool:
        """Whether the cluster's namespaces can't have a label: not Kubernetes', the program's, or one of their name."""
        return self.labels is not None and not any(word in label for word in (*self.labels, "k8s.io", "kubernetes.io"))

    def texts(self, mark: str) -> frozenset[str]:
        """Values of a mark of templates."""
        return {"base": self.bases, "ns": self.slurm, "ops": self.operator, "cluster": self.clusters}[mark]


@lru_cache(maxsize=256)
def _network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text, strict=False)


def _held(daemon: Resource) -> Iterator[str]:
    for path, name in _named(daemon.props):
        if path.endswith("passwordKeyRef"):
            yield name
    volumes = daemon.peek("spec", "template", "spec", "volumes")
    for volume in volumes if isinstance(volumes, list | tuple) else ():  # what isn't known yet names nothing
        secret = volume.get("secret") if isinstance(volume, Mapping) else None
        items = secret.get("items") if isinstance(secret, Mapping) else None
        if isinstance(secret, Mapping) and "tls.key" in {text for _, text in texts(items)}:
            yield str(secret.get("secretName"))


@lru_cache(maxsize=64)
def world_of(stack: Stack) -> World:
    """The names of a stack. Values that aren't known yet name nothing."""
    slinky = [part for part in stack.resources if part.is_slinky and not part.is_patch]
    gates = [part for part in stack.resources if part.type.startswith(GATE_TYPES)]
    releases = [release for release in stack.of_type(HELM_RELEASE) if _known(release, "chart")]
    operators = [r for r in releases if chart_name(r) in ("slurm-operator", "slurm-operator-crds")]
    main = [part for part in slinky if part.kind in ("Controller", "RestApi", "Accounting")]
    bases = {daemon.in_cluster_name for daemon in main if _known(daemon, "metadata", "name")}
    bases |= {_known(gate, "controller") or _known(gate, "resourceName") for gate in gates}
    if not bases - {""}:  # parts of a cluster that another stack has
        bases = {_known(part, "metadata", "labels", "slinky.slurm.net/cluster") for part in stack.resources}
    scaled = {_known(g, "resource") for g in gates if g.type == NODESET_SCALE and _known(g, "owner") == "autoscaler"}
    hosts = {_known(daemon, "spec", "externalConfig", "host") for daemon in main}
    pods = [part.peek("spec", "template", "spec", "priorityClassName") for part in slinky]
    fields = [pair for resource in slinky for pair in _named(resource.props)]
    referring = [(path.rpartition(".")[2], name) for path, name in fields if "password" not in path]
    keys = {name for field, name in referring if field.endswith("KeyRef") and field not in _OF_A_VARIABLE}
    clusters = {_known(daemon, "spec", "clusterName") for daemon in main} - {""}
    slurm = {part.namespace for part in slinky if _known(part, "metadata", "namespace")}
    slurm |= {_known(gate, "namespace") for gate in gates} - {""}
    operator = {_known(release, "namespace") for release in operators} - {""} | {OPERATOR_NAMESPACE}
    own = [
        part for part in stack.resources if part.kind == "Namespace" and _known(part, "metadata", "name") in slurm | operator
    ]
    labels = {key for namespace in own for _, key, _ in everything(namespace.peek("metadata", "labels")) if key}
    inside = [part for part in stack.resources if _known(part, "metadata", "namespace") in slurm]
    foreign = any(gate.peek("createNamespace") is False for gate in gates)
    ours = (*slinky, *gates, *(part for part in inside if part.kind == "Service"))
    files = {name for path, name in fields if path.partition("[")[0].endswith(("FileRefs", "ScriptRefs"))}
    maps = [part.peek("data") for part in inside if part.kind == "ConfigMap" and part.in_cluster_name in files]
    confs = [settings(_known(daemon, "spec", "extraConf")) for daemon in main if daemon.kind == "Accounting"]
    return World(
        slurm=frozenset(slurm),
        operator=frozenset(operator),
        bases=frozenset(bases - {""}),
        clusters=frozenset(clusters),
        scaled=frozenset(scaled - {""}),
        hosts=frozenset(hosts - {""}),
        referred=frozenset(name for part in slinky if part.kind != "Token" for _, name in _named(part.props)),
        files=frozenset(files),
        scripts=frozenset(str(key) for data in maps if isinstance(data, Mapping) for key in data),
        archives=frozenset(conf["archivedir"].rstrip("/") for conf in confs if "archivedir" in conf),
        addresses=frozenset(host.lower() for part in ours for _, text in texts(part.props) for host in _HOST.findall(text)),
        sssd=frozenset(
            (_known(part, *path, "name"), _known(part, *path, "key"))
            for part in slinky
            for path in (("spec", "sssdConfRef"), ("spec", "ssh", "sssdConfRef"))
            if isinstance(part.peek(*path), Mapping)
        ),
        secrets=tuple(name for part in inside for name in filled(part)),
        policies=frozenset(
            (policy.in_cluster_name, str(way))
            for policy in inside
            if policy.kind == "NetworkPolicy"
            for _, _, way in everything(policy.peek("spec", "policyTypes"))
        ),
        networks=frozenset(
            cidr
            for policy in inside
            if policy.kind == "NetworkPolicy"
            for _, key, cidr in everything(policy.peek("spec"))
            if key == "cidr" and isinstance(cidr, str) and _NETWORK.fullmatch(cidr)
        ),
        apps=frozenset(_known(part, "spec", "template", "metadata", "labels", "app") for part in slinky),
        balanced=any(part.peek("spec", "service", "spec", "type") in ("NodePort", "LoadBalancer") for part in slinky),
        pods=_pods(slinky, stack),
        priorities=frozenset(name for name in pods if isinstance(name, str)),
        keys=frozenset(keys),
        held=frozenset(name for daemon in main for name in _held(daemon)),
        made=frozenset(
            (part.kind, part.namespace, part.in_cluster_name)
            for part in stack.resources
            if part.kind in _MADE and part.is_kubernetes and not _there(part.peek("spec", "volumeName"))
            if part.kind != "ConfigMap" or _there(part.peek("data"))
        ),
        provider=any(
            part.peek("spec", "external") is True or "userclaimfield" in str(part.props).lower() for part in (*main, *gates)
        ),
        daemons=frozenset(part.kind for part in slinky if all(part.peek(*path) in (None, False) for path in _ELSEWHERE)),
        labels=None if foreign else frozenset((slurm | operator | bases | clusters | labels) - {""}),
        cgroups=_any_cgroups([daemon for daemon in main if daemon.kind == "Controller"], stack),
        classes=frozenset(
            _known(part, "spec", *_STORES[part.kind], "storageClassName") for part in stack.resources if part.kind in _STORES
        ),
        databases=frozenset(_database(part) for part in slinky if part.kind == "Accounting"),
        stores=frozenset(store for part in slinky if part.kind == "Accounting" for store in _stores(part)),
        reach={field: _reached(gates, field) for field in ("kubeconfig", "context")},
    )


def filled(resource: Resource) -> list[str]:
    """Names of the Secrets that an object is, or fills."""
    match resource.kind:
        case "Secret" | "SealedSecret":
            return [resource.in_cluster_name]
        case "ExternalSecret":
            return [_known(resource, "spec", "target", "name") or resource.in_cluster_name]
        case "Certificate":
            return [_known(resource, "spec", "secretName")]
        case "Token":
            return [_known(resource, "spec", "secretRef", "name")]
        case "SecretProviderClass":
            return [str(part) for _, key, part in everything(resource.peek("spec")) if key == "secretName"]
        case _:
            return []


def _pods(slinky: list[Resource], stack: Stack) -> float:
    with suppress(HiddenValueError):
        sets = sum(most_nodes(part, stack) for part in slinky if part.kind == "NodeSet")
        return sets + sum(part.number("spec", "replicas") or 1 for part in slinky if part.kind not in ("NodeSet", "Token"))
    return 0


def _there(value: object) -> bool:
    """Whether something is there, hidden or not."""
    return isinstance(value, Hidden) or bool(value)


def _any_cgroups(controllers: list[Resource], stack: Stack) -> bool:
    with suppress(HiddenValueError):
        return not controllers or any(has_cgroups(controller, stack) for controller in controllers)
    return True


def _database(accounting: Resource) -> tuple[str, str]:
    """Where a spec says nothing, what slurm-operator has."""
    name, user = (_known(accounting, "spec", "storageConfig", field) for field in ("database", "username"))
    return name or "slurm_acct_db", user or "slurm"


def _stores(accounting: Resource) -> Iterator[tuple[str, float]]:
    """Of the port, slurm-operator's default, where a spec says nothing."""
    port, conf = accounting.peek("spec", "storageConfig", "port"), settings(_known(accounting, "spec", "extraConf"))
    for host in (_known(accounting, "spec", "storageConfig", "host"), *filter(None, [conf.get("storagebackuphost")])):
        yield host, 3306 if port is None else port if isinstance(port, int | float) else 0


def _reached(gates: list[Resource], field: str) -> frozenset[str]:
    """What gates have as the cluster that they work on. Providers may be several; gates all have one stack's."""
    return frozenset(_known(gate, field) for gate in gates if gate.kind != "JobLife")


def _known(resource: Resource, *path: str) -> str:
    value = resource.peek(*path)
    return value if isinstance(value, str) else ""


def _named(props: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Path and value of every field that names a Secret, a ConfigMap or a claim."""
    for path, part in mappings(props, ""):
        if path == "metadata" or isinstance(part, Hidden):
            continue
        for field in _REFERENCES:
            if isinstance(name := part.get(field), str):
                yield path, name
