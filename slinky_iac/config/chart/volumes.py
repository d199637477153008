"""Volumes of the chart's pods, which have a mount in a container, as entries of ``volumes``; what can't be one stays what it
is, for raw pieces. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_MOUNT: Final = ("subPath", "mountPropagation")


def volumes(
    at: str, pod_set: dict[str, Any], container: str, left: list[tuple[str, str]], *, misspelt: bool
) -> dict[str, Any]:
    """Volumes of the pod and mounts of the container as entries of ``volumes``; a mount of none is added to ``left``.

    ``misspelt``: the container is there under another word.
    """
    pod, inner = dict(pod_set.get("podSpec") or {}), dict(pod_set.get(container) or {})
    sources = {str(volume.get("name")): volume for volume in _listed(pod.pop("volumes", None))}
    mounts = _listed(inner.pop("volumeMounts", None))
    made: list[dict[str, Any]] = []
    raw: list[dict[str, Any]] = []
    for mount in mounts:
        name, place = str(mount.get("name")), f"{at}.{container}.volumeMounts ({mount.get('mountPath')})"
        source = {key: value for key, value in sources.get(name, {}).items() if key != "name"}
        if not source:
            left.append((place, f"podSpec.volumes has no volume {name}"))
        elif mount.keys() - {"name", "mountPath", "readOnly", *_MOUNT}:  # subPathExpr, recursiveReadOnly
            raw.append(dict(mount))
        else:
            known = sum(volume["source"] == source for volume in made)
            entry = {"name": f"{name}-{known + 1}" if known else name, "mountPath": mount.get("mountPath"), "source": source}
            entry |= {word: mount[word] for word in _MOUNT if mount.get(word)}
            made.append({**entry, **({"readOnly": True} if mount.get("readOnly") else {})})
    mounted = {str(mount.get("name")) for mount in mounts}
    others = [other for kind in ("initContainers", "containers") for other in _listed(pod.get(kind))]
    others = [mount for other in others for word in ("volumeMounts", "volumeDevices") for mount in _listed(other.get(word))]
    beside = {str(mount.get("name")) for mount in (*others, *raw)} - {volume["name"] for volume in made}
    why = "its mount is below the misspelt key" if misspelt else "no container mounts it"
    left.extend((f"{at}.podSpec.volumes ({name})", why) for name in sources if name not in mounted | beside)
    if kept := [dict(volume) for name, volume in sources.items() if name in beside]:
        pod["volumes"] = kept
    if raw:
        inner["volumeMounts"] = raw
    return {**pod_set, "podSpec": pod, container: inner, **({"volumes": made} if made else {})}


def _listed(value: object) -> list[Mapping[str, Any]]:
    return [part for part in value if isinstance(part, Mapping)] if isinstance(value, list) else []
