"""Programs of other namespaces by which people come to the files of all users, to Kubernetes or to a user's number: who they
are there, as whom they act, and what everybody may do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from slurm_rules.clear_text import programs
from slurm_rules.made import HARMLESS, Fault
from slurm_rules.model import everything, mappings, texts

_LISTS: Final[Mapping[str, Any]] = HARMLESS["people"]
_SHARED: Final = frozenset(_LISTS["sources"])
_FILES: Final = re.compile(_LISTS["files"], re.IGNORECASE)
"""Folders, exports and claims of users, by their names."""
_MOUNTS: Final = re.compile(r"/(?:home|homes|users|scratch)(?:/\{\w{1,40}\})?/?")
_Row = tuple[re.Pattern[str], re.Pattern[str], str]
_EVERYBODY, _IN_TEXTS, _OF_USERS = (
    [(re.compile(name), re.compile(value), why) for name, value, why in _LISTS[rows]]
    for rows in ("everybody", "inTexts", "ofUsers")
)
"""Settings by which programs say what each person may do who comes: the only values that give nothing of the cluster's."""
_LINES: Final = [(re.compile(line), why) for line, why in _LISTS["lines"]]
"""The same in lines that give rights (Argo CD's policy.csv)."""
_SETTING: Final = re.compile(
    r"(?m)(?:^|[,{])[ \t-]{0,40}(?:c\.[\w.]{1,60}\.)?[\"']?([A-Za-z][\w.-]{1,60})[\"']?"
    r"[ \t]{0,9}[:=][ \t]{0,9}[\"']?([\w.:-]{0,200})"
)
_OWN: Final = frozenset(HARMLESS["selfService"])
"""What people may write of themselves in a directory: by none of it a daemon knows a user."""
_FOLDED: Final = re.compile(r"\n[ \t]{1,80}(?=\S)")
_ACCESS: Final = re.compile(
    r"(?mi)^[ \t]*+(?:olcAccess:{1,2}[ \t]*+(?:\{\d{1,4}\})?|access[ \t]++)[ \t]*+to[ \t]++(.{1,4000})$"
)
_NAMED: Final = re.compile(r"(?i)(?:dn(?:\.(?:exact|base|baseobject))?|group\S{0,80}?)=(?!.*\*)\S+")
_WRITES: Final = re.compile(r"(?i)(?:self)?(?:write|manage|add)|[=+][a-z]*[awmz][a-z]*")
_PROFILE: Final = re.compile(
    r"\"name\"\s{0,9}:\s{0,9}\"((?!username\"|firstName\"|lastName\")[\w.-]{1,60})\"[^{}]{0,200}\"permissions\"\s{0,9}:\s{0,9}\{[^{}]{0,200}"
    r"\"edit\"\s{0,9}:\s{0,9}\[[^\]]{0,60}\"user\""
)
_IPA: Final = re.compile(r"(?m)selfservice-(?:add|mod)\b.{0,200}?--attrs[= ]{1,3}[\"'{]{0,2}([\w,-]{1,300})")
_TARGET: Final = re.compile(r"[ \t]{0,9}(!?=)[ \t]{0,9}\"([^\"]{1,2000})\"")
_INSTRUCTION: Final = re.compile(
    r"(?i)allow[ \t]{0,9}\(([^()]{1,60})\)[ \t]{0,9}userdn[ \t]{0,9}=[ \t]{0,9}\"ldap:///(self|all|anyone)"
)
_PUBLIC: Final = re.compile(_LISTS["public"])
"""Of these, those at which everybody may have an account."""
_ROOT: Final = "is root over the files of users: who may come there, and as whom, no rule sees"


def people_faults(value: object, root: str) -> Iterator[Fault]:
    """All of it, of an object's fields or a chart's values."""
    yield from _files_of_users(value, root)
    yield from _given(value, root)


def people_of_chart(charts: set[str], values: Mapping[str, Any]) -> Iterator[Fault]:
    """All of it, of a chart's values."""
    yield from people_faults(values, "values")
    yield from _files_in_values(charts, values)


def _files_of_users(value: object, root: str) -> Iterator[Fault]:
    """Pods that serve, are not held to a user, and may write the files of all users."""
    for path, pod in mappings(value, root):
        if not isinstance(bodies := pod.get("containers"), list | tuple):
            continue
        held = [container for container in bodies if isinstance(container, Mapping)]
        ends = pod.get("restartPolicy") in ("Never", "OnFailure") and not any(container.get("ports") for container in held)
        shared = {} if ends else _volumes(pod.get("volumes"))
        for index, container in enumerate(held):
            own = _mounted(container.get("volumeMounts"), shared)
            if own and not _held({**(pod.get("securityContext") or {}), **(container.get("securityContext") or {})}):
                yield Fault(f"{path}.containers[{index}].volumeMounts", f"of {own}: {_ROOT}")


def _volumes(volumes: object) -> dict[str, bool]:
    """Names of the volumes that others share, and whether they are users' by what they name."""
    rows = [row for row in volumes if isinstance(row, Mapping)] if isinstance(volumes, list | tuple) else []
    kept = {str(row.get("name")): [row[source] for source in _SHARED & row.keys()] for row in rows}
    return {
        name: any(isinstance(text, str) and _FILES.search(text) for _, _, text in everything(sources))
        for name, sources in kept.items()
        if sources
    }


def _mounted(mounts: object, shared: Mapping[str, bool]) -> str:
    """The first volume of all users' files that a container may write."""
    for mount in mounts if isinstance(mounts, list | tuple) else ():
        name, part = str(mount.get("name")), mount.get("subPath") or mount.get("subPathExpr")
        users = shared.get(name) or (name in shared and _MOUNTS.fullmatch(str(mount.get("mountPath"))))
        if users and not part and mount.get("readOnly") is not True:
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
    alone = all(isinstance(user, int | float) and user > 0 for user in users) and (bool(users) or asked)
    for path, key, part in everything(values, "values"):
        if key and key.lower().endswith("volumes") and not alone and any(_volumes(part).values()):
            yield Fault(path, _ROOT)


def _given(value: object, root: str) -> Iterator[Fault]:
    """What a program of another namespace gives to everybody who comes."""
    rows = (*_EVERYBODY, *(_OF_USERS if any(_FILES.search(text) for _, text in texts(value)) else ()))
    for path, name, said, _ in programs(value):
        yield from _allowed(f"{root}.{path}", name, said, rows)
    for path, key, part in everything(value, root):
        own = key or path.rpartition(".")[2].partition("[")[0]  # of a list's part, the list's
        words = part if key in ("command", "args") and isinstance(part, list | tuple) else [part]
        text = " ".join(word for word in words if isinstance(word, str))
        if part is not None and not isinstance(part, Mapping | list | tuple):
            yield from _allowed(path, own, part, rows)
        for name, said in _SETTING.findall(text) if "\n" in text or ":" in text or "=" in text else ():
            yield from _allowed(path, name, said, (*rows, *_IN_TEXTS))
        given = [(match[0].strip()[:80], why) for line, why in _LINES for match in line.finditer(text)]
        yield from (Fault(path, f"has {said}: {why}") for said, why in given)
        yield from (Fault(path, f"lets {who} write {what}, by which Slurm may know users") for who, what in _written(text))
    for path, part in mappings(value, root):
        chosen = part.get("JupyterHub")
        name = str(chosen.get("authenticator_class", "")) if isinstance(chosen, Mapping) else ""
        every = any(isinstance(child, Mapping) and child.get("allow_all") is True for child in part.values())
        if every and _PUBLIC.search(name):
            yield Fault(path, f"lets in everybody who has an account of {name} (allow_all)")


def _allowed(path: str, name: str, said: object, rows: Iterable[_Row]) -> Iterator[Fault]:
    for named, allowed, why in rows:
        if named.fullmatch(name) and not allowed.fullmatch(str(said)):
            yield Fault(path, f"has {name} {said or '(nothing)'}, which {why}")


def _written(text: str) -> Iterator[tuple[str, str]]:
    """Who may write what of a person in a directory, beside named administrators and what is a person's own. Source:
    slapd.access(5); 389 Directory Server, Managing access control."""
    for said in _ACCESS.findall(_FOLDED.sub(" ", text) if "to" in text else ""):
        what, *clauses = re.split(r"\sby\s", f" {said} ")
        attributes = re.search(r"(?i)\sattrs?=(\S+)", what)
        for clause in clauses:
            who, *rights = clause.split() or [""]
            if not _NAMED.fullmatch(who) and any(map(_WRITES.fullmatch, rights)):
                yield from _beyond(who, attributes[1].split(",") if attributes else ["*"])
    for listing in (*_PROFILE.findall(text), *_IPA.findall(text)):
        yield from _beyond("self", listing.replace("-", "").split(","))
    for part in text.split("targetattr")[1:]:
        target, instruction = _TARGET.match(part), _INSTRUCTION.search(part)
        if instruction and re.search("(?i)write|all|add", instruction[1]):
            yield from _beyond(instruction[2], target[2].split("||") if target and target[1] == "=" else ["*"])


def _beyond(who: str, attributes: list[str]) -> Iterator[tuple[str, str]]:
    own = {attribute.strip().lower() for attribute in attributes} <= _OWN
    if not own or who.lower() != "self":
        yield who, ", ".join(map(str.strip, attributes))[:80]
