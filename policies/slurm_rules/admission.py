"""What stands between a request and the API server's store: it sees every Secret, and changes what was judged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch, fnmatchcase
from typing import Any

from slurm_rules.model import API_GROUP, Resource, Stack
from slurm_rules.rule import Options, rule, words
from slurm_rules.secret_text import texts_and_names

_ADMISSION = "admissionregistration.k8s.io"
_WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_MUTATING = ("MutatingAdmissionPolicy",)
_EXTENSIONS = "apiextensions.k8s.io"
_REGISTRATION = "apiregistration.k8s.io"
_ENGINES = {
    "kyverno.io": ("ClusterPolicy", "Policy", "CleanupPolicy", "ClusterCleanupPolicy"),
    "policies.kyverno.io": (
        *("MutatingPolicy", "NamespacedMutatingPolicy", "GeneratingPolicy", "NamespacedGeneratingPolicy"),
        *("DeletingPolicy", "NamespacedDeletingPolicy"),
    ),
    "mutations.gatekeeper.sh": ("Assign", "AssignMetadata", "ModifySet", "AssignImage"),
}
"""Kinds of policy engines that change objects on their way, copy them or delete them, by API group."""
_WATCHED = ("secrets", "pods", "configmaps", "*")
"""Resources of the core group that hold keys, mount them, or are obeyed by Slurm."""
_MADE_OF = {
    "": ("services", "replicationcontrollers", "persistentvolumes"),
    "apps": ("deployments", "statefulsets", "daemonsets", "replicasets"),
    "batch": ("jobs", "cronjobs"),
    "rbac.authorization.k8s.io": ("roles", "clusterroles", "rolebindings", "clusterrolebindings"),
}
"""Resources, by group, that are harmless to see and not to change: pods, ways to slurmrestd and rights are made of them."""
_SERVED = ("", API_GROUP, *_MADE_OF, "external.metrics.k8s.io")
"""API groups whose objects an APIService must not take over; autoscalers lower a NodeSet by the numbers of the last."""


def _subject(resource: Resource) -> bool:
    return (
        resource.is_a(_ADMISSION, *_WEBHOOKS, *_MUTATING)
        or resource.is_a(_REGISTRATION, "APIService")
        or _is_crd(resource)
        or _is_engine(resource)
    )


def _is_engine(resource: Resource) -> bool:
    return resource.is_kubernetes and resource.base_kind in _ENGINES.get(resource.group, ())


def _is_crd(resource: Resource) -> bool:
    return resource.is_a(_EXTENSIONS, "CustomResourceDefinition")


@rule(
    "admission-left-alone",
    _subject,
    scope="resource",
    options={"reviewed": words((), "Names (with *) of webhooks and policies that people have judged.")},
)
def admission_left_alone(resource: Resource, _: Stack, options: Options) -> Iterator[str]:
    """The stack puts no webhook and no changing policy before Secrets, pods, ConfigMaps or Slinky's resources.

    Why: a webhook is sent every Secret that is written, keys among them. One that changes objects adds a container to
    slurmctld's pod or StatefulSet, or sets a NodeSet's replicas behind the gate that has drained for another number; a
    conversion webhook of Slinky's CRDs rewrites every NodeSet that is read, and an APIService for their group answers in the
    API server's place. Rules judge what was declared, not what became of it.

    Source: Kubernetes, "Dynamic Admission Control", "Mutating Admission Policy", "Versions in CustomResourceDefinitions"
    (webhook conversion), "Kubernetes API Aggregation Layer". A ValidatingAdmissionPolicy sees no network and changes
    nothing, so it is not judged.

    Do: limit its rules to other resources, or have it read by people and put its name into the site file (reviewed).

    Level: mandatory, since it leaks keys and loses jobs.
    """
    if any(fnmatch(resource.in_cluster_name, pattern) for pattern in options["reviewed"]):
        return
    if _is_crd(resource):
        if resource.text("spec", "group") == API_GROUP and resource.text("spec", "conversion", "strategy") == "Webhook":
            yield f"{resource.label}: its conversion webhook rewrites what is read of Slinky's resources; remove it"
    elif resource.is_a(_REGISTRATION, "APIService"):
        group = resource.get("spec", "group")
        group = resource.in_cluster_name.partition(".")[2] if group is None else group
        if group in _SERVED and resource.get("spec", "service"):
            yield f"{resource.label} answers for resources of {group or 'the core group'} in its place; remove it"
    elif _is_engine(resource):
        if any(_may_change(path, text) for path, text in texts_and_names(resource.get("spec"))):
            yield f"{resource.label} may change, copy or delete Slinky's resources, pods or Secrets; limit it, or review it"
    else:
        for where, matched in _rules(resource):
            if hit := _hit(matched, changes=not resource.base_kind.startswith("Validating")):
                yield f"{resource.label}: {where} stands before {hit}; limit its rules, or review it"


_KINDS = (
    *("NodeSet", "Controller", "RestApi", "LoginSet", "Accounting", "Secret", "Pod", "ConfigMap"),
    *("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "Service"),
    *("nodesets", "controllers", "restapis", "loginsets", "accountings", "secrets", "pods", "configmaps"),
    *("deployments", "statefulsets", "daemonsets", "replicasets", "jobs", "cronjobs", "services"),
)
_LIST_OF_KINDS = re.compile(r"(?:^|\.)(?:kinds|resources)\[\d+\]")


def _may_change(path: str, text: str) -> bool:
    """Whether a text of a policy engine's resource names a kind, with ``*`` where kinds are listed."""
    kind = text.rsplit("/", 1)[-1]
    if _LIST_OF_KINDS.search(path) and any(fnmatchcase(each, kind) for each in _KINDS):
        return True
    return API_GROUP in text or kind in _KINDS


def _rules(resource: Resource) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Name and rule of everything that a configuration or policy matches."""
    for webhook in resource.get("webhooks") or ():
        for matched in webhook.get("rules") or ({"apiGroups": ["*"], "resources": ["*"]},):
            yield f"webhook {webhook.get('name')}", matched
    for matched in resource.get("spec", "matchConstraints", "resourceRules") or ():
        yield "its policy", matched


def _hit(matched: Mapping[str, Any], *, changes: bool) -> str:
    groups, resources = matched.get("apiGroups") or (), matched.get("resources") or ()
    if any(group in (API_GROUP, "*") for group in groups):
        return f"resources of {API_GROUP}"
    if "" in groups:
        for each in resources:
            if str(each).split("/", 1)[0] in _WATCHED:
                return "all core resources" if each == "*" else str(each)
    for group in groups if changes else ():
        for each in resources:
            first = str(each).split("/", 1)[0]
            if first in _MADE_OF.get(group, ()) or (first == "*" and group in _MADE_OF):
                return f"{each} of {group}" if group else str(each)
    return ""
