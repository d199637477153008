"""Every field of slurm-operator's custom resources, and the way to it: a setting, a raw piece, or none, with the reason.

The one table: the rules of raw pieces open by it what no gate, key or file of a daemon depends on, and the page of
fields (tests/reach.py) is made of it. Types by release are ``crd_types.json``, which ``lab/crd_table.py`` reads from CRDs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from slinky_iac.config.chart.reasons import BACKUP
from slinky_iac.config.kubernetes import types as kubernetes_types
from slinky_iac.config.stack import sections
from slinky_iac.keys.registry import REFERENCES


class Way(Enum):
    """How a field is reached."""

    SETTING = "setting"
    RAW = "raw"
    CLOSED = "closed"


@dataclass(frozen=True)
class Field:
    """The way to a field, and all below it that has no row of its own."""

    way: Way
    words: str
    """The setting or the raw piece; or why there is none."""


KINDS: Final[Mapping[str, str]] = {
    "controller": "Controller",
    "accounting": "Accounting",
    "restapi": "RestApi",
    "nodesets": "NodeSet",
    "logins": "LoginSet",
}
"""Custom resources by section; a Token has no raw pieces."""
_SET, _RAW, _NONE = Way.SETTING, Way.RAW, Way.CLOSED
_SAME_OBJECT: Final = "is one stack's one cluster: `cluster.resourceName` and `cluster.namespace` name its objects"
_SCRIPTS: Final = (
    "is a ConfigMap of others: its files would be in /etc/slurm unread, where one can replace slurm.conf or a key"
)
_BY_GATES: Final = (
    "changes which pods the operator removes: gates would drain others, and the removed ones end with their jobs"
)
_ROWS: Final[Mapping[str, tuple[Way, str]]] = {
    "controllerRef": (_NONE, _SAME_OBJECT),
    "slurmKeyRef": (_SET, "keys.slurmKeyFrom"),
    "jwtHs256KeyRef": (_SET, "keys.jwtKeyFrom"),
    "jwtKeyRef": (_SET, "keys.jwtKeyFrom"),
    **{field: (_SET, key.setting) for field, key in REFERENCES.items()},
    "external": (_SET, "external"),
    "externalConfig": (_SET, "external"),
    "extraConf": (_SET, "extraConf"),
    "replicas": (_SET, "replicas"),
    "service.port": (_NONE, "is Slurm's own port, which gates, hosts and NetworkPolicies go by"),
    "service.nodePort": (_SET, "service.nodePort"),
    "service.metadata.annotations": (_SET, "service.annotations"),
    "service.metadata.labels": (_RAW, "raw.spec.service.metadata.labels"),
    "service.spec": (_RAW, "service.type, raw.service"),
    "template.metadata.annotations": (_SET, "pod.annotations"),
    "template.metadata.labels": (_SET, "pod.labels"),
    "template.spec": (_RAW, "pod, raw.pod"),
    "*.optional": (_NONE, "would let a daemon start without its key or file"),
    "*.namespace": (_NONE, _SAME_OBJECT),
}
"""Rows of every kind. ``*`` at the beginning: the field at any depth."""


def _daemon(container: str, image: str) -> dict[str, tuple[Way, str]]:
    return {container: (_RAW, f"{image}, resources, raw.container")}


def _sidecar(*names: str) -> dict[str, tuple[Way, str]]:
    ways: dict[str, tuple[Way, str]] = {}
    for name in names:
        ways[name] = (_SET, f"cluster.images, cluster.sidecarResources, raw.spec.{name}.securityContext")
        ways[f"{name}.image"] = (_SET, "cluster.images")
        ways[f"{name}.imagePullPolicy"] = (_SET, "cluster.images.pullPolicy")
        ways[f"{name}.resources"] = (_SET, "cluster.sidecarResources")
        ways[f"{name}.securityContext"] = (_RAW, f"raw.spec.{name}.securityContext")
        ways[f"{name}.securityContext.privileged"] = (
            _NONE,
            "isn't allowed on a sidecar, which needs nothing of its node. Remove it",
        )
        ways[f"{name}.terminationMessagePolicy"] = (_RAW, f"raw.spec.{name}.terminationMessagePolicy")
    return ways


def _raw(*fields: str) -> dict[str, tuple[Way, str]]:
    return {field: (_RAW, f"raw.spec.{field}") for field in fields}


def _of_sections(resource: str) -> dict[str, tuple[Way, str]]:
    """Fields that sections of parts mean, which are then no raw pieces: the chart's key of each is the resource's name there
    and the field's path."""
    keys = [(key, f"{name}.{field}") for name, section in sections().items() for key, field in section.chart_keys.items()]
    return {path: (_SET, setting) for key, setting in keys for at, _, path in (key.partition("."),) if at == resource}


_OF: Final[Mapping[str, Mapping[str, tuple[Way, str]]]] = {
    "Controller": {
        **_daemon("slurmctld", "cluster.images.slurmctld"),
        **_sidecar("logfile", "reconfigure"),
        **_raw(
            *(f"metrics.serviceMonitor.{word}" for word in ("annotations", "enabled", "endpoints", "interval", "labels")),
            "metrics.serviceMonitor.scrapeTimeout",
            "persistence.dataSource",
            "persistence.dataSourceRef",
            "persistence.resources.limits",
            "persistence.selector",
            "persistence.volumeAttributesClassName",
            "persistence.volumeMode",
            "persistence.volumeName",
        ),
        "accountingRef": (_SET, "accounting.enabled"),
        "clusterName": (_SET, "cluster.name"),
        "configFileRefs": (_SET, "controller.configFiles"),
        "prologScriptRefs": (_SET, "controller.prolog"),
        "epilogScriptRefs": (_SET, "controller.epilog"),
        "prologSlurmctldScriptRefs": (_NONE, _SCRIPTS),
        "epilogSlurmctldScriptRefs": (_NONE, _SCRIPTS),
        "ha": (_NONE, f"would make a second slurmctld: {BACKUP}"),
        "inplaceReconfigure": (
            _NONE,
            "would leave out the restart of slurmctld's pod that brings new files to daemons and that gates wait for",
        ),
        "metrics.enabled": (_SET, "controller.metrics"),
        **_of_sections("controller"),
        "persistence.accessModes": (_SET, "controller.persistence.accessModes"),
        "persistence.enabled": (_SET, "controller.persistence.enabled"),
        "persistence.existingClaim": (_SET, "controller.persistence.existingClaim"),
        "persistence.resources.requests": (_SET, "controller.persistence.size"),
        "persistence.storageClassName": (_SET, "controller.persistence.storageClass"),
        "persistence.dataSourceRef.namespace": (_NONE, "needs a ReferenceGrant of another namespace"),
    },
    "Accounting": {
        **_daemon("slurmdbd", "cluster.images.slurmdbd"),
        "storageConfig": (_SET, "accounting.database"),
        "storageConfig.passwordKeyRef": (_SET, "accounting.database.passwordFrom"),
    },
    "RestApi": _daemon("slurmrestd", "cluster.images.slurmrestd"),
    "NodeSet": {
        **_daemon("slurmd", "image"),
        **_sidecar("logfile"),
        **_raw(
            "minReadySeconds",
            "persistentVolumeClaimRetentionPolicy",
            "revisionHistoryLimit",
            "volumeClaimTemplates",
        ),
        "ordinalPadding": (
            _NONE,
            "gives pods other names (gpu-003): gates, findings and records say gpu-3, and would mean no node",
        ),
        "oversubscribeNode": (_NONE, _BY_GATES),
        "pinToNode": (_NONE, _BY_GATES),
        "scalingMode": (_SET, "scalingMode"),
        "workloadDisruptionProtection": (
            _NONE,
            "would take away the PodDisruptionBudgets of busy pods: an eviction would end their jobs",
        ),
        "pruneSlurmNodeRecords": (
            _NONE,
            "would remove Slurm's records of nodes that no gate has drained; gates remove those that they have",
        ),
        "taintKubeNodes": (
            _NONE,
            "would taint Kubernetes nodes, and pods of others find no place there; use pod.tolerations",
        ),
        "partition": (_SET, "partition"),
        "ssh": (_SET, "ssh"),
        "updateStrategy": (_SET, "updateStrategy"),
        "updateStrategy.scheduledUpdate": (_NONE, "would end pods with their jobs at a time when no gate has drained them"),
    },
    "LoginSet": {
        **_daemon("login", "image"),
        **_sidecar("initconf"),
        **_raw("strategy"),
        "extraSshdConfig": (_SET, "extraSshdConfig"),
        "service.port": (_NONE, "is sshd's port, 22: NetworkPolicies of the stack and what it says to users go by that one"),
        "rootSshAuthorizedKeys": (_SET, "rootAuthorizedKeys"),
        "sssdConfRef": (_SET, "sssdConfFrom"),
    },
    "Token": {
        "username": (_SET, "tokens"),
        "lifetime": (_SET, "tokens"),
        "refresh": (_SET, "tokens"),
        "secretRef": (_SET, "tokens"),
    },
}


def field(kind: str, path: str) -> Field | None:
    """The way to a field of a kind's spec, by the row nearest above it; None where no row is."""
    rows = {**_ROWS, **_OF[kind]}
    if row := rows.get("*." + path.rpartition(".")[2]):
        return Field(*row)
    while path:
        if path in rows:
            return Field(*rows[path])
        path = path.rpartition(".")[0]
    return None


def is_above(kind: str, path: str) -> bool:
    """Whether fields below ``path`` have ways of their own."""
    return any(row.startswith(f"{path}.") for row in (*_ROWS, *_OF[kind]))


def leaves(line: str, kind: str) -> Iterator[str]:
    """Each field of a kind's spec in a line of releases that holds a value, by its path; wrappers of pods end at theirs."""
    types = kubernetes_types.of_operator(line)
    yield from _leaves(types, kind, "")


def _leaves(types: Mapping[str, Mapping[str, str]], kind: str, above: str) -> Iterator[str]:
    for name, field_kind in sorted(types[kind].items()):
        inner = field_kind.strip("[]{}")
        path = f"{above}{name}"
        if inner in types:
            yield from _leaves(types, inner, f"{path}.")
        else:
            yield path


def given(piece: Mapping[str, Any], kind: str, above: str = "") -> Iterator[tuple[str, Field | None]]:
    """Fields of a raw spec, as deep as the table has rows, each with its way."""
    for name, value in piece.items():
        path = f"{above}{name}"
        way = field(kind, path)
        if isinstance(value, Mapping) and is_above(kind, path):
            yield from given(value, kind, f"{path}.")
        else:
            yield path, way


def rows() -> Iterator[tuple[str, str]]:
    """Kind and path of each row that belongs to one kind."""
    return ((kind, path) for kind, of in _OF.items() for path in of)
