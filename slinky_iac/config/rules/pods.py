"""Rules of settings that pass through to Kubernetes' objects: its own types and rules judge them
(:mod:`slinky_iac.config.kubernetes.types`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.kubernetes import types as kubernetes_types
from slinky_iac.config.kubernetes.names import is_device
from slinky_iac.config.pieces import parts
from slinky_iac.config.sections import PodSettings, Service
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.workers import Volume

_LATER = "Kubernetes would drop it, or refuse the pod, which is made after `pulumi up` has ended"


def _pieces(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """What the API server drops or refuses when the operator makes the pod or the Service: no CRD looks into these."""
    daemons = ("controller", config.controller), ("accounting", config.accounting), ("restapi", config.restapi)
    pods: dict[str, PodSettings] = {path: daemon.pod for path, daemon in daemons}
    services: dict[str, Service] = {path: daemon.service for path, daemon in daemons}
    volumes: dict[str, tuple[Volume, ...]] = {}
    for name, login in config.logins.items():
        services[f"logins.{name}"] = login.service
    for kind, sets in (("nodesets", config.nodesets), ("logins", config.logins)):
        for name, part in sets.items():
            pods[f"{kind}.{name}"], volumes[f"{kind}.{name}"] = part.pod, part.volumes
    for path, pod in pods.items():
        spec = {"nodeSelector": pod.node_selector, "tolerations": pod.tolerations, "affinity": pod.affinity}
        yield from _faults(f"{path}.pod", "PodSpec", spec)
        yield from _faults(
            f"{path}.pod.priorityClass", "PodSpec", {"priorityClassName": pod.priority_class}, "priorityClassName"
        )
        yield from _faults(f"{path}.pod", "ObjectMeta", {"labels": pod.labels, "annotations": pod.annotations})
    for path, service in services.items():
        yield from _faults(f"{path}.service", "ObjectMeta", {"annotations": service.annotations})
    for path, several in volumes.items():
        first = {pod_volume.name: pod_volume.source for pod_volume in reversed(several)}
        if any(pod_volume.source != first[pod_volume.name] for pod_volume in several):
            yield at(f"{path}.volumes").error(
                "has two volumes of one name with two sources; Kubernetes refuses such a pod. Rename one"
            )
        for number, volume in enumerate(several):
            where = f"{path}.volumes.{number}"
            yield from _faults(f"{where}.source", "Volume", {"name": volume.name, **volume.source})
            mount = {"mountPath": volume.mount_path, "subPath": volume.sub_path}
            yield from _faults(where, "VolumeMount", mount)
    for name, nodeset in config.nodesets.items():
        for variable in nodeset.env:
            where = f"nodesets.{name}.env.{name_of(variable)}"
            yield from _faults(where, "EnvVar", {"name": variable}, "name")
    yield from _persistence(config)
    yield from _shared(config, services)


def _persistence(config: StackConfig) -> Iterator[Finding]:
    """The claim of slurmctld's state, each fault at its setting."""
    kept = config.controller.persistence
    if not kept.enabled or kept.existing_claim:
        return
    claim = {
        "storageClassName": kept.storage_class,
        "accessModes": [*kept.access_modes],
        "resources": {"requests": {"storage": kept.size}},
    }
    for below, why in kubernetes_types.faults("PersistentVolumeClaimSpec", claim, whole=True):
        field = "storageClass" if "storageClass" in below else "accessModes" if "accessModes" in below else "size"
        yield at(f"controller.persistence.{field}").error(f"{why}. {_LATER}")


def _shared(config: StackConfig, services: Mapping[str, Service]) -> Iterator[Finding]:
    """Ports of nodes and addresses that two Services of the stack would have."""
    ports = [(f"{path}.service.nodePort", service.node_port) for path, service in services.items()]
    ports += [
        (f"{part.path}.raw.service.healthCheckNodePort", part.raw.service.get("healthCheckNodePort"))
        for part in parts(config)
    ]
    addresses = [(f"{part.path}.raw.service.clusterIP", part.raw.service.get("clusterIP")) for part in parts(config)]
    for every in (ports, addresses):
        first: dict[str, str] = {}
        for path, value in every:
            if value in (None, "", "None"):
                continue
            if (other := first.setdefault(str(value), path)) != path:
                yield at(path).error(f"is {name_of(str(value))}, as {other} is: Kubernetes gives it to one Service only")


def _faults(path: str, kind: str, value: Mapping[str, object], field: str = "") -> Iterator[Finding]:
    """``field``: the one of the piece that ``path`` itself names."""
    for below, why in kubernetes_types.faults(kind, value):
        place = below.removeprefix(f".{field}") if field else below
        yield at(path + place.replace("[", ".").replace("]", "")).error(f"{why}. {_LATER}")


def _resources(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Devices and amounts that Kubernetes refuses in the pod, which is made after `up` has ended."""
    every = {
        "controller.resources": config.controller.resources,
        "accounting.resources": config.accounting.resources,
        "restapi.resources": config.restapi.resources,
    }
    every |= {f"logins.{name}.resources": login.resources for name, login in config.logins.items()}
    every["cluster.sidecarResources"] = config.cluster.sidecar_resources
    for path, given in every.items():
        if given is None:
            continue
        asked = _said({"cpu": given.requests.cpus or given.cpus, "memory": given.requests.memory or given.memory})
        amounts = {"limits": _said({"cpu": given.cpus, "memory": given.memory}), "requests": asked}
        for below, why in kubernetes_types.faults("ResourceRequirements", amounts):
            place = below.removeprefix(".limits").replace("cpu", "cpus")
            yield at(f"{path}{place}").error(f"{why}. {_LATER}")
    for name, nodeset in config.nodesets.items():
        for resource in nodeset.resources.extended:
            if not is_device(resource):
                yield at(f"nodesets.{name}.resources.extended.{name_of(resource)}").error(
                    "is not the name of a device plugin's resource, which is DOMAIN/NAME, for example nvidia.com/gpu"
                )


def _said(given: Mapping[str, str | None]) -> dict[str, str]:
    return {field: value for field, value in given.items() if value}


RULES = (_pieces, _resources)
