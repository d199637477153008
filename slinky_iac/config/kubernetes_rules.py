"""Kubernetes' own rules of pods and Services beyond names and types of fields: what the API server refuses later.

A row is a type of Kubernetes'. Source: ``pkg/apis/core/validation/validation.go`` of :data:`.kubernetes_types.RELEASE`; its
function is named where a rule has one of its own. Required fields and closed lists of values: ``kubernetes_types.json``; the
syntax of names: :mod:`.kubernetes_names`. What kubelet refuses, and not the API server, is marked. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_network
from typing import Any, Final

from slinky_iac.config import kubernetes_names as names
from slinky_iac.config.kubernetes_names import Syntax
from slinky_iac.config.shown import name_of

Faults = Iterator[tuple[str, str]]
Piece = Mapping[str, Any]
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
    "ContainerResizePolicy": {"resourceName": ("cpu", "memory"), "restartPolicy": ("NotRequired", "RestartContainer")},
    "LabelSelectorRequirement": {"operator": ("DoesNotExist", "Exists", "In", "NotIn")},
    "LoginSet.strategy": {"type": ("Recreate", "RollingUpdate")},  # ``ValidateDeploymentStrategy``
    "NodeSet.persistentVolumeClaimRetentionPolicy": dict.fromkeys(("whenDeleted", "whenScaled"), ("Delete", "Retain")),
    "PodOS": {"name": ("linux",)},  # windows: not with what the operator's pods have of Linux
    "Toleration": {"operator": ("Equal", "Exists")},  # others: TaintTolerationComparisonOperators, off in this release
    "VolumeMount": {"recursiveReadOnly": ("Disabled", "Enabled", "IfPossible")},
}
"""Closed lists that OpenAPI leaves out, or publishes with values that are switched off."""
_ONE_OF: Final[Mapping[str, frozenset[str]]] = {
    "EnvFromSource": frozenset({"configMapRef", "secretRef"}),
    "EnvVarSource": frozenset({"configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"}),
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
    "PodDNSConfigOption": ("name",),
    "PersistentVolumeClaimSpec": ("accessModes", "resources"),
    "SecretEnvSource": ("name",),
    "SecretKeySelector": ("name",),
    "SecretProjection": ("name",),
    "SecretVolumeSource": ("secretName",),
}
"""Fields without which the API server refuses the piece, and which OpenAPI doesn't call required."""


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
        yield from _size(value) if kind == "PersistentVolumeClaimSpec" else ()
    if kind in _RULES:
        yield from _RULES[kind](value)


def missing(value: Piece, fields: tuple[str, ...]) -> Faults:
    """Fields that Kubernetes requires and the piece lacks."""
    for field in fields:
        if value.get(field) in (None, "", [], {}):
            yield "", f"has no {field}, which Kubernetes requires"


def one_of_these(value: object, words: tuple[str, ...] | list[str]) -> str:
    """That a value is none of a closed list."""
    return f"is {name_of(str(value))}, and Kubernetes takes {', '.join(word or 'an empty text' for word in words)}"


def _toleration(value: Piece) -> Faults:
    """``ValidateTolerations``."""
    exists = value.get("operator") == "Exists"
    if not value.get("key") and not exists:
        yield "", "has no key, so its operator must be Exists"
    if exists and value.get("value"):
        yield ".value", "must be empty where operator is Exists"
    text = value.get("value")
    if not exists and isinstance(text, str) and not names.is_label_value(text):
        yield ".value", f"is {name_of(text)}, and Kubernetes takes {names.LABEL_VALUE.form}"
    if value.get("tolerationSeconds") is not None and value.get("effect") != "NoExecute":
        yield ".effect", "must be NoExecute where tolerationSeconds is set"


def _labels(field: str, values: object) -> Faults:
    """``ValidateLabels``."""
    for key, text in values.items() if isinstance(values, Mapping) else ():
        if not names.is_key(str(key)):
            yield f".{field}.{name_of(str(key))}", f"is not a label's key; Kubernetes takes {names.KEY.form}"
        if isinstance(text, str) and not names.is_label_value(text):
            yield f".{field}.{name_of(str(key))}", f"is {name_of(text)}, and Kubernetes takes {names.LABEL_VALUE.form}"


def _object_meta(value: Piece) -> Faults:
    """``ValidateObjectMeta``, ``ValidateAnnotations``."""
    yield from _labels("labels", value.get("labels"))
    annotations = value.get("annotations")
    for key in annotations if isinstance(annotations, Mapping) else ():
        if not names.is_key(str(key).lower()):
            yield f".annotations.{name_of(str(key))}", f"is not an annotation's key; Kubernetes takes {names.KEY.form}"


def _requirement(value: Piece) -> Faults:
    """``ValidateNodeSelectorRequirement``, ``ValidateLabelSelectorRequirement``."""
    operator, values = value.get("operator"), value.get("values") or []
    if operator in {"In", "NotIn"} and not values:
        yield ".values", f"must have one or more where operator is {operator}"
    if operator in {"Exists", "DoesNotExist"} and values:
        yield ".values", f"must be empty where operator is {operator}"
    if operator in {"Gt", "Lt"} and not (len(values) == 1 and str(values[0]).lstrip("-").isdecimal()):
        yield ".values", f"must be one whole number, as a text, where operator is {operator}"
    for number, text in enumerate(values):
        if operator in {"In", "NotIn"} and isinstance(text, str) and not names.is_label_value(text):
            yield f".values[{number}]", f"is {name_of(text)}, and Kubernetes takes {names.LABEL_VALUE.form}"


def _node_selector(value: Piece) -> Faults:
    if not value.get("nodeSelectorTerms"):
        yield "", "has no nodeSelectorTerms, which Kubernetes requires"


def _spread(value: Piece) -> Faults:
    """``validateTopologySpreadConstraints``."""
    if value.get("minDomains") is not None and value.get("whenUnsatisfiable") != "DoNotSchedule":
        yield ".minDomains", "is taken with whenUnsatisfiable: DoNotSchedule only"


def _pod(value: Piece) -> Faults:
    """``ValidatePodSpec``; the admission plugins Priority and RuntimeClass."""
    yield from _labels("nodeSelector", value.get("nodeSelector"))
    config = value.get("dnsConfig")
    if value.get("dnsPolicy") == "None" and not (isinstance(config, Mapping) and config.get("nameservers")):
        yield ".dnsPolicy", "is None, and Kubernetes then requires dnsConfig.nameservers"
    if value.get("priority") is not None:
        yield ".priority", "is computed by the API server, which refuses a pod that brings it; use pod.priorityClass"
    if value.get("overhead") and not value.get("runtimeClassName"):
        yield ".overhead", "is the RuntimeClass's, and the API server refuses a pod that brings it; use runtimeClassName"
    for number, each in enumerate(listed(value, "initContainers")):
        if each.get("restartPolicy") != "Always":
            for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
                if each.get(field) is not None:
                    yield f".initContainers[{number}].{field}", "is taken with restartPolicy: Always only"


def _container(value: Piece) -> Faults:
    """``validateContainerPorts``, ``ValidateVolumeMounts``."""
    for field, key in (("ports", "name"), ("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")):
        seen = set[str]()
        for number, each in enumerate(listed(value, field)):
            if (text := str(each.get(key) or "")) in seen:
                yield f".{field}[{number}].{key}", f"is {name_of(text)} a second time; Kubernetes takes it once"
            seen |= {text} - {""}


def _variable(value: Piece) -> Faults:
    """``validateEnvVarValueFrom``."""
    if value.get("value") and value.get("valueFrom") is not None:
        yield ".valueFrom", "must be left out where value is set"


def _field_of(allowed: Syntax) -> Callable[[Piece], Faults]:
    """``validateObjectFieldSelector``."""

    def judged(value: Piece) -> Faults:
        field = value.get("fieldRef")
        path = field.get("fieldPath") if isinstance(field, Mapping) else None
        if isinstance(path, str) and path and not allowed.takes(path):
            yield ".fieldRef.fieldPath", f"is {name_of(path)}, and Kubernetes takes {allowed.form}"

    return judged


def _mount(value: Piece) -> Faults:
    if value.get("subPath") and value.get("subPathExpr"):
        yield ".subPathExpr", "must be left out where subPath is set"


def _volume(value: Piece) -> Faults:
    """``validateVolumeSource``. One without a source becomes an emptyDir (``SetDefaults_Volume``)."""
    sources = sorted(str(field) for field, each in value.items() if field != "name" and each is not None)
    if len(sources) > 1:
        yield "", f"has {', '.join(map(name_of, sources))}; Kubernetes takes one source of a volume"


def _empty_dir(value: Piece) -> Faults:
    """Of another medium kubelet says "unknown storage medium" (``pkg/volume/emptydir``), and the pod never starts."""
    medium = str(value.get("medium") or "")
    if medium not in {"", "Memory", "HugePages"} and not medium.startswith("HugePages-"):
        yield ".medium", one_of_these(medium, ("Memory", "HugePages", "HugePages-SIZE"))
    if str(value.get("sizeLimit") or "").startswith("-"):
        yield ".sizeLimit", "is below 0"


def _claim(value: Piece) -> Faults:
    """``ValidatePersistentVolumeClaimSpec``."""
    modes = value.get("accessModes") or []
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        yield ".accessModes", "has others beside ReadWriteOncePod; Kubernetes takes it alone"


def _size(value: Piece) -> Faults:
    """The same of a whole claim."""
    resources = value.get("resources")
    asked = resources.get("requests") if isinstance(resources, Mapping) else None
    if isinstance(resources, Mapping) and not (isinstance(asked, Mapping) and asked.get("storage")):
        yield ".resources", "has no requests.storage, which Kubernetes requires"


def _resources(value: Piece) -> Faults:
    """``validateContainerResourceName``."""
    for field in ("limits", "requests"):
        given = value.get(field)
        for name in given if isinstance(given, Mapping) else ():
            plain = name in {"cpu", "memory", "ephemeral-storage", "storage"} or str(name).startswith("hugepages-")
            if not (plain or names.is_device(str(name))):
                yield f".{field}.{name_of(str(name))}", "is no resource; Kubernetes takes cpu, memory and DOMAIN/DEVICE"


def _of_container(value: Piece) -> Faults:
    """``validateContainerResourceFieldSelector``."""
    what, _, name = str(value.get("resource") or "").partition(".")
    if what not in {"limits", "requests"} or (
        name not in {"cpu", "memory", "ephemeral-storage"} and not name.startswith("hugepages-")
    ):
        yield ".resource", "must be limits or requests, a dot, and cpu, memory, ephemeral-storage or hugepages-SIZE"


def _security(value: Piece) -> Faults:
    """``ValidateSecurityContext``."""
    caps = value.get("capabilities")
    added = caps.get("add") or [] if isinstance(caps, Mapping) else []
    if value.get("allowPrivilegeEscalation") is False and (value.get("privileged") or "CAP_SYS_ADMIN" in added):
        yield ".allowPrivilegeEscalation", "can't be false where privileged is true or CAP_SYS_ADMIN is added"


def _profile(value: Piece) -> Faults:
    """``validateSeccompProfileField``, ``validateAppArmorProfileField``."""
    if (value.get("type") == "Localhost") != bool(value.get("localhostProfile")):
        yield ".localhostProfile", "is needed with type: Localhost, and with no other"


def _port(value: Piece) -> Faults:
    """``ValidatePortNumOrName``."""
    port = value.get("port")
    if isinstance(port, int) and not 1 <= port <= 65535:
        yield ".port", f"is {port}, and Kubernetes takes 1 to 65535, or a port's name"
    if isinstance(port, str) and port and not names.is_port_name(port):
        yield ".port", f"is {name_of(port)}; a port's name is {names.PORT_NAME.form}"


def _service(value: Piece) -> Faults:
    """``ValidateService``. Without ``type`` the Service is a ClusterIP."""
    balanced = value.get("type") == "LoadBalancer"
    local = value.get("externalTrafficPolicy") == "Local"
    if value.get("externalTrafficPolicy") and value.get("type", "ClusterIP") == "ClusterIP":
        yield ".externalTrafficPolicy", "is taken with service.type NodePort or LoadBalancer only"
    for field in ("allocateLoadBalancerNodePorts", "loadBalancerClass", "loadBalancerSourceRanges"):
        if value.get(field) is not None and not balanced:
            yield f".{field}", "is taken with service.type LoadBalancer only"
    if value.get("healthCheckNodePort") and not (balanced and local):
        yield ".healthCheckNodePort", "is taken with service.type LoadBalancer and externalTrafficPolicy: Local only"
    if value.get("clusterIP") == "None" and value.get("type", "ClusterIP") != "ClusterIP":
        yield ".clusterIP", f"is None, and a Service of type {name_of(str(value['type']))} needs an address"
    if (kind := value.get("loadBalancerClass")) and not names.is_key(str(kind)):
        yield ".loadBalancerClass", f"is {name_of(str(kind))}, and Kubernetes takes {names.KEY.form}"
    for number, each in enumerate(value.get("loadBalancerSourceRanges") or []):
        try:
            ip_network(str(each).strip(), strict=False)
        except ValueError:
            yield f".loadBalancerSourceRanges[{number}]", "is no range of addresses, as 192.0.2.0/24"


def listed(value: Piece, field: str) -> list[Piece]:
    """The mappings of a list; of what is no list, none."""
    found = value.get(field)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list | tuple) else []


_RULES: Final[Mapping[str, Callable[[Piece], Faults]]] = {
    "AppArmorProfile": _profile,
    "Container": _container,
    "DownwardAPIVolumeFile": _field_of(names.FILE_FIELD),
    "EmptyDirVolumeSource": _empty_dir,
    "EnvVar": _variable,
    "EnvVarSource": _field_of(names.POD_FIELD),
    "HTTPGetAction": _port,
    "LabelSelector": lambda value: _labels("matchLabels", value.get("matchLabels")),
    "LabelSelectorRequirement": _requirement,
    "NodeSelector": _node_selector,
    "NodeSelectorRequirement": _requirement,
    "ObjectMeta": _object_meta,
    "PersistentVolumeClaimSpec": _claim,
    "PodSpec": _pod,
    "ResourceFieldSelector": _of_container,
    "ResourceRequirements": _resources,
    "SeccompProfile": _profile,
    "SecurityContext": _security,
    "ServiceSpec": _service,
    "TCPSocketAction": _port,
    "Toleration": _toleration,
    "TopologySpreadConstraint": _spread,
    "Volume": _volume,
    "VolumeMount": _mount,
}
