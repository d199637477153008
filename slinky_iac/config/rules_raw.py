"""Rules of raw pieces: Kubernetes' own types judge them, and what a setting or the operator owns is refused by its name.

Source: slurm-operator ``internal/builder`` (what it sets itself), ``api/v1beta1`` of 1.0.1 to 1.2.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from slinky_iac.config import kubernetes_types
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.raw import Raw
from slinky_iac.config.rules_secrets import is_secret
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig

_OPERATORS: Final = "nothing: it is the operator's own"
_POD: Final[Mapping[str, str]] = {
    "affinity": "pod.affinity",
    "containers": "raw.container for the daemon's own; the operator makes the others",
    "hostNetwork": "pod.hostNetwork",
    "hostname": _OPERATORS,
    "imagePullSecrets": "cluster.images.pullSecrets",
    "nodeName": "pod.nodeSelector",
    "nodeSelector": "pod.nodeSelector",
    "priorityClassName": "pod.priorityClass",
    "restartPolicy": _OPERATORS,
    "subdomain": _OPERATORS,
    "terminationGracePeriodSeconds": "pod.terminationGrace",
    "tolerations": "pod.tolerations",
}
_CONTAINER: Final[Mapping[str, str]] = {
    "command": _OPERATORS,
    "image": "the image's own setting",
    "imagePullPolicy": "cluster.images.pullPolicy",
    "name": _OPERATORS,
    "resources.limits": "resources",
    "resources.requests": "resources",
    "startupProbe": _OPERATORS,
    "livenessProbe": _OPERATORS,
    "readinessProbe": _OPERATORS,
}
_SERVICE: Final[Mapping[str, str]] = {
    "externalIPs": "service.type: any address could be taken over by it, and the operator drops it",
    "ports": _OPERATORS,
    "selector": _OPERATORS,
    "type": "service.type",
}
_WITH_VOLUMES: Final[Mapping[str, str]] = {"volumes": "volumes"}
_SPEC: Final[Mapping[str, Mapping[str, str]]] = {
    "nodesets": {
        "minReadySeconds": "integer",
        "persistentVolumeClaimRetentionPolicy": "{string}",
        "revisionHistoryLimit": "integer",
        "volumeClaimTemplates": "[any]",
    },
    "logins": {"strategy": "any"},
}
"""Fields of a custom resource that nothing here depends on, and what each takes. Not here: what gates go by (scalingMode,
ordinalPadding, pinToNode, oversubscribeNode, workloadDisruptionProtection), and how slurmctld reads files
(inplaceReconfigure)."""
_OWN_VARIABLES: Final = frozenset({"MALLOC_ARENA_MAX", "POD_CPUS", "POD_MEMORY", "POD_TOPOLOGY", "SLURM_SACK_JWKS"})


@dataclass(frozen=True)
class _Part:
    path: str
    raw: Raw
    kind: str
    variables: frozenset[str] = frozenset()
    """Names of its setting ``env``."""


def _parts(config: StackConfig) -> Iterator[_Part]:
    yield _Part("controller", config.controller.raw, "")
    yield _Part("accounting", config.accounting.raw, "")
    yield _Part("restapi", config.restapi.raw, "")
    for name, nodeset in config.nodesets.items():
        yield _Part(f"nodesets.{name}", nodeset.raw, "nodesets", frozenset(nodeset.env))
    for name, login in config.logins.items():
        yield _Part(f"logins.{name}", login.raw, "logins")


def _owned(path: str, piece: Mapping[str, Any], owned: Mapping[str, str]) -> Iterator[Finding]:
    for field, setting in owned.items():
        outer, _, inner = field.partition(".")
        held = piece.get(outer)
        if outer in piece and (not inner or (isinstance(held, Mapping) and inner in held)):
            yield at(f"{path}.{field}").error(f"isn't taken here: use {setting}")


def _raw(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    for part in _parts(config):
        raw, path = part.raw, f"{part.path}.raw"
        more = _WITH_VOLUMES if part.kind else {}
        yield from _owned(f"{path}.pod", raw.pod, {**_POD, **more})
        mounts = {"volumeMounts": "volumes"} if part.kind else {}
        privileged = {"securityContext.privileged": "privileged"} if part.kind == "nodesets" else {}
        yield from _owned(f"{path}.container", raw.container, {**_CONTAINER, **mounts, **privileged})
        yield from _owned(f"{path}.service", raw.service, _SERVICE)
        if part.kind == "nodesets" and raw.service:
            yield at(f"{path}.service").error("has no effect: a NodeSet has no Service of its own. Remove it")
        pieces = (
            ("pod", "PodSpec", raw.pod),
            ("container", "Container", raw.container),
            ("service", "ServiceSpec", raw.service),
        )
        for name, kind, piece in pieces:
            for below, why in kubernetes_types.faults(kind, piece):
                yield at(f"{path}.{name}" + below.replace("[", ".").replace("]", "")).error(why)
        yield from _variables(part, f"{path}.container.env")
        yield from _of_spec(part, f"{path}.spec")
        yield from _folders(part, f"{path}.pod.volumes")


def _variables(part: _Part, path: str) -> Iterator[Finding]:
    env = part.raw.container.get("env")
    for each in env if isinstance(env, list) else ():
        name = str(each.get("name", "")) if isinstance(each, Mapping) else ""
        if name in _OWN_VARIABLES or name in part.variables:
            yield at(path).error(f"has {name_of(name)}, which is set already: Kubernetes takes the last of two. Remove one")
        elif isinstance(each, Mapping) and each.get("value") and is_secret(name):
            yield at(path).error(
                f"has {name_of(name)}, which is named like a secret: everyone who sees the pod can read its value. Use"
                " valueFrom.secretKeyRef"
            )


def _of_spec(part: _Part, path: str) -> Iterator[Finding]:
    known = _SPEC.get(part.kind, {})
    for field, value in part.raw.spec.items():
        if field not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none for this kind"
            yield at(f"{path}.{name_of(field)}").error(
                f"isn't taken here: {takes}; the others are settings, or gates go by them"
            )
            continue
        for below, why in kubernetes_types.faults(known[field], value):
            yield at(f"{path}.{field}{below}").error(why)


def _folders(part: _Part, path: str) -> Iterator[Finding]:
    volumes = part.raw.pod.get("volumes")
    for each in volumes if isinstance(volumes, list) else ():
        if isinstance(each, Mapping) and "hostPath" in each:
            yield at(path).error("has a hostPath: a daemon's pod would have a folder of its Kubernetes node. Use a claim")


RULES = (_raw,)
