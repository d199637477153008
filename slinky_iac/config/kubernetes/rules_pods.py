"""Kubernetes' rules of whole pods, their containers and where they run; source as in :mod:`.rules`. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from slinky_iac import names as our_names
from slinky_iac.config.kubernetes import names, sysctls
from slinky_iac.config.kubernetes.pieces import Faults, Piece, again, listed, mapped, missing, texts
from slinky_iac.config.shown import name_of

_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_GRACE: Final = 30
"""Seconds that a pod has to end where it says none (``SetDefaults_PodSpec``)."""
_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_PROFILE: Final = re.compile(r"runtime/default|unconfined|localhost/.+")
_LARGEST: Final = 256 * 1024
"""Bytes of all annotations of an object (``TotalAnnotationSizeLimitB``)."""


def labels(field: str, values: object) -> Faults:
    """``ValidateLabels``."""
    for key, text in values.items() if isinstance(values, Mapping) else ():
        if not names.is_key(str(key)):
            yield f".{field}.{name_of(str(key))}", f"is not a label's key; Kubernetes takes {names.KEY.form}"
        if isinstance(text, str) and not names.is_label_value(text):
            yield f".{field}.{name_of(str(key))}", f"is {name_of(text)}, and Kubernetes takes {names.LABEL_VALUE.form}"


def object_meta(value: Piece) -> Faults:
    """``ValidateObjectMeta``, ``ValidateAnnotations``."""
    yield from labels("labels", value.get("labels"))
    annotations = mapped(value, "annotations")
    for key in annotations:
        if not names.is_key(str(key).lower()):
            yield f".annotations.{name_of(str(key))}", f"is not an annotation's key; Kubernetes takes {names.KEY.form}"
    if sum(len(f"{key}{text}".encode()) for key, text in annotations.items()) > _LARGEST:
        yield ".annotations", f"has more than {_LARGEST} bytes; Kubernetes takes as many for all annotations of an object"


def app_armor(spec: Piece, metadata: Piece) -> Faults:
    """``ValidateAppArmorPodAnnotations``, ``validatePodAppArmorProfile…``, each below the metadata."""
    every = {str(member.get("name")): member for _, member in containers(spec)}
    for key, text in mapped(metadata, "annotations").items():
        name = str(key).removeprefix(_APPARMOR)
        path = f".annotations.{name_of(str(key))}"
        if not str(key).startswith(_APPARMOR):
            continue
        if name not in every:
            yield path, f"names {name_of(name)}, and the pod has no such container"
        elif _PROFILE.fullmatch(str(text)) is None:
            yield path, "isn't a profile; Kubernetes takes runtime/default, unconfined and localhost/NAME"
        elif mapped(every[name], "securityContext", "appArmorProfile"):
            yield path, "is set beside the container's securityContext.appArmorProfile; set one of the two"


def containers(pod: Piece) -> Iterator[tuple[str, Piece]]:
    """All containers of a pod, each with its path."""
    for field in ("initContainers", "containers"):
        yield from ((f".{field}[{number}]", member) for number, member in enumerate(listed(pod, field)))


def pod(value: Piece) -> Faults:
    """``ValidatePodSpec``; the admission plugins Priority and RuntimeClass."""
    yield from labels("nodeSelector", value.get("nodeSelector"))
    if value.get("dnsPolicy") == "None" and not mapped(value, "dnsConfig").get("nameservers"):
        yield ".dnsPolicy", "is None, and Kubernetes then requires dnsConfig.nameservers"
    if value.get("priority") is not None:
        yield ".priority", "is computed by the API server, which refuses a pod that brings it; use pod.priorityClass"
    if value.get("preemptionPolicy"):
        yield (
            ".preemptionPolicy",
            "is the priority class's, and the API server refuses a pod with another; use pod.priorityClass",
        )
    if value.get("overhead"):
        yield ".overhead", "is the RuntimeClass's, and the API server refuses a pod with another; use runtimeClassName"
    for number, member in enumerate(listed(value, "initContainers")):
        if member.get("restartPolicy") != "Always":
            for field in ("lifecycle", *_PROBES):
                if member.get(field) is not None:
                    yield f".initContainers[{number}].{field}", "is taken with restartPolicy: Always only"
    if mapped(value, "resources").get("claims"):
        yield ".resources.claims", "is taken of a container only, not of the pod as a whole"
    claims = enumerate(listed(value, "resourceClaims"))
    yield from again((f".resourceClaims[{number}].name", str(pod_claim.get("name") or "")) for number, pod_claim in claims)
    spread = Counter(
        (str(constraint.get("topologyKey")), str(constraint.get("whenUnsatisfiable")))
        for constraint in listed(value, "topologySpreadConstraints")
    )
    for (key, answer), times in spread.items():
        if times > 1:
            yield ".topologySpreadConstraints", f"has {name_of(key)} with {name_of(answer)} twice; Kubernetes takes it once"


def claim(value: Piece) -> Faults:
    """``validatePodResourceClaim``: a name that is empty is given all the same."""
    for field in ("resourceClaimName", "resourceClaimTemplateName"):
        if value.get(field) == "":
            yield f".{field}", "is an empty text; Kubernetes takes the name of an object"


def aliases(value: Piece) -> Faults:
    """``ValidateHostAliases``."""
    ip = value.get("ip")
    if isinstance(ip, str) and ip and not names.is_address(ip):
        yield ".ip", "isn't an address, as 192.0.2.1"
    for number, hostname in enumerate(texts(value, "hostnames")):
        if not names.is_subdomain(hostname):
            yield f".hostnames[{number}]", f"is {name_of(hostname)}, and Kubernetes takes {names.NAME.form}"


def whole_pod(value: Piece) -> Faults:
    """What hangs on fields of the pod that a piece of it needn't have."""
    yield from _hooks(value)
    yield from _host_ports(value)
    yield from _rights(value)


def _hooks(value: Piece) -> Faults:
    """``validateSleepAction``."""
    given = value.get("terminationGracePeriodSeconds")
    grace = given if isinstance(given, int) else _GRACE
    for path, member in containers(value):
        for hook in ("postStart", "preStop"):
            seconds = mapped(member, "lifecycle", hook, "sleep").get("seconds")
            if isinstance(seconds, int) and not 0 <= seconds <= grace:
                yield (
                    f"{path}.lifecycle.{hook}.sleep",
                    f"is {seconds} seconds; it must end within the {grace} that the pod has (terminationGracePeriodSeconds)",
                )


def _host_ports(value: Piece) -> Faults:
    """``checkHostPortConflicts``, ``validateHostNetwork``."""
    seen = set[str]()
    for path, member in containers(value):
        for number, port in enumerate(listed(member, "ports")):
            own, other = port.get("hostPort"), port.get("containerPort")
            if not own:
                continue
            if value.get("hostNetwork") and own != other:
                yield f"{path}.ports[{number}].hostPort", "must be containerPort on the host's network"
            said = f"{port.get('protocol') or 'TCP'} {port.get('hostIP') or ''} {own}"
            if said in seen:
                yield f"{path}.ports[{number}].hostPort", f"is {own} a second time in the pod; Kubernetes takes it once"
            seen.add(said)


def _rights(value: Piece) -> Faults:
    """``ValidatePodSecurityContext``, ``validateWindows``, ``validateProcMount``, ``validateSysctls``."""
    own = mapped(value, "securityContext")
    linux = mapped(value, "os").get("name") == "linux"
    of_all = [("", own), *((path, mapped(member, "securityContext")) for path, member in containers(value))]
    for path, context in of_all:
        windows = mapped(context, "windowsOptions")
        if windows and (linux or windows.get("hostProcess")):
            yield f"{path}.securityContext.windowsOptions", "is of Windows, and the operator's pods are Linux's. Remove it"
        if context.get("procMount") == "Unmasked" and value.get("hostUsers") is not False:
            yield f"{path}.securityContext.procMount", "is Unmasked, which Kubernetes takes with hostUsers: false only"
    yield from _sysctls(value, listed(own, "sysctls"))


def _sysctls(value: Piece, given: list[Piece]) -> Faults:
    every = [
        (f".securityContext.sysctls[{number}].name", str(sysctl.get("name") or "")) for number, sysctl in enumerate(given)
    ]
    yield from again(every)
    for path, name in every:
        own = sysctls.namespace(name)
        if value.get("hostNetwork") and own == "net":
            yield path, "is the network's, and the pod is on the host's network"
        if value.get("hostIPC") and own == "ipc":
            yield path, "is of shared memory or queues, and the pod has the host's"
        if not own and names.SYSCTL.takes(name):
            why = f"is {name_of(name)}, which is the whole node's: no kubelet sets it for a pod (SysctlForbidden)"
            yield path, f"{why}. Set it on the node"


def container(value: Piece) -> Faults:
    """``validateContainerPorts``, ``ValidateVolumeMounts``, ``validateResizePolicy``, ``validateLivenessProbe``."""
    for field, key in (
        ("ports", "name"),
        ("volumeMounts", "mountPath"),
        ("volumeDevices", "devicePath"),
        ("resizePolicy", "resourceName"),
    ):
        every = enumerate(listed(value, field))
        yield from again((f".{field}[{number}].{key}", str(part.get(key) or "")) for number, part in every)
    for field in _PROBES:
        probe = mapped(value, field)
        ready = field == "readinessProbe"
        grace = probe.get("terminationGracePeriodSeconds")
        if not ready and probe.get("successThreshold") not in (None, 0, 1):
            yield f".{field}.successThreshold", "must be 1"
        if grace is not None and (ready or grace == 0):
            yield f".{field}.terminationGracePeriodSeconds", "must be left out here" if ready else "must be above 0"


def executed(value: Piece) -> Faults:
    """``validateExecAction``."""
    yield from missing(value, ("command",))


def toleration(value: Piece) -> Faults:
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


def requirement(value: Piece) -> Faults:
    """``ValidateNodeSelectorRequirement``, ``ValidateLabelSelectorRequirement``."""
    operator, values = value.get("operator"), value.get("values") or []
    if operator in {"In", "NotIn"} and not values:
        yield ".values", f"must have one or more where operator is {operator}"
    if operator in {"Exists", "DoesNotExist"} and values:
        yield ".values", f"must be empty where operator is {operator}"
    if operator in {"Gt", "Lt"} and not (len(values) == 1 and str(values[0]).lstrip("-").isdecimal()):
        yield ".values", f"must be one whole number, as a text, where operator is {operator}"
    for number, text in enumerate(values):
        if isinstance(text, str) and not names.is_label_value(text):
            yield f".values[{number}]", f"is {name_of(text)}, and Kubernetes takes {names.LABEL_VALUE.form}"


def node_selector(value: Piece) -> Faults:
    """``ValidateNodeSelector``."""
    if not value.get("nodeSelectorTerms"):
        yield "", "has no nodeSelectorTerms, which Kubernetes requires"


def node_term(value: Piece) -> Faults:
    """``ValidateNodeFieldSelectorRequirement``."""
    for number, selector in enumerate(listed(value, "matchFields")):
        path = f".matchFields[{number}]"
        if selector.get("key") != "metadata.name":
            yield f"{path}.key", "isn't a field of a node that Kubernetes selects by; it takes metadata.name"
        if selector.get("operator") not in {"In", "NotIn"}:
            yield f"{path}.operator", "must be In or NotIn for a field"
        elif len(selector.get("values") or ()) != 1:
            yield f"{path}.values", "must have one for a field"


def affinity_term(value: Piece) -> Faults:
    """``validatePodAffinityTerm``."""
    yield from _keys_of_labels(value, "matchLabelKeys", "mismatchLabelKeys")
    if both := sorted({*texts(value, "matchLabelKeys")} & {*texts(value, "mismatchLabelKeys")}):
        yield ".mismatchLabelKeys", f"has {name_of(both[0])}, which matchLabelKeys has, too"
    for number, namespace in enumerate(texts(value, "namespaces")):
        if not our_names.is_dns_label(namespace):
            yield f".namespaces[{number}]", f"is {name_of(namespace)}, and Kubernetes takes {names.LABEL.form}"


def spread(value: Piece) -> Faults:
    """``validateTopologySpreadConstraints``."""
    if value.get("minDomains") is not None and value.get("whenUnsatisfiable") != "DoNotSchedule":
        yield ".minDomains", "is taken with whenUnsatisfiable: DoNotSchedule only"
    yield from _keys_of_labels(value, "matchLabelKeys")


def _keys_of_labels(value: Piece, *fields: str) -> Faults:
    for field in fields:
        if value.get(field) and value.get("labelSelector") is None:
            yield f".{field}", "is taken with labelSelector only"


def variable(value: Piece) -> Faults:
    """``validateEnvVarValueFrom``."""
    if value.get("value") and value.get("valueFrom") is not None:
        yield ".valueFrom", "must be left out where value is set"


def security(value: Piece) -> Faults:
    """``ValidateSecurityContext``."""
    added = texts(mapped(value, "capabilities"), "add")
    if value.get("allowPrivilegeEscalation") is False and (value.get("privileged") or "CAP_SYS_ADMIN" in added):
        yield ".allowPrivilegeEscalation", "can't be false where privileged is true or CAP_SYS_ADMIN is added"
    for field in ("add", "drop"):
        for capability in texts(mapped(value, "capabilities"), field):
            if name_of(capability) == capability and capability.upper().startswith("CAP_"):
                read_as = f"which runtimes read as CAP_{capability} and pass over"
                yield f".capabilities.{field}", f"has {capability}, {read_as}; Kubernetes' name is {capability[4:]}"


def probed(value: Piece) -> Faults:
    """Ports by name are those of the container itself (``FindPort`` of kubelet's prober): where it has none of the name, no
    probe succeeds, and kubelet restarts it for ever."""
    own = {str(own_port.get("name")) for own_port in listed(value, "ports")}
    for field in _PROBES:
        for how in ("httpGet", "tcpSocket"):
            name = mapped(value, field, how).get("port")
            if isinstance(name, str) and names.is_port_name(name) and name not in own:
                yield f".{field}.{how}.port", f"is {name_of(name)}, and the container has no port of this name"


def groups(value: Piece) -> Faults:
    """``ValidatePodSecurityContext``."""
    for number, group in enumerate(value.get("supplementalGroups") or ()):
        if isinstance(group, int) and not 0 <= group < 2**31:
            yield f".supplementalGroups[{number}]", f"is {group}, and Kubernetes takes 0 to {2**31 - 1}"


def profile(value: Piece) -> Faults:
    """``validateSeccompProfileField``, ``validateAppArmorProfileField``."""
    if (value.get("type") == "Localhost") != bool(value.get("localhostProfile")):
        yield ".localhostProfile", "is needed with type: Localhost, and with no other"


def port(value: Piece) -> Faults:
    """``ValidatePortNumOrName``."""
    given = value.get("port")
    if isinstance(given, int) and not 1 <= given <= 65535:
        yield ".port", f"is {given}, and Kubernetes takes 1 to 65535, or a port's name"
    if isinstance(given, str) and given and not names.is_port_name(given):
        yield ".port", f"is {name_of(given)}; a port's name is {names.PORT_NAME.form}"
