"""Namespaces, and whose pods read what is in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from posixpath import normpath
from typing import Any

from slurm_rules.cluster import operator_release
from slurm_rules.key_material import named_as_key, referred_to
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, rule, slinky, words

_SYSTEM = ("default", "kube-system", "kube-public", "kube-node-lease")


@rule("own-namespace", slinky("Controller"))
def own_namespace(controller: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """A Slurm cluster has a namespace of its own, apart from the operator's and from Kubernetes' own.

    Why: on destroy one would take the other with it, and whoever may create pods in the namespace can mount slurm.key and
    become any user of the cluster.

    Source: Kubernetes, "Good practices for Secrets" (pods of a namespace read its Secrets); slurm-operator
    docs/installation.md (operator in slinky, cluster in slurm).

    Do: set cluster.namespace to a namespace that holds nothing else.

    Level: mandatory, since it leaks keys.
    """
    if controller.namespace in _SYSTEM:
        yield f"{controller.label} is in namespace {controller.namespace}, which others use too; give it one of its own"
    release = operator_release(stack)
    if release is not None and release.text("namespace") == controller.namespace:
        yield f"{controller.label} and slurm-operator are both in namespace {controller.namespace}; give each its own"


_DOORS = (
    "/var/lib/kubelet",
    "/var/lib/containerd",
    "/var/lib/etcd",
    "/etc/kubernetes",
    "/run/containerd",
    "/run/crio",
    "/run/docker.sock",
    "/proc",
    "/root",
)
"""Folders of a Kubernetes node in which the Secrets of its pods, or the way to its containers, lie."""
_REFERENCES = ("secretKeyRef", "secretRef", "secret")


def _runs_pods(resource: Resource) -> bool:
    """Anything but what only holds or names Secrets: workloads of every kind, volumes, custom resources of others."""
    return resource.is_kubernetes and resource.base_kind not in ("Secret", "ServiceAccount", "Role", "ClusterRole")


@rule(
    "keys-mounted-by-slurm-only",
    _runs_pods,
    options={"allowedPods": words((), "Objects, as namespace/name (with *), whose pods may read keys.")},
)
def keys_mounted_by_slurm_only(resource: Resource, stack: Stack, options: Options) -> Iterator[str]:
    """No pod of the stack reads a key's Secret, by a volume, by its environment or by its node's own file system.

    Why: the operator gives each daemon the keys that it needs. Any other pod with slurm.key or the JWT key, a slurmd pod
    that mounts the JWT key too, lets its root be any user of the cluster; and a pod that mounts the kubelet's folders reads
    the Secrets of every pod on that node. munge.key is not judged: its clients' pods hold it by design.

    Source: Kubernetes, "Good practices for Secrets", "Volumes" (hostPath, warning); slurm.schedmd.com/authentication.html;
    slurm-operator internal/builder (which pods get which key).

    Do: take the volume or variable out; a program that needs tokens gets a Token, not the key.

    Level: mandatory, since it leaks keys.
    """
    if any(fnmatch(f"{resource.namespace}/{resource.in_cluster_name}", each) for each in options["allowedPods"]):
        return
    keys = referred_to(stack)
    for path, value in _mappings(resource.get("spec"), "spec"):
        for name in _secrets(value):
            if (resource.namespace, name) in keys or named_as_key(name):
                yield f"{resource.label}: {path} reads the Secret {name}, which holds a key; only Slurm's own daemons may"
        door = value.get("hostPath")
        folder = door.get("path") if isinstance(door, Mapping) else None
        if isinstance(folder, str) and _is_door(folder):
            yield f"{resource.label}: {path} opens {folder} of the node, where the Secrets of all its pods lie; remove it"


def _mappings(value: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:  # noqa: ANN401 - a JSON value
    if isinstance(value, Mapping):
        yield path, value
        for key, part in value.items():
            yield from _mappings(part, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _mappings(part, f"{path}[{index}]")


def _secrets(value: Mapping[str, Any]) -> Iterator[str]:
    """Names of the Secrets that one mapping of a pod's spec refers to, in all the ways that a pod knows."""
    for key in _REFERENCES:
        part = value.get(key)
        if isinstance(part, Mapping):
            yield from (str(part[name]) for name in ("secretName", "name") if isinstance(part.get(name), str))


def _is_door(folder: str) -> bool:
    path = normpath("/" + folder.strip().lstrip("/")).replace("/var/run", "/run")
    below = path.rstrip("/") + "/"
    return any(below.startswith(f"{door}/") or f"{door}/".startswith(below) for door in _DOORS)
