"""What Kubernetes refuses in the pods that a stack's custom resources come to, though each piece is right: one check over
whole pods, as slurm-operator merges them (:mod:`.pods`). CRDs keep pods unread, so `pulumi up` would be green, and no pod
there. Source: ``pkg/apis/core/validation/validation.go``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.kubernetes import types as kubernetes_types
from slinky_iac.config.kubernetes.pieces import Faults, Piece, listed
from slinky_iac.config.kubernetes.rules_pods import app_armor
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.dropped import dropped
from slinky_iac.specs.pods import Resource, pod_of, resources

_INDEX: Final = re.compile(r"\[\d+\].*")
_CONTAINERS: Final = ("containers", "initContainers")
_WITH_VOLUMES: Final = frozenset({"NodeSet", "LoginSet"})


def unmakeable(config: StackConfig) -> tuple[Finding, ...]:
    """The last question about a stack whose settings are sound: what this release of slurm-operator would drop of them, else
    what Kubernetes would refuse."""
    return dropped(config) or refused(config)


def refused(config: StackConfig) -> tuple[Finding, ...]:
    """An error for each. ``config`` has no other errors: a spec of a stack that isn't sound can't be rendered."""
    return tuple(dict.fromkeys(finding for resource in resources(config) for finding in _of(config, resource)))


def _of(config: StackConfig, resource: Resource) -> Iterator[Finding]:
    pod = pod_of(config, resource)
    if pod is None:
        return
    for below, why in pod_faults(pod["spec"], pod["metadata"]):
        yield at(f"{resource.path}.{_setting(resource, below)}").error(
            f"{why}. Kubernetes would refuse the pod, which slurm-operator makes of this and its own pieces after"
            " `pulumi up` has ended"
        )


def pod_faults(spec: Piece, metadata: Piece | None = None) -> Faults:
    """What Kubernetes refuses in the spec of a whole pod, each with its path; below ``metadata`` of its annotations."""
    yield from kubernetes_types.faults("PodSpec", spec, whole=True)
    yield from _references(spec)
    yield from ((f".metadata{path}", why) for path, why in app_armor(spec, metadata or {}))


def _setting(resource: Resource, below: str) -> str:
    """The setting of a place in the pod. Numbers of entries are those of the pod, so they are left out."""
    field, _, rest = below.removeprefix(".").partition(".")
    name = _INDEX.sub("", field)
    if name == "metadata":
        return f"pod.{rest}"
    if name == "containers" and field.startswith("containers[0]"):
        return f"raw.container.{_INDEX.sub('', rest)}".rstrip(".")
    if name == "volumes" and resource.kind in _WITH_VOLUMES:
        return "volumes"
    return f"raw.pod.{name}"


def _references(pod: Piece) -> Faults:
    """What doesn't fit between the pieces of a whole pod, each with its path below the spec: ``ValidateVolumes``,
    ``ValidateVolumeMounts``, ``ValidateVolumeDevices``, ``validateContainers``, ``validateContainerResources``."""
    volumes = {str(volume.get("name")): volume for volume in listed(pod, "volumes")}
    asked = {str(request.get("name")) for request in listed(pod, "resourceClaims")}
    if doubled := _twice(str(volume.get("name")) for volume in listed(pod, "volumes")):
        yield ".volumes", f"has {name_of(doubled)} twice; Kubernetes takes a volume's name once"
    every = [(f".{field}[{n}]", container) for field in _CONTAINERS for n, container in enumerate(listed(pod, field))]
    if doubled := _twice(str(container.get("name")) for _, container in every):
        place = next(path for path, container in reversed(every) if str(container.get("name")) == doubled)
        yield f"{place}.name", f"is {name_of(doubled)}, and the pod has a container of that name"
    for path, container in every:
        for field in ("volumeMounts", "volumeDevices"):
            for piece in listed(container, field):
                name = str(piece.get("name"))
                if name not in volumes:
                    yield f"{path}.{field}", f"has {name_of(name)}, and the pod has no such volume"
                elif field == "volumeDevices" and "persistentVolumeClaim" not in volumes[name]:
                    yield f"{path}.{field}", f"has {name_of(name)}, which isn't a claim's volume"
                elif field == "volumeMounts" and _passes_on(piece, container):
                    yield (
                        f"{path}.{field}",
                        f"has {name_of(name)} with mountPropagation: Bidirectional; privileged ones only may",
                    )
        resources = container.get("resources")
        for claim in listed(resources, "claims") if isinstance(resources, Mapping) else ():
            if str(claim.get("name")) not in asked:
                yield (
                    f"{path}.resources.claims",
                    f"has {name_of(str(claim.get('name')))}, and the pod has no such resourceClaim",
                )


def _passes_on(mount: Piece, container: Piece) -> bool:
    security = container.get("securityContext")
    privileged = isinstance(security, Mapping) and security.get("privileged") is True
    return mount.get("mountPropagation") == "Bidirectional" and not privileged


def _twice(every: Iterable[str]) -> str:
    """The first name that comes a second time."""
    counts = Counter(every)
    return next((name for name, times in counts.items() if times > 1), "")
