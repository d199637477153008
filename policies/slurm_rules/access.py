"""Namespaces, and whose pods read what is in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from posixpath import normpath
from typing import Any

from slurm_rules.charts import HELM_RELEASE
from slurm_rules.cluster import operator_release
from slurm_rules.key_material import KEY_FIELDS, named_as_key, referred_to
from slurm_rules.model import Resource, Stack, mappings
from slurm_rules.rbac import READS, allowed, is_role, names
from slurm_rules.rule import Options, rule, slinky, words

_SYSTEM = ("default", "kube-system", "kube-public", "kube-node-lease")


@rule("own-namespace", slinky("Controller"))
def own_namespace(controller: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """A Slurm cluster has a namespace of its own, apart from the operator's and from Kubernetes' own.

    Why: on destroy one would take the other with it, and anyone who may create pods in the namespace can mount slurm.key and
    become any user of the cluster.

    Source: Kubernetes, "Good practices for Secrets" (pods of a namespace read its Secrets); slurm-operator
    docs/installation.md (operator in slinky, cluster in slurm).

    Do: set cluster.namespace to a namespace that holds nothing else.

    Level: mandatory, since it leaks keys.
    """
    if controller.namespace in _SYSTEM or controller.namespace.startswith("kube-"):
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
    "/run/k3s",
    "/run/systemd/private",
    "/var/lib/docker",
    "/var/lib/rancher",
    "/var/lib/k0s",
    "/var/snap/microk8s",
    "/etc/rancher",
    "/etc/systemd",
    "/etc/cron.d",
    "/var/spool/cron",
    "/proc",
    "/root",
)
"""Folders of a Kubernetes node in which the Secrets of its pods, or the way to its containers or to its root, lie."""
_DISK = re.compile(r"/dev|/dev/(?:sd|vd|xvd|hd|nvme|mmcblk|dm-|md|loop|mapper|disk|block|mem|kmem|port|root).*")
"""All devices of a node, or one that holds its disk or memory."""
_CAPABILITIES = ("ALL", "SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE", "SYS_RAWIO", "DAC_READ_SEARCH")
"""Capabilities by which a container reads what is outside of it (capabilities(7))."""
_MAKES_SECRETS = ("ExternalSecret", "ClusterExternalSecret", "SealedSecret", "Certificate")
"""Kinds that name a Secret since they make it."""
_COPIED = ("reflector.v1.k8s.emberstack.com/", "replicator.v1.mittwald.de/", "kubed.appscode.com/", "config.syncer/")
"""Annotations by which well-known controllers copy a Secret into other namespaces."""
_EXPORTS = ("SecretExport",)
"""Kinds that have the Secret of their own name copied elsewhere (carvel's secretgen-controller)."""
_OPERATOR = "slurm-operator"


def _may_read(resource: Resource) -> bool:
    """Workloads of every kind, volumes, custom resources of others, charts; and Secrets, for who is asked to copy them."""
    return resource.type == HELM_RELEASE or (resource.is_kubernetes and resource.base_kind not in _MAKES_SECRETS)


@rule(
    "keys-mounted-by-slurm-only",
    _may_read,
    options={
        "allowedPods": words(
            ("*/slurm-operator", "*/slurm-operator-webhook"),
            "Objects, as namespace/name (with *), whose pods may read keys, and Roles that may name them.",
        )
    },
)
def keys_mounted_by_slurm_only(resource: Resource, stack: Stack, options: Options) -> Iterator[str]:
    """No object of the stack reads a key's Secret: no pod by volume, environment, node or account, no chart, and nothing
    copies it.

    Why: the operator gives each daemon the keys that it needs. Any other pod with slurm.key or the JWT key, a slurmd pod
    that mounts the JWT key too, lets its root be any user of the cluster; a pod that mounts the kubelet's folders, is
    privileged or in the node's process table reads the Secrets of every pod on that node, and one that runs as the
    operator's account, or whose Role names the Secret, reads them of the API server. slurmd's own containers are
    privileged by the operator's default and not judged for it. Controllers that copy Secrets do it for anyone who writes
    an annotation or names one. munge.key is not judged: its clients' pods hold it by design.

    Source: Kubernetes, "Good practices for Secrets", "Volumes" (hostPath, warning; local), "Pod Security Standards"
    (privileged, host namespaces, capabilities); slurm.schedmd.com/authentication.html; slurm-operator
    internal/builder (which pods get which key).

    Do: take the volume or variable out; a program that needs tokens gets a Token, not the key.

    Level: mandatory, since it leaks keys.
    """
    release = resource.type == HELM_RELEASE
    place = (
        (resource.text("namespace"), resource.text("name")) if release else (resource.namespace, resource.in_cluster_name)
    )
    if any(fnmatch("/".join(place), each) for each in options["allowedPods"]):
        return
    keys = {name for _, name in referred_to(stack)}
    if resource.is_a("", "Secret"):
        yield from _has_copies(resource, keys)
    elif is_role(resource):
        yield from _names_keys(resource, keys)
    else:
        name = resource.in_cluster_name
        if resource.base_kind in _EXPORTS and (name in keys or named_as_key(name)):
            yield f"{resource.label} has the Secret of its name, a key, copied into other namespaces; remove it"
        yield from _reads(resource, keys, "values" if release else "spec")


def _has_copies(secret: Resource, keys: set[str]) -> Iterator[str]:
    if secret.in_cluster_name in keys or named_as_key(secret.in_cluster_name):
        for note in (*secret.names("metadata", "annotations"), *secret.names("metadata", "labels")):
            if note.startswith(_COPIED):
                yield f"{secret.label} holds a key, and {note} has it copied into other namespaces; remove it"


def _names_keys(role: Resource, keys: set[str]) -> Iterator[str]:
    for entry in role.get("rules") or ():
        held = [name for name in names(entry) if name in keys or named_as_key(name)]
        if held and (verbs := allowed(entry, READS)):
            yield f"{role.label} may {', '.join(verbs)} the Secret {held[0]}, a key; take it out, or review it (allowedPods)"


def _reads(resource: Resource, keys: set[str], root: str) -> Iterator[str]:
    for path, value in mappings(resource.get(root), root):
        if not resource.is_slinky and (way := _to_the_node(value)):
            yield f"{resource.label}: {path} has {way}, the way to its node's Secrets; remove it, or review it (allowedPods)"
        account = value.get("serviceAccountName") or value.get("serviceAccount")
        if account == _OPERATOR:
            yield f"{resource.label}: {path} runs as {account}, which reads every Secret; give it an account of its own"
        for field, name in value.items():
            if isinstance(name, str) and (name in keys or named_as_key(name)) and not _typed(resource, path, field):
                yield f"{resource.label}: {path} reads the Secret {name}, which holds a key; only Slurm's own daemons may"
        doors = [door for field in ("hostPath", "local") if isinstance(door := value.get(field), Mapping)]
        for folder in [door["path"] for door in doors if isinstance(door.get("path"), str) and is_door(door["path"])]:
            yield f"{resource.label}: {path} opens {folder} of the node, where the Secrets of all its pods lie; remove it"


def _typed(resource: Resource, path: str, field: str) -> bool:
    """Whether this is one of the fields in which a resource of Slinky's refers to its keys."""
    return resource.is_slinky and field == "name" and path.rsplit(".", 1)[-1] in KEY_FIELDS and path.count(".") == 1


def _to_the_node(value: Mapping[str, Any]) -> str:
    """What takes a pod, or a container, out to its node; empty for nothing."""
    if value.get("hostPID") is True:
        return "hostPID"
    if value.get("privileged") is True:
        return "privileged"
    added = value.get("capabilities")
    listed = added.get("add") if isinstance(added, Mapping) else None
    wanted = (str(each).upper().removeprefix("CAP_") for each in listed or ())
    return next((each for each in wanted if each in _CAPABILITIES), "")


def is_door(folder: str) -> bool:
    """Whether a node's Secrets, its containers or its root are in, or right below, a folder."""
    path = normpath("/" + folder.strip().lstrip("/")).replace("/var/run", "/run")
    if _DISK.fullmatch(path):
        return True
    below = path.rstrip("/") + "/"
    return any(below.startswith(f"{door}/") or f"{door}/".startswith(below) for door in _DOORS)
