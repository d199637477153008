"""Kubernetes' own rules of pods and Services beyond names and types of fields: what the API server refuses later.

A row is a type of Kubernetes'. Source: ``pkg/apis/core/validation/validation.go`` of :data:`.types.RELEASE`; its
function is named where a rule has one of its own. Required fields and closed lists of values: ``types.json``; the
syntax of names: :mod:`.names`. What kubelet refuses, and not the API server, is marked. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from slinky_iac.config.kubernetes import amounts, names
from slinky_iac.config.kubernetes import rules_pods as pods
from slinky_iac.config.kubernetes import rules_services as services
from slinky_iac.config.kubernetes import rules_volumes as volumes
from slinky_iac.config.kubernetes.names import Syntax
from slinky_iac.config.kubernetes.pieces import Faults, Piece, missing
from slinky_iac.config.shown import name_of

_ID: Final = (0, 2**31 - 1)
_MODE: Final = (0, 0o777)
_OBJECT: Final = {"name": names.NAME}
_TEXTS: Final[Mapping[str, Mapping[str, Syntax]]] = {
    "CSIVolumeSource": {"driver": names.DRIVER},
    "ConfigMapEnvSource": _OBJECT,
    "ConfigMapKeySelector": {**_OBJECT, "key": names.ENTRY},
    "ConfigMapProjection": _OBJECT,
    "ConfigMapVolumeSource": _OBJECT,
    "Container": {"name": names.LABEL, "image": names.IMAGE},
    "ContainerPort": {"name": names.PORT_NAME},
    "DownwardAPIVolumeFile": {"path": names.LOCAL},
    "EnvFromSource": {"prefix": names.VARIABLE},
    "EnvVar": {"name": names.VARIABLE},
    "Controller.metrics.serviceMonitor": dict.fromkeys(("interval", "scrapeTimeout"), names.DURATION),
    "Controller.metrics.serviceMonitor.endpoints": dict.fromkeys(("interval", "scrapeTimeout"), names.DURATION),
    "HTTPHeader": {"name": names.HEADER},
    "HostPathVolumeSource": {"path": names.NO_DOTS},
    "ImageVolumeSource": {"reference": names.IMAGE},
    "KeyToPath": {"path": names.LOCAL},
    "LabelSelectorRequirement": {"key": names.KEY},
    "NodeSelectorRequirement": {"key": names.KEY},
    "LocalObjectReference": _OBJECT,
    "NFSVolumeSource": {"path": names.ROOTED},
    "PersistentVolumeClaimSpec": {"storageClassName": names.NAME},
    "PersistentVolumeClaimVolumeSource": {"claimName": names.NAME},
    "PodAffinityTerm": {"topologyKey": names.KEY},
    "PodReadinessGate": {"conditionType": names.KEY},
    "PodResourceClaim": {"name": names.LABEL, "resourceClaimName": names.NAME, "resourceClaimTemplateName": names.NAME},
    "PodSchedulingGate": {"name": names.KEY},
    "PodSpec": {"priorityClassName": names.NAME, "runtimeClassName": names.NAME},
    "SecretEnvSource": _OBJECT,
    "SecretKeySelector": {**_OBJECT, "key": names.ENTRY},
    "SecretProjection": _OBJECT,
    "SecretVolumeSource": {"secretName": names.NAME},
    "ServiceAccountTokenProjection": {"path": names.LOCAL},
    "ResourceClaim": {"request": names.LABEL},
    "Sysctl": {"name": names.SYSCTL},
    "Toleration": {"key": names.KEY},
    "TopologySpreadConstraint": {"topologyKey": names.KEY},
    "Volume": {"name": names.LABEL},
    "VolumeMount": {"mountPath": names.MOUNT, "subPath": names.LOCAL, "subPathExpr": names.LOCAL},
}
"""Texts with a syntax. An empty one counts as missing."""
_NUMBERS: Final[Mapping[str, Mapping[str, tuple[int, int]]]] = {
    "ClientIPConfig": {"timeoutSeconds": (1, 86400)},
    "ConfigMapVolumeSource": {"defaultMode": _MODE},
    "ContainerPort": {"containerPort": (1, 65535), "hostPort": (0, 65535)},
    "DownwardAPIVolumeFile": {"mode": _MODE},
    "DownwardAPIVolumeSource": {"defaultMode": _MODE},
    "GCEPersistentDiskVolumeSource": {"partition": (0, 255)},
    "GRPCAction": {"port": (1, 65535)},
    "KeyToPath": {"mode": _MODE},
    "PodSecurityContext": {"runAsUser": _ID, "runAsGroup": _ID, "fsGroup": _ID},
    "PreferredSchedulingTerm": {"weight": (1, 100)},
    "Probe": dict.fromkeys(
        ("failureThreshold", "initialDelaySeconds", "periodSeconds", "successThreshold", "timeoutSeconds"), (0, 2**31 - 1)
    ),
    "ProjectedVolumeSource": {"defaultMode": _MODE},
    "SecretVolumeSource": {"defaultMode": _MODE},
    "SecurityContext": {"runAsUser": _ID, "runAsGroup": _ID},
    "ServiceAccountTokenProjection": {"expirationSeconds": (600, 2**32)},
    "ServiceSpec": {"healthCheckNodePort": (0, 65535)},
    "TopologySpreadConstraint": {"maxSkew": (1, 2**31 - 1), "minDomains": (1, 2**31 - 1)},
    "WeightedPodAffinityTerm": {"weight": (1, 100)},
}
WORDS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "Container": {"restartPolicy": ("Always", "Never", "OnFailure")},
    "ContainerResizePolicy": {"resourceName": ("cpu", "memory"), "restartPolicy": ("NotRequired", "RestartContainer")},
    "LabelSelectorRequirement": {"operator": ("DoesNotExist", "Exists", "In", "NotIn")},
    "LoginSet.strategy": {"type": ("Recreate", "RollingUpdate")},  # ``ValidateDeploymentStrategy``
    "NodeSet.persistentVolumeClaimRetentionPolicy": dict.fromkeys(("whenDeleted", "whenScaled"), ("Delete", "Retain")),
    "PodSecurityContext": {"seLinuxChangePolicy": ("MountOption", "Recursive")},
    "ServiceSpec": {"trafficDistribution": ("PreferClose", "PreferSameNode", "PreferSameZone")},
    "PodOS": {"name": ("linux",)},  # windows: not with what the operator's pods have of Linux
    "Toleration": {"operator": ("Equal", "Exists")},  # others: TaintTolerationComparisonOperators, off in this release
    "VolumeMount": {"recursiveReadOnly": ("Disabled", "Enabled", "IfPossible")},
}
"""Closed lists that OpenAPI leaves out, or publishes with values that are switched off."""
_ONE_OF: Final[Mapping[str, frozenset[str]]] = {
    "DownwardAPIVolumeFile": frozenset({"fieldRef", "resourceFieldRef"}),
    "EnvFromSource": frozenset({"configMapRef", "secretRef"}),
    "EnvVarSource": frozenset({"configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"}),
    "FCVolumeSource": frozenset({"targetWWNs", "wwids"}),
    "LifecycleHandler": frozenset({"exec", "httpGet", "sleep", "tcpSocket"}),
    "PodResourceClaim": frozenset({"resourceClaimName", "resourceClaimTemplateName"}),
    "Probe": frozenset({"exec", "grpc", "httpGet", "tcpSocket"}),
    "VolumeProjection": frozenset(
        {"clusterTrustBundle", "configMap", "downwardAPI", "podCertificate", "secret", "serviceAccountToken"}
    ),
}
_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "Container": ("image",),
    "ConfigMapEnvSource": ("name",),
    "ConfigMapKeySelector": ("name",),
    "ConfigMapProjection": ("name",),
    "ConfigMapVolumeSource": ("name",),
    "Controller.metrics.serviceMonitor.endpoints": ("path",),
    "ImageVolumeSource": ("reference",),
    "PodDNSConfigOption": ("name",),
    "RBDVolumeSource": ("monitors",),
    "PersistentVolumeClaimSpec": ("accessModes", "resources"),
    "SecretEnvSource": ("name",),
    "SecretKeySelector": ("name",),
    "SecretProjection": ("name",),
    "SecretVolumeSource": ("secretName",),
}
"""Fields without which the API server refuses the piece, and which OpenAPI doesn't call required; or the CRD requires."""


def faults(kind: str, value: Piece, *, whole: bool) -> Faults:
    """What Kubernetes refuses in a piece of this type whose fields and their types are right, each with its path below the
    piece. ``whole``: nothing is added to the piece elsewhere."""
    for field, syntax in _TEXTS.get(kind, {}).items():
        text = value.get(field)
        if isinstance(text, str) and text and not syntax.takes(text):
            yield f".{field}", f"is {name_of(text)}, and Kubernetes takes {syntax.form}"
    for field, (least, most) in _NUMBERS.get(kind, {}).items():
        number = value.get(field)
        if isinstance(number, int) and not least <= number <= most:
            is_mode = (least, most) == _MODE
            said = f"is {number}, in octal {number:o}" if is_mode else f"is {number}"
            yield f".{field}", f"{said}, and Kubernetes takes {least} to {'0777' if is_mode else most}"
    sources = _ONE_OF.get(kind)
    given = sorted(field for field in sources or () if value.get(field) is not None)
    if sources and len(given) != 1:
        yield "", f"has {' and '.join(given) or 'none'} of {', '.join(sorted(sources))}; Kubernetes takes one"
    if whole:
        yield from missing(value, _NEEDED.get(kind, ()))
        yield from pods.whole_pod(value) if kind == "PodSpec" else ()
        yield from pods.probed(value) if kind == "Container" else ()
        yield from amounts.size(value) if kind == "PersistentVolumeClaimSpec" else ()
    if kind in _RULES:
        yield from _RULES[kind](value)


_RULES: Final[Mapping[str, Callable[[Piece], Faults]]] = {
    "AppArmorProfile": pods.profile,
    "CSIVolumeSource": volumes.csi,
    "Container": pods.container,
    "DownwardAPIVolumeFile": lambda value: _both(value, volumes.file_of_pod, partial(volumes.path_of, names.FILE_FIELD)),
    "EmptyDirVolumeSource": volumes.empty_dir,
    "NFSVolumeSource": volumes.nfs,
    "EnvVar": pods.variable,
    "EnvVarSource": partial(volumes.path_of, names.POD_FIELD),
    "EphemeralVolumeSource": volumes.ephemeral,
    "ExecAction": pods.executed,
    "HTTPGetAction": pods.port,
    "HostAlias": pods.aliases,
    "ISCSIVolumeSource": volumes.iscsi,
    "LabelSelector": lambda value: pods.labels("matchLabels", value.get("matchLabels")),
    "LabelSelectorRequirement": pods.requirement,
    "LoginSet.strategy": services.strategy,
    "NodeSelector": pods.node_selector,
    "NodeSelectorRequirement": pods.requirement,
    "NodeSelectorTerm": pods.node_term,
    "ObjectMeta": pods.object_meta,
    "PersistentVolumeClaimSpec": volumes.claim,
    "PodAffinityTerm": pods.affinity_term,
    "PodResourceClaim": pods.claim,
    "PodSecurityContext": pods.groups,
    "PodSpec": pods.pod,
    "ProjectedVolumeSource": volumes.projected,
    "ResourceFieldSelector": amounts.of_container,
    "ResourceRequirements": amounts.resources,
    "SeccompProfile": pods.profile,
    "SecurityContext": pods.security,
    "ServiceSpec": services.service,
    "TCPSocketAction": pods.port,
    "Toleration": pods.toleration,
    "TopologySpreadConstraint": pods.spread,
    "Volume": volumes.volume,
    "VolumeMount": volumes.mount,
}
OWN: Final = frozenset({*_TEXTS, *_NUMBERS, *WORDS, *_NEEDED, *_RULES})
"""Types with rules here: Kubernetes', and some of slurm-operator's custom resources."""


def _both(value: Piece, *rules: Callable[[Piece], Faults]) -> Faults:
    for rule in rules:
        yield from rule(value)
