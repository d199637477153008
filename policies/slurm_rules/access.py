"""Namespaces, and who may read what is in them."""

from __future__ import annotations

from collections.abc import Iterator

from slurm_rules.cluster import operator_release
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, rule, slinky, typed, words

_SYSTEM = ("default", "kube-system", "kube-public", "kube-node-lease")
_EVERYBODY = ("system:authenticated", "system:unauthenticated", "system:anonymous", "system:serviceaccounts")
_RBAC = ":rbac.authorization.k8s.io/v1:"
_READERS = ("cluster-admin", "admin", "edit")
"""Roles of every Kubernetes cluster that read all Secrets of a namespace."""


@rule("own-namespace", slinky("Controller"))
def own_namespace(controller: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """A Slurm cluster has a namespace of its own, apart from the operator's and from Kubernetes' own.

    Why: on destroy one would take the other with it, and whoever may create pods in the namespace can mount slurm.key and
    become any user of the cluster.

    Source: Kubernetes, "Good practices for Secrets" (pods of a namespace read its Secrets); slurm-operator
    docs/installation.md (operator in slinky, cluster in slurm).

    Do: set cluster.namespace to a namespace that holds nothing else.

    Level: mandatory, since it leaks keys.
    """
    if controller.namespace in _SYSTEM:
        yield f"{controller.label} is in namespace {controller.namespace}, which others use too; give it one of its own"
    release = operator_release(stack)
    if release is not None and release.text("namespace") == controller.namespace:
        yield f"{controller.label} and slurm-operator are both in namespace {controller.namespace}; give each its own"


@rule(
    "secrets-readable-by-few",
    typed(f"{_RBAC}Role", f"{_RBAC}ClusterRole", f"{_RBAC}RoleBinding", f"{_RBAC}ClusterRoleBinding"),
    scope="resource",
    options={"allowedRoles": words((), "Names of roles that may read all Secrets, e.g. a backup's.")},
)
def secrets_readable_by_few(resource: Resource, _: Stack, options: Options) -> Iterator[str]:
    """No role of the stack reads all Secrets, and none is bound to everybody or makes somebody an admin or editor.

    Why: who reads Secrets of the cluster's namespace has slurm.key and may run jobs as any user, root's prolog included.

    Source: Kubernetes, "Role Based Access Control Good Practices" (secrets, wildcards, system:authenticated), "User-facing
    roles" (admin and edit read Secrets);
    slurm-operator config/rbac/role.yaml (the chart brings its own role).

    Do: name the Secrets in resourceNames, bind to single service accounts, or allow the role by name in the site file.

    Level: mandatory, since it leaks keys.
    """
    if resource.in_cluster_name in options["allowedRoles"]:
        return
    for rule_ in resource.get("rules") or ():
        reads = {"get", "list", "watch", "*"} & set(rule_.get("verbs") or ())
        if reads and {"secrets", "*"} & set(rule_.get("resources") or ()) and not rule_.get("resourceNames"):
            yield f"{resource.label} may {', '.join(sorted(reads))} all Secrets; name those it needs in resourceNames"
    bound = resource.text("roleRef", "name")
    if bound in _READERS and resource.text("roleRef", "kind") != "Role":
        yield f"{resource.label} makes its subjects {bound}, who reads every Secret; bind a smaller role"
    for subject in resource.get("subjects") or ():
        if str(subject.get("name", "")).startswith(_EVERYBODY):
            yield f"{resource.label} binds {subject['name']}, which is everybody; bind single service accounts"
