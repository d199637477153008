"""How Kubernetes lets names, keys and paths be written, which its OpenAPI doesn't say: each with the function that decides.

Functions of ``k8s.io/apimachinery/pkg/util/validation`` where none else is named. Each says whether a text is taken. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from slinky_iac import names

_QUALIFIED: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_ENTRY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_VARIABLE: Final = re.compile(r"[!-<>-~ ]+")
_DURATION: Final = re.compile(r"0|(\d+y)?(\d+w)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?", re.ASCII)
_PORT: Final = re.compile(r"(?=.{1,15}$)(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SYSCTL: Final = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")
_QUANTITY: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,3})?")
_LONGEST_QUANTITY: Final = 64
_HOST: Final = (
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:]+\])"
)
_FOLDER: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE: Final = re.compile(
    rf"(?:{_HOST}(?::[0-9]+)?/)?{_FOLDER}(?:/{_FOLDER})*(?::\w[\w.-]{{0,127}})?"
    r"(?:@(?:sha256:[0-9a-f]{64}|(?!sha256:)[A-Za-z][A-Za-z0-9+._-]*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
_OF_FILES: Final = frozenset({"metadata.name", "metadata.namespace", "metadata.uid"})
_FIELDS: Final = _OF_FILES | {
    *("spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
}
_MAPS: Final = frozenset({"metadata.annotations", "metadata.labels"})
_NOTED: Final = re.compile(r"metadata\.(annotations|labels)\['[^']+'\]")


def is_subdomain(text: str) -> bool:
    """``IsDNS1123Subdomain``."""
    return (
        len(text) <= 253
        and re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", text) is not None
    )


def is_address(text: str) -> bool:
    """``IsValidIPForLegacyField``: zeros in front are read over, and there is no zone."""
    try:
        ip_address(text if ":" in text else re.sub(r"\b0+(?=\d)", "", text))
    except ValueError:
        return False
    return "%" not in text


def is_key(text: str) -> bool:
    """``IsQualifiedName``: keys of labels and annotations, taints, names of resources."""
    prefix, slash, name = text.rpartition("/")
    return _QUALIFIED.fullmatch(name) is not None and (not slash or is_subdomain(prefix))


def is_label_value(text: str) -> bool:
    """``IsValidLabelValue``."""
    return not text or _QUALIFIED.fullmatch(text) is not None


def is_entry_name(text: str) -> bool:
    """``IsConfigMapKey``: an entry of a ConfigMap or a Secret, which is a file's name in pods."""
    return _ENTRY.fullmatch(text) is not None and text not in {".", ".."}


def is_variable(text: str) -> bool:
    """``IsRelaxedEnvVarName``; API servers before 1.32 take letters, digits, ``-``, ``_`` and ``.``, as shells do."""
    return _VARIABLE.fullmatch(text) is not None


def is_port_name(text: str) -> bool:
    """``IsValidPortName``."""
    return _PORT.fullmatch(text) is not None


def is_device(text: str) -> bool:
    """``IsExtendedResourceName`` of ``pkg/apis/core/v1/helper``: a device plugin's resource."""
    domain, slash, name = text.partition("/")
    return bool(slash) and is_subdomain(domain) and "kubernetes.io" not in domain and is_key(f"requests.{domain}/{name}")


def is_quantity(value: object) -> bool:
    """``resource.ParseQuantity``, but for numbers of so many digits that Kubernetes cuts them to 2**63 - 1: these are
    refused, since reading one takes a machine's whole memory."""
    if isinstance(value, bool) or (isinstance(value, int) and value.bit_length() > _LONGEST_QUANTITY):
        return False
    text = str(value) if isinstance(value, str | int | float) else ""
    return len(text) <= _LONGEST_QUANTITY and _QUANTITY.fullmatch(text) is not None


def is_image(text: str) -> bool:
    """``ParseNormalizedNamed`` of ``github.com/distribution/reference``, by which kubelet reads the name of an image."""
    return _IMAGE.fullmatch(text) is not None


def is_local_path(text: str) -> bool:
    """``validateLocalDescendingPath`` of ``pkg/apis/core/validation``: a place in a volume."""
    return not text.startswith("/") and ".." not in text.split("/")


def is_mount_path(text: str) -> bool:
    """What the API's description of ``VolumeMount.mountPath`` asks: no colon. From the root: else kubelet takes ``/``."""
    return text.startswith("/") and ":" not in text


def is_pod_field(text: str) -> bool:
    """What a variable can have of its pod (``validEnvDownwardAPIFieldPathExpressions``, ``pkg/apis/core/validation``)."""
    return text in _FIELDS or _NOTED.fullmatch(text) is not None


def is_file_field(text: str) -> bool:
    """What a file can have of its pod (``validVolumeDownwardAPIFieldPathExpressions``, in the same place)."""
    return text in _OF_FILES | _MAPS or _NOTED.fullmatch(text) is not None


@dataclass(frozen=True)
class Syntax:
    """How a field's text is written."""

    takes: Callable[[str], bool]
    form: str


LABEL: Final = Syntax(names.is_dns_label, "lower-case letters, digits and inner dashes, at most 63 characters")
NAME: Final = Syntax(is_subdomain, "lower-case letters, digits, and inner dashes and dots, at most 253 characters")
KEY: Final = Syntax(
    is_key, "letters, digits, '-', '_' and '.', at most 63, perhaps behind DOMAIN/, for example example.org/pool"
)
LABEL_VALUE: Final = Syntax(is_label_value, "letters, digits, and inner '-', '_' and '.', at most 63 characters")
ENTRY: Final = Syntax(is_entry_name, "letters, digits, '-', '_' and '.', without a folder")
VARIABLE: Final = Syntax(is_variable, "printable signs of ASCII but '='")
HEADER: Final = Syntax(lambda text: re.fullmatch(r"[-A-Za-z0-9]+", text) is not None, "letters, digits and dashes")
DURATION: Final = Syntax(lambda text: _DURATION.fullmatch(text) is not None, "numbers with units, as 30s or 1m30s")
"""Of the Prometheus operator, as the operator's CRD has it (pattern)."""
PORT_NAME: Final = Syntax(is_port_name, "lower-case letters, digits and inner dashes, at most 15, one of them a letter")
IMAGE: Final = Syntax(is_image, "REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:…, in lower case before the tag")
LOCAL: Final = Syntax(is_local_path, "a path without '/' at its beginning and without '..'")
MOUNT: Final = Syntax(is_mount_path, "a path from '/' on, without ':'")
ROOTED: Final = Syntax(lambda text: text.startswith("/"), "a path from '/' on")
NO_DOTS: Final = Syntax(lambda text: ".." not in text.split("/"), "a path without '..'")
_ONE: Final = "metadata.labels['KEY'] and metadata.annotations['KEY']"
POD_FIELD: Final = Syntax(is_pod_field, f"{', '.join(sorted(_FIELDS))}, {_ONE}")
FILE_FIELD: Final = Syntax(is_file_field, f"{', '.join(sorted(_OF_FILES | _MAPS))}, {_ONE}")
SYSCTL: Final = Syntax(
    lambda text: len(text) <= 253 and _SYSCTL.fullmatch(text) is not None, "the name of a sysctl, as net.core.somaxconn"
)
DRIVER: Final = Syntax(
    lambda text: len(text) <= 63 and is_subdomain(text.lower()), "the name of a CSI driver, as nfs.csi.k8s.io"
)
