"""In which namespaces an object acts, as far as it says so itself, and for which zones the cluster's DNS asks others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from slurm_rules.made import HARMLESS
from slurm_rules.model import API_GROUP, Resource, everything, mappings
from slurm_rules.rights import acts_within
from slurm_rules.world import World

_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_REFERENCE: Final = re.compile(r"ref|(?<!re)source|secret|account", re.IGNORECASE)
"""Parts of paths by which an object names what it reads, not where it acts."""
_PLAIN: Final = re.compile(r"[a-z0-9*?-]{1,63}")


def confined(value: object, world: World) -> bool:
    """Whether a part names the namespaces that it acts in, or leaves out, so that the cluster's aren't among them."""
    named: list[bool] = []
    left_out: set[str] = set()
    referred = {path for path, part in mappings(value) if {"kind", "name"} <= part.keys() and "namespaces" not in part}
    for path, key, part in everything(value):
        if key is None or "namespace" not in key.lower() or _REFERENCE.search(path) or path.rpartition(".")[0] in referred:
            continue
        if isinstance(part, Mapping):
            named.append(spared(part, world))
        texts = [str(member) for member in (part if isinstance(part, list | tuple) else [part]) if isinstance(member, str)]
        if "exclu" in path.lower():
            left_out.update(texts)
        else:
            named += [elsewhere_named(text, world) for text in texts]
    covered = bool(world.slurm) and all(any(fnmatchcase(space, pattern) for pattern in left_out) for space in world.slurm)
    return all(named) and (bool(named) or covered)


def stays(resource: Resource) -> bool:
    """Whether an object is of a kind that acts in its own namespace, or shows that it makes pods there, and says nothing by
    which it could act outside it. What shows neither may switch machines off."""
    space, spec = resource.text("metadata", "namespace"), resource.peek("spec")
    if not space or _SYSTEM_SPACES.match(space) or not isinstance(spec, Mapping) or not spec:
        return False
    if not (acts_within(resource.group, resource.base_kind) or any(map(_of_pods, everything(spec)))):
        return False
    for _, key, part in everything({name: part for name, part in resource.props.items() if name != "metadata"}):
        if (key and _BEYOND.search(key)) or (isinstance(part, str) and part in ("*", "")):
            return False
        if isinstance(part, Mapping | list | tuple) and not part and key and _SELECTS.search(key):
            return False
    return True


def _of_pods(row: tuple[str, str | None, object]) -> bool:
    """Whether a part is one that pods are made of: an image, requests and limits, a claim's size or class."""
    _, key, part = row
    if isinstance(part, Mapping):
        return key == "resources" and not {"requests", "limits"}.isdisjoint(part)
    return isinstance(part, str) and bool(part) and key in ("image", "storageClassName")


_BEYOND: Final = re.compile(
    r"(?i)namespace|(?<!per)node(?!selector|affinity|pools?$)|manifest|drain|evict|reboot|taint|cluster(?:role|wide|scope)|role(?:binding|ref|name)|verb|remediat|unhealthy|appns|project|"
    r"destination|tenant|global|sourceref|repo(?!s$|password)|git|chart|fetch|prune(?!$)|inline|lua|wasm"
)
_SYSTEM_SPACES: Final = re.compile(r"kube-|openshift|default$|[\w-]{1,60}-system$")
_SELECTS: Final = re.compile(r"(?i)select|match")


def elsewhere_named(name: str, world: World) -> bool:
    """Whether a name, or a pattern of names, is of other namespaces than the cluster's and Kubernetes' own."""
    plain = _PLAIN.fullmatch(name) and not fnmatchcase("kube-system", name) and not name.startswith("kube-")
    return bool(plain) and not any(fnmatchcase(space, name) for space in world.closed)


def spared(selector: object, world: World) -> bool:
    """Whether a selector of namespaces leaves the cluster's out."""
    if not isinstance(selector, Mapping):
        return False
    names = selector.get("matchNames", selector.get("include"))
    label = (selector.get("matchLabels") or {}).get(_NAME_LABEL)
    if isinstance(names, list | tuple) or label is not None:
        return all(elsewhere_named(str(space), world) for space in (names or [label]))
    if any(world.lacks_label(f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()):
        return True
    for expression in selector.get("matchExpressions") or ():
        if isinstance(expression, Mapping) and expression.get("key") == _NAME_LABEL:
            values = set(map(str, expression.get("values") or ()))
            if (expression.get("operator") == "NotIn" and world.slurm <= values) or (
                expression.get("operator") == "In" and not values & world.closed
            ):
                return True
    return False


def foreign(groups: object) -> bool:
    """Whether API groups hold nothing of a cluster."""
    listed = [str(group) for group in groups] if isinstance(groups, list | tuple) else []
    return bool(listed) and all(
        "." in group and "*" not in group and not group.endswith((".k8s.io", API_GROUP, "keda.sh")) for group in listed
    )


_MANIFEST: Final = re.compile(r"(?m)^[ \t-]{0,40}kind:[ \t]{0,9}\w")


def brought(value: object, root: str) -> Iterator[tuple[str, str]]:
    """Path of every whole object inside a value, and its kind; also of one that a text has."""
    for path, part in mappings(value, root):
        kind = part.get("kind")
        if isinstance(kind, str) and isinstance(part.get("apiVersion"), str) and not _names_one(part):
            yield path, kind
        for field, text in part.items():
            if isinstance(text, str) and "apiVersion:" in text and _MANIFEST.search(text):
                yield f"{path}.{field}", "a text"


def _names_one(part: Mapping[str, Any]) -> bool:
    """A reference to an object, in whose place it stands: nothing but its name."""
    return part.keys() <= {"apiVersion", "kind", "name", "namespace", "fieldPath", "uid", "envSourceContainerName"}


_ZONE: Final = re.compile(HARMLESS["outside"]["zone"])


def asks_others(resource: Resource, world: World) -> bool:
    """Whether it has the cluster's DNS ask others for zones of their own, and nothing else. Source: coredns.io, forward."""
    if (resource.kind, resource.in_cluster_name) != ("ConfigMap", "coredns-custom") or "binaryData" in resource.names():
        return False
    for key, text in (resource.get("data") or {}).items():
        said = " ".join(str(text).split())
        zones = [f".{match[1]}" for match in _ZONE.finditer(f"{said} ")]
        own = any(f".{host}".endswith(zone) or zone.endswith(f".{host}") for zone in zones for host in (_HERE, *world.hosts))
        if own or not key.endswith(".server") or _ZONE.sub("", f"{said} ").strip():
            return False
    return True


_HERE: Final = "cluster.local"


def filters_others(resource: Resource, world: World) -> bool:
    """Whether it is a network policy of all namespaces that selects pods of others alone, or a set of addresses without a
    label of pods. Source: docs.tigera.io, GlobalNetworkPolicy; docs.cilium.io, "Kubernetes Constructs"."""
    spec, kind = resource.get("spec"), f"{resource.group.removeprefix('crd.')}/{resource.base_kind}"
    if not isinstance(spec, Mapping):
        return False
    if kind == "projectcalico.org/GlobalNetworkSet":
        labels = resource.get("metadata", "labels") or {}
        return spec.keys() == {"nets"} and all(re.fullmatch(r"(?!app$)[\w-]{1,63}", label) for label in labels)
    if kind == "projectcalico.org/GlobalNetworkPolicy":
        said = _CALICO.fullmatch(str(spec.get("namespaceSelector")))
        named = re.findall(r"['\"]([^'\"]*)['\"]", said[1]) if said else []
    elif kind == _CILIUM and "specs" not in resource.names() and "nodeSelector" not in spec:
        named = [((spec.get("endpointSelector") or {}).get("matchLabels") or {}).get(_POD_SPACE, "")]
    else:
        return False
    return bool(named) and all(elsewhere_named(str(name), world) for name in named)


_CALICO: Final = re.compile(
    r"\s*(?:kubernetes\.io/metadata\.|projectcalico\.org/)name\s*(==\s*Q|\bin\s*\{\s*(?:Q\s*(?:,\s*)?)+\})\s*".replace(
        "Q", "(?:'[^']*'|\"[^\"]*\")"
    )
)
_CILIUM: Final = "cilium.io/CiliumClusterwideNetworkPolicy"
_POD_SPACE: Final = "k8s:io.kubernetes.pod.namespace"
