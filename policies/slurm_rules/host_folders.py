"""Folders of Kubernetes' nodes in pods: which a cluster needs, and which only who reviewed them may give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from posixpath import normpath
from typing import Any

from slurm_rules.access import is_door
from slurm_rules.model import Resource, Stack, mappings
from slurm_rules.rule import Options, rule, words

_DATA = (
    "/scratch",
    "/data",
    "/mnt",
    "/dev/infiniband",
    "/dev/nvidia*",
    "/dev/dri",
    "/dev/kfd",
    "/dev/fuse",
    "/dev/shm",
    "/dev/hugepages",
)
"""What jobs work on: data on disks of the node's own, and devices."""
_READ = ("/etc/localtime", "/usr/share/zoneinfo", "/lib/modules", "/sys/devices", "/sys/class", "/cvmfs")
"""What programs look up of a node, and no user's file or secret is in."""


@rule(
    "host-folders-within-bounds",
    lambda resource: resource.is_kubernetes,
    options={
        "folders": words(_DATA, "Folders of a node (with *), and all below them, that pods may mount."),
        "readOnlyFolders": words(_READ, "Folders that a pod may mount too where all its containers do so read-only."),
        "reviewed": words(
            (), "Objects, as namespace/name (with *), whose folders people have judged, e.g. a log collector."
        ),
    },
)
def host_folders_within_bounds(resource: Resource, _: Stack, options: Options) -> Iterator[str]:
    """Pods mount of their nodes only folders that the site file names: by default data and devices of jobs.

    Why: a pod that writes where a node keeps programs, libraries, logs or homes is root of that node, or any of its users:
    it replaces what root runs, or lays a link in /var/log that the kubelet reads as root; from homes and logs it reads keys
    and tokens. Slurm's own daemons need no folder of the node. Folders with every pod's Secrets are refused whatever the
    site file says (keys-mounted-by-slurm-only). slurmd's containers are privileged, so root there mounts read-only folders
    again with writing: for NodeSets only `folders` counts.

    Source: Kubernetes, "Volumes" (hostPath, warning; local) and "Pod Security Standards" (baseline forbids hostPath);
    mount(8) (remount); slurm-operator internal/builder/workerbuilder (privileged).

    Do: take the volume out, or use a PersistentVolumeClaim. What a site needs, e.g. /home or /opt/software for the volumes
    of its nodesets, goes into the site file (folders).

    Level: mandatory, since a node's root reads every key on it.
    """
    if any(fnmatchcase(f"{resource.namespace}/{resource.in_cluster_name}", each) for each in options["reviewed"]):
        return
    spec = resource.get("spec")
    written = _written(spec)
    for path, value in mappings(spec, "spec"):
        name = value.get("name")
        reads_only = isinstance(name, str) and name in written and not written[name] and not resource.is_slinky
        allowed = [*options["folders"], *(options["readOnlyFolders"] if reads_only else ())]
        for folder in _folders(value):
            if not is_door(folder) and not any(_is_in(_normal(folder), each) for each in allowed):
                how = "reads" if reads_only else "may write"
                yield (
                    f"{resource.label}: {path} {how} {folder} of its node, which this site doesn't name; remove it, or add"
                    " it to the site file (folders)"
                )


def _folders(value: Mapping[str, Any]) -> Iterator[str]:
    """Paths of a node that a volume opens: of a pod, of a PersistentVolume, or in a custom resource."""
    for field in ("hostPath", "local"):
        source = value.get(field)
        path = source.get("path") if isinstance(source, Mapping) else source if field == "hostPath" else None
        if isinstance(path, str):
            yield path


def _written(spec: object) -> dict[str, bool]:
    """Names of the volumes that containers mount, and whether one of these may write."""
    found: dict[str, bool] = {}
    for _, value in mappings(spec, "spec"):
        for mount in value.get("volumeMounts") or ():
            if isinstance(mount, Mapping) and isinstance(name := mount.get("name"), str):
                found[name] = found.get(name, False) or mount.get("readOnly") is not True
    return found


def _normal(folder: str) -> str:
    path = normpath("/" + folder.strip().lstrip("/"))
    return path.removeprefix("/var") if path == "/var/run" or path.startswith("/var/run/") else path


def _is_in(path: str, allowed: str) -> bool:
    """Whether a folder is one that is allowed, or below it; ``*`` ends at a slash."""
    parts, wanted = path.split("/"), normpath(allowed).split("/")
    return len(parts) >= len(wanted) and all(fnmatchcase(part, each) for part, each in zip(parts, wanted, strict=False))
