"""Client pods: who may see their copy of the key, and where it may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from typing import Any

from slurm_rules.access import mappings
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, rule

NAMES = "*-client-*"
"""Names of the copies that slinky-iac makes for clients."""
_MANAGED = "app.kubernetes.io/managed-by"
_SIDECARS = ("sackd", "munged")


def is_copy(resource: Resource) -> bool:
    """Whether a Secret is a client's copy of a key, as slinky-iac makes it: pods follow it while they run."""
    made = resource.get("metadata", "labels", _MANAGED) == "slinky-iac"
    return resource.is_a("", "Secret") and made and fnmatch(resource.in_cluster_name, NAMES)


@rule("client-keys-in-sidecar", lambda resource: resource.is_kubernetes)
def client_keys_in_sidecar(resource: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """Clients have slurm.key in a namespace of their own, and only a locked sidecar mounts it.

    Why: anyone who can read slurm.key can act as any user of the cluster, root too. In the cluster's own namespace, who
    may make a client's pod may mount the JWT key as well. A container of a person that mounts the key hands it to that
    person, and so does one that can become root beside it.

    Source: slurm.schedmd.com/authentication.html (auth/slurm); Kubernetes, "Good practices for Secrets", "Pod Security
    Standards" (restricted); sackd(8).

    Do: take sidecar, volumes and mounts as `slinky client NAME` prints them; leave the volume out of all other containers.

    Level: mandatory, since it leaks keys.
    """
    if is_copy(resource):
        if any(resource.namespace == other.namespace for other in stack.slinky("Controller")):
            yield f"{resource.label} is a client's key in the cluster's own namespace; give the clients one of their own"
        return
    copies = {each.in_cluster_name for each in stack.resources if is_copy(each) and each.namespace == resource.namespace}
    for path, spec in mappings(resource.get("spec"), "spec"):
        held = {name for volume in _listed(spec, "volumes") if (name := _mounts(volume, copies))}
        for container in (each for kind in ("containers", "initContainers") for each in _listed(spec, kind)):
            yield from _judged(resource, path, container, held, copies)


def _listed(spec: Mapping[str, Any], field: str) -> list[Mapping[str, Any]]:
    found = spec.get(field)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list | tuple) else []


def _mounts(volume: Mapping[str, Any], copies: set[str]) -> str:
    """The name of a volume that has one of these Secrets; empty for others."""
    named = {
        value for _, part in mappings(volume, "") for key, value in part.items() if key in ("secretName", "name") and value
    }
    secret = isinstance(volume.get("secret"), Mapping) or isinstance(volume.get("projected"), Mapping)
    return str(volume.get("name") or "") if secret and named & copies else ""


def _judged(resource: Resource, path: str, container: Mapping[str, Any], held: set[str], copies: set[str]) -> Iterator[str]:
    where = f"{resource.label}: {path}, container {container.get('name')}"
    for _, part in mappings({"env": container.get("env"), "envFrom": container.get("envFrom")}, ""):
        if any(key in ("secretKeyRef", "secretRef") and _named(value) in copies for key, value in part.items()):
            yield f"{where} has a client's key in its environment, which its children inherit; take it out"
    for mount in _listed(container, "volumeMounts"):
        if mount.get("name") not in held:
            continue
        security = container.get("securityContext")
        own = security if isinstance(security, Mapping) else {}
        if container.get("name") not in _SIDECARS:
            yield f"{where} mounts a client's key; only {' or '.join(_SIDECARS)} may"
        if mount.get("readOnly") is not True:
            yield f"{where} may write over a client's key; mount it with readOnly: true"
        for field, wanted in (("runAsNonRoot", True), ("readOnlyRootFilesystem", True), ("allowPrivilegeEscalation", False)):
            if own.get(field) is not wanted:
                yield f"{where} mounts a client's key without {field}: {str(wanted).lower()}"


def _named(reference: object) -> str:
    return str(reference.get("name") or "") if isinstance(reference, Mapping) else ""
