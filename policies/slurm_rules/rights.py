"""Rights in a stack: a list of those that can do no harm to a cluster. All others are shown, with their place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from slurm_rules.made import HARMLESS, Fault
from slurm_rules.model import API_GROUP, Resource, Stack, mappings, texts
from slurm_rules.world import World

RBAC: Final = "rbac.authorization.k8s.io"
ROLES: Final = ("Role", "ClusterRole")
BINDINGS: Final = ("RoleBinding", "ClusterRoleBinding")
_READ: Final = frozenset({"get", "list", "watch"})
_LISTS: Final[Mapping[str, Any]] = HARMLESS["rights"]
_READABLE: Final = {group: frozenset(kinds) for group, kinds in _LISTS["readable"].items()}
"""Kinds that may be read. Secrets are not among them."""
_UNREADABLE: Final = frozenset({"secrets", "*", "users", "groups"})
_ASKED: Final = {
    "authentication.k8s.io": frozenset({"tokenreviews"}),
    "authorization.k8s.io": frozenset({"subjectaccessreviews", "localsubjectaccessreviews", "selfsubjectaccessreviews"}),
}
_EVENT: Final = (("", "events"), ("events.k8s.io", "events"))
_WRITE: Final = frozenset({"create", "patch", "update"})
_KUBERNETES: Final = tuple(_LISTS["kubernetesGroups"])
_WRITABLE: Final = frozenset(_LISTS["writable"])
"""API groups whose objects may be written anywhere: their controllers make no pods, copy no Secrets, lead no connections."""
_EVERYBODY: Final = tuple(_LISTS["everybody"])
_TAKES_ADDRESSES: Final = frozenset({"services", "services/status", "endpoints", "endpointslices", "*"})


def as_kubernetes(value: object, root: str, space: str, world: World) -> Iterator[Fault]:
    """Pods that run as one of Kubernetes' own controllers, where accounts of the stack have the rights that it gives them;
    and certificates of one: Kubernetes takes the common name for a user, and organizations for groups."""
    for path, text in texts(value, root):
        if _SUBJECT.search(path) and re.search(r"(?i)(?:system|kubeadm)\\?:", text):
            yield Fault(path, f"is {text[:60]}, by which a certificate's holder is one of Kubernetes' own")
    for path, part in mappings(value, root) if space.startswith("kube-") else ():
        for field in ("serviceAccountName", "serviceAccount"):
            account = part.get(field)
            name = str(account.get("name") if isinstance(account, Mapping) else account)
            if _CONTROLLERS.fullmatch(name) and ("ServiceAccount", space, name) not in world.made:
                yield Fault(f"{path}.{field}", f"runs as {name}, Kubernetes' own, which the fence lets delete pods")


_SUBJECT: Final = re.compile(r"(?i)organi[sz]ation|common[_-]?name|literal[_-]?subject")
_CONTROLLERS: Final = re.compile(r"[a-z-]{1,200}-(?:controller|collector)")


def judged(resource: Resource, stack: Stack, world: World) -> Iterator[Fault]:
    """Faults of a role or a binding."""
    if resource.base_kind in BINDINGS:
        yield from _binding(resource, stack, world)
        return
    wide = resource.base_kind == "ClusterRole"
    within = wide or resource.namespace in world.closed or resource.namespace.startswith("kube-")
    if resource.get("aggregationRule"):
        yield Fault("aggregationRule", "gathers the rights of other roles")
    for index, entry in enumerate(resource.get("rules") or ()):
        if not isinstance(entry, Mapping):
            continue
        own = _own_groups(stack)
        faults = harm(entry, world.keys, own) if within else _beyond(entry, own)
        for fault in faults:
            yield Fault(f"rules[{index}]", fault)


def _own_groups(stack: Stack) -> frozenset[str]:
    """API groups of kinds that the stack itself defines."""
    kinds = (kind for kind in stack.resources if kind.is_a("apiextensions.k8s.io", "CustomResourceDefinition"))
    return frozenset(str(kind.peek("spec", "group")) for kind in kinds)


def harm(entry: Mapping[str, Any], keys: frozenset[str], own: frozenset[str] = frozenset()) -> Iterator[str]:
    """Rights of one entry of a role's rules that aren't harmless; ``own`` are API groups of the stack's own."""
    verbs = [str(verb) for verb in entry.get("verbs") or ()]
    for url in entry.get("nonResourceURLs") or ():
        if "*" in verbs or not set(verbs) <= _READ | {"head"} or "*" in str(url):
            yield f"allows {', '.join(verbs)} of {url}"
    groups = [str(api_group) for api_group in entry.get("apiGroups") or ([] if entry.get("nonResourceURLs") else ["*"])]
    named = tuple(map(str, entry.get("resourceNames") or ()))
    for group in groups:
        for kind in map(str, entry.get("resources") or ()):
            wrong = [verb for verb in verbs if not _harmless(group, kind, verb, named, keys, own)]
            if wrong:
                yield f"allows {', '.join(wrong)} of {kind}{f' of {group}' if group else ''}"


def _harmless(
    group: str, kind: str, verb: str, named: tuple[str, ...], keys: frozenset[str], defined: frozenset[str]
) -> bool:
    if "*" in verb or "*" in kind or "*" in group:
        return False
    if (group, kind) == ("", "secrets"):
        own = bool(named) and all(name and name not in keys and "auth" not in name and "key" not in name for name in named)
        return own and verb in _READ
    if kind in _ASKED.get(group, ()) or ((group, kind) in _EVENT and verb in _WRITE):
        return verb in _WRITE
    if group in _READABLE:
        return verb in _READ and kind in _READABLE[group]
    if group.endswith(_KUBERNETES) or "." not in group:
        return verb in _READ and kind not in _UNREADABLE and "/proxy" not in kind
    return verb in _READ or group in _WRITABLE | defined


def _beyond(entry: Mapping[str, Any], own: frozenset[str]) -> Iterator[str]:
    """Of a role of another namespace: what acts beyond it, as a Service that takes an address by externalIPs, a Token of
    slurm-operator, or what a deployer makes of its objects."""
    verbs = sorted({str(verb) for verb in entry.get("verbs") or ()} - _READ - {"delete", "deletecollection"})
    for group in map(str, entry.get("apiGroups") or ("*",)):
        wide = group in ("", "*", "discovery.k8s.io")
        free = group in (*_WRITABLE, *own) or (group != API_GROUP and (group.endswith(_KUBERNETES) or not group))
        wrong = [
            kind
            for kind in map(str, entry.get("resources") or ())
            if (wide and kind in _TAKES_ADDRESSES) or not (free or acts_within(group, kind.partition("/")[0]))
        ]
        if verbs and wrong:
            yield f"allows {', '.join(verbs)} of {', '.join(wrong)}{f' of {group}' if group else ''}, which act beyond it"


def acts_within(group: str, kind: str) -> bool:
    """Whether objects of a listed group, or of a kind by its name or its plural, act within their own namespace."""
    names = {f"{group}/{kind.lower().removesuffix(end)}{more}" for end, more in _PLURALS}
    return group in _WITHIN or not _WITHIN.isdisjoint(names)


_WITHIN: Final = {word.lower() for word in (*HARMLESS["outside"]["stay"], *_LISTS["within"])} - {*_LISTS["beyond"]}
_PLURALS: Final = (("", ""), ("s", ""), ("es", ""), ("ies", "y"))


def _binding(binding: Resource, stack: Stack, world: World) -> Iterator[Fault]:
    wide = binding.base_kind == "ClusterRoleBinding"
    within = wide or binding.namespace in world.closed or binding.namespace.startswith("kube-")
    kind, name = binding.text("roleRef", "kind"), binding.text("roleRef", "name")
    for index, subject in enumerate(binding.get("subjects") or ()):
        who = str(subject.get("name")) if isinstance(subject, Mapping) else ""
        if who.startswith(_EVERYBODY):
            yield Fault(f"subjects[{index}]", f"gives {name} to {who}")
    if name == "cluster-admin" and kind == "ClusterRole" and not wide:
        yield Fault("roleRef", "gives cluster-admin, with which people take addresses and make objects that act elsewhere")
    if not within or name in _LISTS["roles" if kind == "ClusterRole" else "systemRoles"]:
        return
    for role in stack.resources:
        same = role.is_a(RBAC, kind) and role.in_cluster_name == name and not role.is_patch
        if same and (kind == "ClusterRole" or role.namespace == binding.namespace):
            return  # its rules are judged themselves
    yield Fault("roleRef", f"gives the {kind or 'role'} {name}, which is not in this stack")
