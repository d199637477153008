"""Rules of settings that pass through to Kubernetes' objects: its own types and rules judge them (kubernetes_types)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slinky_iac.config import kubernetes_types
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.kubernetes_names import is_device
from slinky_iac.config.sections import PodSettings, Service
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.workers import Volume

_LATER = "Kubernetes would drop it, or refuse the pod, which is made after `pulumi up` has ended"


def _pieces(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """What the API server drops or refuses when the operator makes the pod or the Service: no CRD looks into these."""
    daemons = ("controller", config.controller), ("accounting", config.accounting), ("restapi", config.restapi)
    pods: dict[str, PodSettings] = {path: each.pod for path, each in daemons}
    services: dict[str, Service] = {path: each.service for path, each in daemons}
    volumes: dict[str, tuple[Volume, ...]] = {}
    for name, login in config.logins.items():
        services[f"logins.{name}"] = login.service
    for kind, found in (("nodesets", config.nodesets), ("logins", config.logins)):
        for name, each in found.items():
            pods[f"{kind}.{name}"], volumes[f"{kind}.{name}"] = each.pod, each.volumes
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
        first = {each.name: each.source for each in reversed(several)}
        if any(each.source != first[each.name] for each in several):
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
    claim = {"storageClassName": config.controller.persistence.storage_class}
    yield from _faults("controller.persistence.storageClass", "PersistentVolumeClaimSpec", claim, "storageClassName")


def _faults(path: str, kind: str, value: Mapping[str, object], field: str = "") -> Iterator[Finding]:
    """``field``: the one of the piece that ``path`` itself names."""
    for below, why in kubernetes_types.faults(kind, value):
        place = below.removeprefix(f".{field}") if field else below
        yield at(path + place.replace("[", ".").replace("]", "")).error(f"{why}. {_LATER}")


def _resources(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Names of devices that Kubernetes refuses in the pod, which is made after `up` has ended."""
    for name, nodeset in config.nodesets.items():
        for each in nodeset.resources.extended:
            if not is_device(each):
                yield at(f"nodesets.{name}.resources.extended.{name_of(each)}").error(
                    "is not the name of a device plugin's resource, which is DOMAIN/NAME, for example nvidia.com/gpu"
                )


RULES = (_pieces, _resources)
