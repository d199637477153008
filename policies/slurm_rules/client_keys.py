"""Client pods: who may see their copy of the key, and where it may be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from typing import Any

from slurm_rules.charts import HELM_RELEASE
from slurm_rules.cluster import operator_release
from slurm_rules.model import Resource, Stack, mappings, texts
from slurm_rules.rule import Options, rule

NAMES = "*-client-*"
"""Names of the copies that slinky-iac makes for clients."""
_MANAGED = "app.kubernetes.io/managed-by"
_SIDECARS = ("sackd", "munged")


def is_copy(resource: Resource) -> bool:
    """Whether a Secret is a client's copy of a key, as slinky-iac makes it: pods follow it while they run."""
    made = resource.get("metadata", "labels", _MANAGED) == "slinky-iac"
    return resource.is_a("", "Secret") and made and fnmatch(resource.in_cluster_name, NAMES)


_KEYS = re.compile(r"slurm\.key|slurm\.jwks|munge\.key")
"""Entries that a client's Secret may have: what sackd or munged needs. A JWT key signs for anybody."""
_SYSTEM = ("default", "kube-")


def may_copy(secret: Resource, entry: str, other: Resource) -> bool:
    """Whether ``entry`` of a Secret may occur in another Secret too: one of the two is a client's copy of a daemon's key,
    which :func:`client_keys_in_sidecar` judges."""
    return bool(_KEYS.fullmatch(entry)) and secret.namespace != other.namespace and (is_copy(secret) or is_copy(other))


@rule("client-keys-in-sidecar", lambda resource: resource.is_kubernetes or resource.type == HELM_RELEASE)
def client_keys_in_sidecar(resource: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """Clients have slurm.key in a namespace of their own, and only a locked sidecar mounts it.

    Why: anyone who can read slurm.key can act as any user of the cluster, root too. In the cluster's own namespace,
    anyone who may create a client's pod can mount the JWT key as well. A container of a person that mounts the key, or
    the sidecar's copy of it, hands it to that person. sackd and munged know their callers by uid: a container beside them
    that is root, or can become root, is root to Slurm. What the sidecar's image does can't be judged.

    Source: slurm.schedmd.com/authentication.html (auth/slurm); Kubernetes, "Good practices for Secrets", "Pod Security
    Standards" (restricted), "Share Process Namespace between Containers in a Pod"; sackd(8).

    Do: take sidecar, volumes and mounts as `slinky client NAME` prints them; leave the volume out of all other containers,
    and run them with runAsNonRoot: true, allowPrivilegeEscalation: false and the uid of their person.

    Level: mandatory, since it leaks keys.
    """
    if is_copy(resource):
        yield from _of_copy(resource, stack)
        return
    release = resource.type == HELM_RELEASE
    root = "values" if release else "spec"
    bases = {daemon.in_cluster_name for daemon in stack.slinky("Controller", "RestApi", "Accounting")}
    known = tuple(f"{base}-client-" for base in bases)  # also where another stack makes the Secret
    copies = {text for _, text in texts(resource.get(root) if known else None) if text.startswith(known)}
    copies |= {other.in_cluster_name for other in stack.resources if is_copy(other)}
    everything = list(mappings(resource.get(root), root)) if copies else []
    held = {name for _, part in everything if (name := _mounts(part, copies))}
    own = {name for path, part in everything if _is_sidecar(path, part) for name in _private(part, held)}
    for path, part in everything:
        yield from _judged(resource, path, part, held, own, copies)
        if not release and "containers" in part:
            yield from _beside(resource, path, part, held)


def _of_copy(secret: Resource, stack: Stack) -> Iterator[str]:
    space, release = secret.namespace, operator_release(stack)
    if any(space == other.namespace for other in stack.slinky("Controller")):
        yield f"{secret.label} is a client's key in the cluster's own namespace; give the clients one of their own"
    if space.startswith(_SYSTEM) or (release is not None and space == release.text("namespace")):
        yield f"{secret.label} is a client's key in namespace {space}, which others use too; give the clients their own"
    for entry in (*secret.names("data"), *secret.names("stringData")):
        if not _KEYS.fullmatch(entry):
            yield f"{secret.label} has the entry {entry}; a client needs slurm.key, slurm.jwks or munge.key, and no other"


def _listed(spec: Mapping[str, Any], field: str) -> list[Mapping[str, Any]]:
    rows = spec.get(field)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list | tuple) else []


def _mounts(volume: Mapping[str, Any], copies: set[str]) -> str:
    """The name of a volume that has one of these Secrets; empty for others."""
    named = {
        value for _, part in mappings(volume, "") for key, value in part.items() if key in ("secretName", "name") and value
    }
    secret = isinstance(volume.get("secret"), Mapping) or isinstance(volume.get("projected"), Mapping)
    return str(volume.get("name") or "") if secret and named & copies else ""


def _is_sidecar(path: str, container: Mapping[str, Any]) -> bool:
    """sackd or munged beside a pod's other containers."""
    place = path.rsplit(".", 1)[-1].startswith("initContainers[")
    return place and container.get("name") in _SIDECARS and container.get("restartPolicy") == "Always"


def sidecars(value: object, root: str) -> Iterator[str]:
    """Paths of them; :func:`client_keys_in_sidecar` judges each."""
    return (path for path, part in mappings(value, root) if _is_sidecar(path, part))


def _mounted(part: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What a container mounts; a chart's values name the list as they like (extraVolumeMounts)."""
    return [mount for field in part if field.endswith(("volumeMounts", "VolumeMounts")) for mount in _listed(part, field)]


def _private(sidecar: Mapping[str, Any], held: set[str]) -> set[str]:
    """Volumes in which a sidecar keeps its copy of the key: all that it writes but the folder of its socket."""
    mounts = _mounted(sidecar)
    if not any(mount.get("name") in held for mount in mounts):
        return set()
    written = (mount for mount in mounts if mount.get("readOnly") is not True)
    return {str(row.get("name")) for row in written if not str(row.get("mountPath")).startswith(("/run/", "/var/run/"))}


def _judged(
    resource: Resource, path: str, part: Mapping[str, Any], held: set[str], own: set[str], copies: set[str]
) -> Iterator[str]:
    where = f"{resource.label}: {path}, container {part.get('name')}"
    for _, mapping in mappings({"env": part.get("env"), "envFrom": part.get("envFrom")}, ""):
        if any(key in ("secretKeyRef", "secretRef") and _named(value) in copies for key, value in mapping.items()):
            yield f"{where} has a client's key in its environment, which its children inherit; take it out"
    sidecar = _is_sidecar(path, part)
    for mount in _mounted(part):
        if mount.get("name") in own - held and not sidecar:
            yield f"{where} mounts the volume {mount.get('name')}, in which the sidecar has its copy of the key"
        if mount.get("name") not in held:
            continue
        security = part.get("securityContext")
        context = security if isinstance(security, Mapping) else {}
        if not sidecar:
            only = " or ".join(_SIDECARS)
            yield f"{where} mounts a client's key; only {only} may, as an init container with restartPolicy: Always"
        if mount.get("readOnly") is not True:
            yield f"{where} may write over a client's key; mount it with readOnly: true"
        for field, wanted in (("runAsNonRoot", True), ("readOnlyRootFilesystem", True), ("allowPrivilegeEscalation", False)):
            if context.get(field) is not wanted:
                yield f"{where} mounts a client's key without {field}: {str(wanted).lower()}"


def _beside(resource: Resource, path: str, pod: Mapping[str, Any], held: set[str]) -> Iterator[str]:
    """Containers beside a sidecar that are, or may become, whom the sidecar must not take them for."""
    every = [
        container for field in ("initContainers", "containers", "ephemeralContainers") for container in _listed(pod, field)
    ]
    key = [container for container in every if {mount.get("name") for mount in _mounted(container)} & held]
    if not key:
        return
    if pod.get("shareProcessNamespace") is True:
        yield f"{resource.label}: {path} has shareProcessNamespace, the way into the sidecar's files; remove it"
    shared = {mount.get("name") for container in key for mount in _mounted(container)}
    numbers = {_said(container, pod, "runAsUser") for container in key} - {None}
    for container in every:
        if container in key or not {mount.get("name") for mount in _mounted(container)} & shared:
            continue
        where = f"{resource.label}: {path}, container {container.get('name')}"
        if _said(container, pod, "runAsNonRoot") is not True or _said(container, pod, "runAsUser") == 0:
            yield f"{where} may be root beside the sidecar, and root to Slurm; set runAsNonRoot: true"
        if _said(container, pod, "allowPrivilegeEscalation") is not False:
            yield f"{where} may become root beside the sidecar; set allowPrivilegeEscalation: false"
        if _said(container, pod, "runAsUser") in numbers:
            yield f"{where} has the sidecar's uid, which is SlurmUser's or munged's; set its person's"


def _said(container: Mapping[str, Any], pod: Mapping[str, Any], field: str) -> object:
    """A field of a container's security context, or where it has none, of its pod's."""
    for level in (container, pod):
        context = level.get("securityContext")
        if isinstance(context, Mapping) and context.get(field) is not None:
            return context[field]
    return None


def _named(reference: object) -> str:
    return str(reference.get("name") or "") if isinstance(reference, Mapping) else ""
