"""Volumes of Slinky's pods and where they are mounted: beside what the image, Slurm, the operator and the program have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from posixpath import normpath
from typing import Any, Final

from slurm_rules.compute import quantity
from slurm_rules.daemon_variables import OF_USERS
from slurm_rules.made import HARMLESS, MADE, Asked
from slurm_rules.model import Resource

_LISTS: Final[Mapping[str, Any]] = HARMLESS["values"]
_OWN: Final[Mapping[str, Any]] = MADE.get("volumes", {"own": {}, "ofSsh": {}, "ours": ""})
_OURS: Final = re.compile(_OWN["ours"])
"""The operator's and the program's own volumes: one of that name takes the place of it, or is merged into it."""
_FILES: Final = frozenset({"configMap", "secret", "projected"})
"""Sources of which the cluster's namespace has the files, and no program of a node or of users writes them."""
_CERTIFICATES: Final = re.compile(_LISTS["certificates"])
_OF_USERS: Final = re.compile(r"/(?:home|homes|users)(?:/|$)")


_ROOM: Final = 32 * 2**30


def evicts(kind: str) -> int:
    """What jobs, or people, may write to a node's disk at the least before the kubelet evicts their pod, in bytes. In memory
    a volume is full at its limit, and nothing is evicted. Source: Kubernetes, "Local ephemeral storage"."""
    return _ROOM if kind.endswith(("/NodeSet", "/LoginSet")) else 0


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is like one of several patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def folder_fault(folder: object, options: Mapping[str, Any]) -> str | None:
    """What is wrong with a folder of a node in a pod."""
    path = normpath("/" + str(folder).strip().lstrip("/"))
    known = any(matches(path, (allowed, f"{allowed}/*")) for allowed in options["folders"])
    return None if known else f"opens {path} of the node; the site file's folders are {', '.join(options['folders'])}"


def _is_own(name: str, asked: Asked) -> bool:
    """Whether the pod has, or may have, a volume of this name of the operator's or of the program's."""
    kind = asked.kind.rpartition("/")[2]
    ssh = asked.resource is None or asked.resource.peek("spec", "ssh", "enabled") not in (None, False)
    own = [*_OWN["own"].get(kind, (name,)), *(_OWN["ofSsh"].get(kind, ()) if ssh else ())]
    return name in own or _OURS.fullmatch(name) is not None


def volume(asked: Asked) -> str | None:
    """A volume of a source that can do no harm, under a name of the site's own."""
    value = asked.value if isinstance(asked.value, Mapping) else {}
    name, sources = str(value.get("name")), [key for key in value if key != "name"]
    if len(sources) != 1 or sources[0] not in _LISTS["sources"] or not isinstance(value[sources[0]], Mapping):
        return f"is a volume of {', '.join(sources) or 'nothing'}"
    source, body = sources[0], value[sources[0]]
    if more := sorted(set(body) - set(_LISTS["sources"][source])):
        return f"has {', '.join(more)}"
    if _is_own(name, asked):
        return f"has the name {name}, of a volume that the operator or the program makes"
    return _source(source, body, asked)


def _source(source: str, body: Mapping[str, Any], asked: Asked) -> str | None:
    if source == "hostPath":
        return folder_fault(body.get("path"), asked.options)
    if source == "image":
        asked.judging.images.append(("image.reference", str(body.get("reference"))))
    faults = {
        "projected": (
            not all(_is_file(projected, asked) for projected in body.get("sources") or (None,)),
            "has parts that aren't files of a ConfigMap or a Secret without a key",
        ),
        "emptyDir": (
            body.get("medium") in (None, "") and (quantity(body.get("sizeLimit")) or _ROOM) < evicts(asked.kind),
            f"has the sizeLimit {body.get('sizeLimit')}, above which the kubelet evicts the pod with its jobs",
        ),
        "persistentVolumeClaim": (str(body.get("claimName")).startswith("statesave"), "is slurmctld's state"),
        "secret": (holds_key(body.get("secretName"), asked), "holds a key of the cluster"),
        "csi": (not matches(str(body.get("driver")), _LISTS["drivers"]), "is of a driver that may read a store's secrets"),
    }
    wrong, text = faults.get(source, (False, ""))
    return text if wrong else None


_PARTS: Final = frozenset({"configMap", "secret", "downwardAPI"})


def _is_file(part: object, asked: Asked) -> bool:
    """Whether a part of a projected volume is one of a ConfigMap, or of a Secret without a key."""
    if not isinstance(part, Mapping) or len(part) != 1 or not part.keys() <= _PARTS:
        return False
    return not any(holds_key(source.get("name"), asked) for source in part.values() if isinstance(source, Mapping))


def holds_key(secret: object, asked: Asked) -> bool:
    """Whether a daemon's pod can't have a Secret of this name: one with a key of the cluster; where users run what they
    bring, also one with what another daemon holds."""
    world, of_users = asked.judging.world, asked.kind.rpartition("/")[2] in OF_USERS
    return secret in world.keys or "auth" in str(secret) or (of_users and secret in world.held)


def mount(asked: Asked) -> str | None:
    """A mount beside what the image and Slurm have, never over it; of daemons with keys more strictly. To its ArchiveDir
    slurmdbd writes what it purges; beside that, neither it nor its image has anything below /var/spool."""
    if not isinstance(asked.value, Mapping) or (more := sorted(set(asked.value) - {*_MOUNT})):
        return f"has {', '.join(more) if isinstance(asked.value, Mapping) else 'another shape'}"
    if asked.value.get("mountPropagation") == "Bidirectional":
        return "mounts on the node what it mounts (mountPropagation)"
    name, path = str(asked.value.get("name")), _path(asked.value)
    if _is_own(name, asked):
        return f"mounts {name}, a volume that the operator or the program makes"
    of_jobs = asked.kind.endswith(("/NodeSet", "/LoginSet"))
    free = [*_LISTS["usualMounts" if of_jobs else "ownMounts"]]
    free += asked.judging.world.archives if asked.kind.endswith("/Accounting") else ()
    top = path.split("/")[1]
    if not top or (top in _LISTS["ownFolders"] and not matches(path, free) and not _beside(path, name, asked.resource)):
        return f"covers {path}, where the image, or Slurm, has its files"
    return None


_MOUNT: Final = ("name", "mountPath", "readOnly", "subPath", "subPathExpr", "mountPropagation", "recursiveReadOnly")


def _path(mount: Mapping[str, Any]) -> str:
    return normpath("/" + str(mount.get("mountPath")).lstrip("/"))


def _beside(path: str, name: str, part: Resource | None) -> bool:
    """Whether a mount adds certificates, or a folder of the pod's own to write temporary files."""
    if part is None:
        return False
    own = path in _LISTS["temporary"] and name in _volumes(part, frozenset({"emptyDir"}))
    return own or (bool(_CERTIFICATES.fullmatch(path)) and name in _volumes(part, _FILES))


def _rows(part: Resource, *path: str) -> Iterator[Mapping[str, Any]]:
    rows = part.peek("spec", *path)
    return (row for row in (rows if isinstance(rows, list | tuple) else ()) if isinstance(row, Mapping))


def _claims(part: Resource) -> set[object]:
    return {(row.get("metadata") or {}).get("name") for row in _rows(part, "volumeClaimTemplates")}


def _volumes(part: Resource, sources: frozenset[str]) -> set[object]:
    """Names of the pod's volumes of these sources, without those that another volume or claim has, too."""
    volumes = [(row.get("name"), row.keys() - {"name"} <= sources) for row in _rows(part, "template", "spec", "volumes")]
    return {name for name, given in volumes if given} - {name for name, given in volumes if not given} - _claims(part)


def believes(part: Resource) -> Callable[[str], bool]:
    """Whether a file of slurmdbd's is one that a ConfigMap or a Secret has: its innermost mount is of one."""
    mounts = {_path(row): row.get("name") for row in _rows(part, "slurmdbd", "volumeMounts")}
    given = _volumes(part, _FILES)

    def is_given(file: str) -> bool:
        around = [folder for folder in mounts if file == folder or file.startswith(f"{folder}/")]
        return file == normpath(file) and bool(around) and mounts[max(around, key=len)] in given

    return is_given


def claim(asked: Asked) -> str | None:
    """The name of a claim that each pod gets one of: it is a volume's, too."""
    return f"is {asked.value}, a volume that the operator or the program makes" if _is_own(str(asked.value), asked) else None


def retention(asked: Asked) -> str | None:
    """What becomes of the claims of a worker that goes: a disk of its own goes with it, files of users stay."""
    if asked.resource is None or asked.value not in ("Retain", "Delete"):
        return f"is {asked.value!s:.60}; it may be Retain, or Delete"
    own = _claims(asked.resource)
    folders = [_path(row) for row in _rows(asked.resource, "slurmd", "volumeMounts") if row.get("name") in own]
    kept = [folder for folder in folders if _OF_USERS.search(folder)]
    return f"deletes {kept[0]}, files of users, with the worker" if kept and asked.value == "Delete" else None
