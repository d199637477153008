"""What roles allow, read as Kubernetes reads them, and who may so get at keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase as fnmatch
from typing import Any

from slurm_rules.model import API_GROUP, Resource, Stack
from slurm_rules.rule import Options, rule, words
from slurm_rules.users import lists_users

RBAC = "rbac.authorization.k8s.io"
_ROLES = ("Role", "ClusterRole")
_BINDINGS = ("RoleBinding", "ClusterRoleBinding")
_EVERYBODY = ("system:authenticated", "system:unauthenticated", "system:anonymous", "system:serviceaccounts")
_STRONG = ("cluster-admin", "admin", "edit")
"""Roles of every Kubernetes cluster that read all Secrets of a namespace."""
_HARMLESS = (
    "view",
    "system:discovery",
    "system:basic-user",
    "system:public-info-viewer",
    "system:auth-delegator",
    "system:service-account-issuer-discovery",
    "system:monitoring",
    "system:aggregate-to-view",
)
"""Kubernetes' own roles that read no Secret and make no pod."""
_FOREIGN_LABELS = ("rbac.authorization.k8s.io/aggregate-to-admin", "rbac.authorization.k8s.io/aggregate-to-edit")
_AGGREGATES = "rbac.authorization.k8s.io/aggregate-to-"


@dataclass(frozen=True)
class Power:
    """Verbs on resources of a group, and what they give."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    gives: str


_WRITE = ("create", "update", "patch")
READS = Power("", ("secrets",), ("get", "list", "watch", "patch", "update", "delete", "deletecollection"), "all Secrets")
POWERS = (
    Power("", ("pods", "replicationcontrollers"), _WRITE, "make pods"),
    Power("apps", ("deployments", "statefulsets", "daemonsets", "replicasets"), _WRITE, "make pods"),
    Power("batch", ("jobs", "cronjobs"), _WRITE, "make pods"),
    Power(API_GROUP, ("nodesets", "loginsets", "controllers", "restapis", "accountings"), _WRITE, "make pods"),
    Power(API_GROUP, ("tokens",), _WRITE, "make Slurm tokens of any user"),
    Power("", ("pods/exec", "pods/attach", "pods/ephemeralcontainers"), ("get", *_WRITE), "run commands in pods"),
    Power("", ("nodes/proxy",), ("get", *_WRITE), "run commands in pods by the kubelet"),
    Power("", ("serviceaccounts/token",), ("create",), "make tokens of service accounts"),
    Power(RBAC, ("roles", "clusterroles"), ("escalate", "bind"), "give any right"),
    Power("", ("users", "groups", "serviceaccounts"), ("impersonate",), "act as anybody"),
    Power("authentication.k8s.io", ("uids", "userextras/*"), ("impersonate",), "act as anybody"),
    Power("certificates.k8s.io", ("certificatesigningrequests/approval",), ("update", "patch"), "sign in as anybody"),
    Power("certificates.k8s.io", ("signers",), ("approve", "sign"), "sign in as anybody"),
    Power(
        "admissionregistration.k8s.io",
        (
            "mutatingwebhookconfigurations",
            "validatingwebhookconfigurations",
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
        ),
        _WRITE,
        "see and change what is written",
    ),
    Power("apiregistration.k8s.io", ("apiservices",), _WRITE, "see and change what is written"),
    Power("apiextensions.k8s.io", ("customresourcedefinitions",), _WRITE, "see and change what is read"),
    Power("", ("persistentvolumes",), ("create",), "mount a node's own files"),
    Power("argoproj.io", ("applications", "applicationsets"), _WRITE, "have a controller deploy any object"),
    Power("argoproj.io", ("workflows", "cronworkflows", "workflowtemplates", "rollouts"), _WRITE, "make pods"),
    Power("helm.toolkit.fluxcd.io", ("helmreleases",), _WRITE, "have a controller deploy any object"),
    Power("kustomize.toolkit.fluxcd.io", ("kustomizations",), _WRITE, "have a controller deploy any object"),
    Power("helm.cattle.io", ("helmcharts", "helmchartconfigs"), _WRITE, "have a controller deploy any object"),
    Power("kubernetes.crossplane.io", ("objects",), _WRITE, "have a controller deploy any object"),
    Power("helm.crossplane.io", ("releases",), _WRITE, "have a controller deploy any object"),
    Power("kyverno.io", ("clusterpolicies", "policies"), _WRITE, "have a controller copy Secrets and change pods"),
    Power("external-secrets.io", ("pushsecrets", "clusterpushsecrets"), _WRITE, "have a controller copy Secrets"),
)
"""Each ends in reading Secrets of a namespace (Kubernetes, "Role Based Access Control Good Practices", escalation).
Of controllers of others that act with rights of their own, the well-known ones are in here."""


def is_role(resource: Resource) -> bool:
    """A Role or ClusterRole, or a patch of one."""
    return resource.is_a(RBAC, *_ROLES)


def is_binding(resource: Resource) -> bool:
    """A RoleBinding or ClusterRoleBinding, or a patch of one."""
    return resource.is_a(RBAC, *_BINDINGS)


def _matches(given: Iterable[str], wanted: str) -> bool:
    """As RBAC compares: the word itself, ``*``, or ``*/exec`` for a part of any resource."""
    return any(fnmatch(wanted, each) or fnmatch(each, wanted) for each in given)


def allowed(entry: Mapping[str, Any], power: Power) -> list[str]:
    """Verbs of ``power`` that one entry of a role's rules allows; a role without apiGroups is read as one of all groups."""
    if not _matches(entry.get("apiGroups") or ("*",), power.group):
        return []
    given = entry.get("resources") or ()
    if not any(_matches(given, each) for each in power.resources):
        return []
    return [verb for verb in entry.get("verbs") or () if verb == "*" or verb in power.verbs]


def names(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Objects that an entry is limited to, none for all. An empty name is the name of a request for the whole list."""
    found = tuple(map(str, entry.get("resourceNames") or ()))
    return () if "" in found else found


def rules_of(role: Resource) -> list[Mapping[str, Any]]:
    """Entries of a role's rules."""
    return list(role.get("rules") or ())


def aggregations(role: Resource) -> list[str]:
    """Labels by which a role's rules become part of a role of Kubernetes' own."""
    return [label for label in role.names("metadata", "labels") if label.startswith(_AGGREGATES)]


@rule(
    "secrets-readable-by-few",
    lambda resource: is_role(resource) or is_binding(resource),
    scope="resource",
    options={
        "allowedRoles": words((), "Names of roles that may read all Secrets, e.g. a backup's. Holds for no binding."),
        "reviewedRoles": words((), "Names of roles that may make pods, run commands in them or make tokens."),
    },
)
def secrets_readable_by_few(resource: Resource, _: Stack, options: Options) -> Iterator[str]:
    """No role of the stack reads all Secrets or leads to them, and none is bound to everybody or makes an admin or editor.

    Why: anyone who can read Secrets of the cluster's namespace has slurm.key and can run jobs as any user, root's prolog
    included. So has anyone who creates pods there, runs commands in them, makes tokens of service accounts, or gives rights.

    Source: Kubernetes, "Role Based Access Control Good Practices" (secrets, workload creation, escalate, bind, impersonate,
    token requests, system:authenticated), "User-facing roles" (admin and edit read Secrets); "Using RBAC Authorization"
    (aggregated ClusterRoles); pkg/apis/rbac/v1/evaluation_helpers.go (an empty resourceName is a list's);
    slurm-operator config/rbac/role.yaml (the chart brings its own role).

    Do: name the Secrets in resourceNames, bind to single service accounts, or allow the role by name in the site file.

    Level: mandatory, since it leaks keys.
    """
    yield from _role(resource, options) if is_role(resource) else _binding(resource)


def _role(role: Resource, options: Options) -> Iterator[str]:
    aggregated = aggregations(role)
    by_name = not aggregated and not role.is_patch
    for entry in rules_of(role):
        reads = allowed(entry, READS)
        if reads and aggregated:
            yield f"{role.label} adds {', '.join(reads)} of Secrets to a role of Kubernetes' own ({aggregated[0]})"
        elif reads and not names(entry) and not (by_name and role.in_cluster_name in options["allowedRoles"]):
            yield f"{role.label} may {', '.join(sorted(reads))} all Secrets; name those it needs in resourceNames"
        if by_name and role.in_cluster_name in options["reviewedRoles"]:
            continue
        given = {power.gives: ", ".join(found) for power in POWERS if (found := allowed(entry, power))}
        if given:
            shown = "; ".join(f"{what} ({verbs})" for what, verbs in given.items())
            yield f"{role.label} may {shown}, which leads to every Secret; take that away, or review it (reviewedRoles)"
    for index in range(role.count("aggregationRule", "clusterRoleSelectors")):
        chosen = role.get("aggregationRule", "clusterRoleSelectors", index, "matchLabels") or {}
        if not chosen or any(label in _FOREIGN_LABELS or not label.startswith(_AGGREGATES) for label in chosen):
            yield f"{role.label} gathers roles by labels that Kubernetes' own strong roles may have; give its rules here"


def _binding(binding: Resource) -> Iterator[str]:
    role, kind = binding.text("roleRef", "name"), binding.text("roleRef", "kind")
    own = role.startswith("system:") and role not in _HARMLESS
    if kind != "Role" and (role in _STRONG or own):
        yield f"{binding.label} makes its subjects {role}, who reads every Secret; bind a smaller role"
    for subject in binding.get("subjects") or ():
        name = str(subject.get("name", ""))
        if name.startswith(_EVERYBODY) or name == "*":
            yield f"{binding.label} binds {name}, which is everybody; bind single service accounts"


@rule(
    "roles-in-sight",
    is_binding,
    options={"reviewedRoles": words((), "Names (with *) of roles made elsewhere that people have judged.")},
)
def roles_in_sight(binding: Resource, stack: Stack, options: Options) -> Iterator[str]:
    """Every role that the stack binds is a role of the stack, or one of Kubernetes' own that is known to read no Secret.

    Why: what a role allows that is made elsewhere can't be judged here, and it may grow without a change of this stack.

    Source: Kubernetes, "Using RBAC Authorization" (roleRef, aggregated ClusterRoles).

    Do: declare the role in this stack, or have its rules read and its name put into the site file (reviewedRoles).

    Level: advisory, since such a role may well be harmless.
    """
    kind, name = binding.text("roleRef", "kind") or "ClusterRole", binding.text("roleRef", "name")
    judged = kind == "ClusterRole" and (name in _HARMLESS or name in _STRONG or name.startswith("system:"))
    if not name or judged or any(fnmatch(name, pattern) for pattern in options["reviewedRoles"]):
        return
    for role in stack.resources:
        if not role.is_a(RBAC, kind) or role.is_patch or role.in_cluster_name != name:
            continue
        if kind == "ClusterRole" or role.namespace == binding.namespace:
            return
    yield f"{binding.label} gives the {kind} {name}, which is no resource of this stack: what it allows is not judged"


_PUBLIC_KEYS = "*-token-jwks"
"""Names of the ConfigMaps with the public keys that tokens are checked with."""


@rule(
    "config-maps-written-by-few",
    is_role,
    options={"allowedRoles": words((), "Names of roles that may write all ConfigMaps of a cluster's namespace.")},
)
def config_maps_written_by_few(role: Resource, stack: Stack, options: Options) -> Iterator[str]:
    """No role of the stack may write the ConfigMaps that Slurm obeys: keys of tokens, users, slurmctld's files, scripts.

    Why: who adds a key to the set of public keys signs tokens of any user, SlurmUser too. A prolog or a file of
    /etc/slurm is run or read by root on every node. Rights to write ConfigMaps are commoner than rights to Secrets.

    Source: slurm.schedmd.com/jwt.html (jwks); slurm-operator api/v1beta1/controller_types.go (jwksKeyRef, configFileRefs,
    prologScriptRefs, epilogScriptRefs); slurm.conf(5) Prolog (run as root).

    Do: name the ConfigMaps that the role needs in resourceNames, or allow the role by name in the site file.

    Level: mandatory, since it gives every user's rights away.
    """
    if not role.is_patch and role.in_cluster_name in options["allowedRoles"]:
        return
    obeyed = {place for each in stack.resources for place in _obeyed(each)}
    if role.base_kind == "Role":
        obeyed = {place for place in obeyed if place[0] == role.namespace}
    writes = Power("", ("configmaps",), ("update", "patch", "delete", "deletecollection"), "")
    for entry in rules_of(role):
        verbs, limited = allowed(entry, writes), names(entry)
        hit = sorted(name for _, name in obeyed if not limited or name in limited)
        if verbs and hit:
            yield f"{role.label} may {', '.join(verbs)} the ConfigMap {hit[0]}, which Slurm obeys; limit it by resourceNames"


def _obeyed(resource: Resource) -> Iterator[tuple[str, str]]:
    """Namespace and name of every ConfigMap that a resource makes Slurm obey."""
    if lists_users(resource) or (resource.is_a("", "ConfigMap") and fnmatch(resource.in_cluster_name, _PUBLIC_KEYS)):
        yield resource.namespace, resource.in_cluster_name
    if not resource.is_slinky or resource.kind not in ("Controller", "Accounting"):
        return
    if name := resource.text("spec", "jwksKeyRef", "name"):
        yield resource.namespace, name
    for field in resource.names("spec"):
        if field.endswith("Refs"):
            for index in range(resource.count("spec", field)):
                yield resource.namespace, resource.text("spec", field, index, "name")
