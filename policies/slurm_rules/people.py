"""Programs of other namespaces by which people come to the files of all users: who they are there, and as whom they act."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from slurm_rules.made import HARMLESS, Fault
from slurm_rules.model import everything, mappings

_LISTS: Final[Mapping[str, Any]] = HARMLESS["people"]
_SHARED: Final = frozenset(_LISTS["sources"])
_FILES: Final = re.compile(_LISTS["files"], re.IGNORECASE)
"""Folders, exports and claims of users, by their names."""
_MOUNTS: Final = re.compile(r"/(?:home|homes|users|scratch)(?:/\{\w{1,40}\})?/?")
_ASKED: Final = re.compile(_LISTS["authenticators"])
"""Classes by which a hub asks somebody else who a person is."""
_CHOICE: Final = re.compile(r"authenticator_class[\"'\]]{0,2}[ \t]{0,9}[:=][ \t]{0,9}[\"']?([\w.:-]{1,200})")
_PUBLIC: Final = re.compile(_LISTS["public"])
"""Of these, those at which everybody may have an account."""
_ROOT: Final = "is root over the files of users: who may come there, and as whom, no rule sees"


def people_faults(value: object, root: str) -> Iterator[Fault]:
    """Both, of an object's fields or a chart's values."""
    yield from _files_of_users(value, root)
    yield from _hubs(value, root)


def people_of_chart(charts: set[str], values: Mapping[str, Any]) -> Iterator[Fault]:
    """Both, of a chart's values."""
    yield from people_faults(values, "values")
    yield from _files_in_values(charts, values)


def _files_of_users(value: object, root: str) -> Iterator[Fault]:
    """Pods that serve, are not held to a user, and may write the files of all users."""
    for path, pod in mappings(value, root):
        if not isinstance(bodies := pod.get("containers"), list | tuple):
            continue
        held = [each for each in bodies if isinstance(each, Mapping)]
        ends = pod.get("restartPolicy") in ("Never", "OnFailure") and not any(each.get("ports") for each in held)
        shared = {} if ends else _volumes(pod.get("volumes"))
        for index, each in enumerate(held):
            own = _mounted(each.get("volumeMounts"), shared)
            if own and not _held({**(pod.get("securityContext") or {}), **(each.get("securityContext") or {})}):
                yield Fault(f"{path}.containers[{index}].volumeMounts", f"of {own}: {_ROOT}")


def _volumes(volumes: object) -> dict[str, bool]:
    """Names of the volumes that others share, and whether they are users' by what they name."""
    found = [each for each in volumes if isinstance(each, Mapping)] if isinstance(volumes, list | tuple) else []
    kept = {str(each.get("name")): [each[source] for source in _SHARED & each.keys()] for each in found}
    return {
        name: any(isinstance(text, str) and _FILES.search(text) for _, _, text in everything(sources))
        for name, sources in kept.items()
        if sources
    }


def _mounted(mounts: object, shared: Mapping[str, bool]) -> str:
    """The first volume of all users' files that a container may write."""
    for each in mounts if isinstance(mounts, list | tuple) else ():
        name, part = str(each.get("name")), each.get("subPath") or each.get("subPathExpr")
        users = shared.get(name) or (name in shared and _MOUNTS.fullmatch(str(each.get("mountPath"))))
        if users and not part and each.get("readOnly") is not True:
            return name
    return ""


def _held(security: Mapping[str, Any]) -> bool:
    """Whether a container is one user's who isn't root and can't become another."""
    user = security.get("runAsUser")
    ordinary = user > 0 if isinstance(user, int | float) else security.get("runAsNonRoot") is True
    return ordinary and security.get("privileged") is not True and "add" not in (security.get("capabilities") or {})


def _files_in_values(charts: set[str], values: Mapping[str, Any]) -> Iterator[Fault]:
    """The same of a chart's values, in which volumes and users are at places of the chart's own. JupyterHub's notebooks are
    no root, and it takes any name that people type unless its values choose a class (its values.yaml: dummy)."""
    users = [part for _, key, part in everything(values) if key in ("runAsUser", "uid")]
    asked = "jupyterhub" in charts and any(key == "authenticator_class" for _, key, _ in everything(values))
    alone = all(isinstance(each, int | float) and each > 0 for each in users) and (bool(users) or asked)
    for path, key, part in everything(values, "values"):
        if key and key.lower().endswith("volumes") and not alone and any(_volumes(part).values()):
            yield Fault(path, _ROOT)


def _hubs(value: object, root: str) -> Iterator[Fault]:
    """Hubs that let people in under any name that they type."""
    for path, key, part in everything(value, root):
        said = [part] if key == "authenticator_class" else _CHOICE.findall(part) if isinstance(part, str) else []
        for each in said:
            if not (isinstance(each, str) and _ASKED.fullmatch(each)):
                yield Fault(path, f"is {each}, which takes any name that people type")
    for path, part in mappings(value, root):
        chosen = part.get("JupyterHub")
        name = str(chosen.get("authenticator_class", "")) if isinstance(chosen, Mapping) else ""
        every = any(isinstance(each, Mapping) and each.get("allow_all") is True for each in part.values())
        if every and _PUBLIC.search(name):
            yield Fault(path, f"lets in everybody who has an account of {name} (allow_all)")
