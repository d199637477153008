"""slurm-operator itself: its webhook or something as good, its CRDs, and what it would refuse or choke on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurm_rules.charts import HELM_RELEASE, chart_name
from slurm_rules.cluster import CLUSTER_IDENTITY, config_files, is_external, operator_release, operator_versions
from slurm_rules.model import API_GROUP, Resource, Stack
from slurm_rules.rule import Options, rule, slinky

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?-?")
_RESERVED = ("slurm.conf", "slurmdbd.conf")
LONGEST_CLUSTER_NAME = 40


def _is_operator(resource: Resource) -> bool:
    return resource.type == HELM_RELEASE and chart_name(resource) == "slurm-operator"


def _is_crds(resource: Resource) -> bool:
    return resource.type == HELM_RELEASE and chart_name(resource) == "slurm-operator-crds"


def _is_crd(resource: Resource) -> bool:
    kind = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"
    return resource.type == kind and resource.in_cluster_name.endswith(f".{API_GROUP}")


def _webhook(release: Resource) -> bool:
    """The chart's own default is on."""
    return release.get("values", "webhook", "enabled") is not False


@rule("webhook-or-equivalent", slinky("Controller"))
def webhook_or_equivalent(controller: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """Changes that a live cluster can't take are refused: by the operator's webhook, or by ClusterIdentity in preview.

    Why: without either, a changed cluster name, key reference or persistence is accepted and breaks the cluster half-way
    through an update.

    Source: slurm-operator internal/webhook/controller_webhook.go; slinky_iac/identity.py.

    Do: deploy the webhook, or declare the cluster with this program, which makes a ClusterIdentity.

    Level: advisory, since it guards against mistakes that other rules and reviews catch too.
    """
    release = operator_release(stack)
    if release is not None and _webhook(release):
        return
    for identity in stack.of_type(CLUSTER_IDENTITY):
        if (identity.text("namespace"), identity.text("resourceName")) == (controller.namespace, controller.in_cluster_name):
            return
    yield f"{controller.label}: neither the operator's webhook nor a ClusterIdentity guards what can't change"


@rule("operator-runs", _is_operator, scope="resource")
def operator_runs(release: Resource, _: Stack, __: Options) -> Iterator[str]:
    """slurm-operator has a pod.

    Why: without one no node is drained before its pod goes, no budget protects busy pods, and what gates wait for never
    comes; a pod of slurmctld that fails isn't made again with the right files.

    Source: helm/slurm-operator/values.yaml (operator.enabled, operator.replicas).

    Do: leave operator.enabled and operator.replicas as the chart has them; to stop a cluster, remove its resources.

    Level: mandatory, since running jobs are lost.
    """
    replicas, enabled = (release.get("values", "operator", name) for name in ("replicas", "enabled"))
    if replicas in (0, "0"):
        yield f"{release.name}: values.operator.replicas is 0, so there is no operator; set 1 or more"
    if enabled is False:
        yield f"{release.name}: values.operator.enabled is false, so there is no operator; remove it"


@rule("webhook-not-cluster-wide", _is_operator)
def webhook_not_cluster_wide(release: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """slurm-operator 1.1.0 runs without its webhook.

    Why: that release's webhook stands before pods/binding of the whole Kubernetes cluster and fails closed. When its own pod
    isn't scheduled no pod is any more, slurmctld's included, and this state doesn't end without you.

    Source: slurm-operator issue 189, fixed in 1.1.1 (pull requests 188, 192, 196, 197).

    Do: use 1.1.1 or newer, or set webhook.enabled: false.

    Level: mandatory, since a restart of a node can stop the whole cluster.
    """
    if "1.1.0" in operator_versions(stack) and _webhook(release):
        yield f"{release.name}: slurm-operator 1.1.0 with its webhook can stop all scheduling; use 1.1.1 or turn it off"


@rule("crds-protected", lambda found: _is_crds(found) or _is_operator(found) or _is_crd(found), scope="resource")
def crds_protected(release: Resource, _: Stack, __: Options) -> Iterator[str]:
    """The CRDs of slurm-operator are protected, and no part of its own release.

    Why: deleting a CRD deletes every NodeSet of every stack in that Kubernetes cluster, with no drain and no gate asked.

    Source: Kubernetes, "Custom resources" (deletion); slurm-operator helm/slurm-operator-crds.

    Do: set operator.protectCrds: true, or protect on each CRD that the stack declares. A Kubernetes cluster to throw away
    may switch the rule off in its site file.

    Level: mandatory, since the jobs of all stacks are lost.
    """
    if _is_operator(release):
        if release.get("values", "crds", "enabled"):  # Helm takes every word for true, the word false too
            yield f"{release.name} brings the CRDs itself, so its removal removes every NodeSet; use slurm-operator-crds"
    elif not release.protect:
        yield f"{release.name} isn't protected: removing it removes every NodeSet of every stack in this Kubernetes cluster"


@rule("operator-accepts", slinky("Controller", "NodeSet"))
def operator_accepts(resource: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """Nothing that the operator refuses, or that makes it panic.

    Why: what the webhook refuses fails half-way through an update; where it is off, an item of extraConf without `=` makes
    the operator panic for every cluster it serves, and scale-ins of all of them stop.

    Source: slurm-operator internal/webhook (clusterName, file names, maxUnavailable, host name); worker_app.go:305 in 1.1.0
    (panic); api/v1beta1/nodeset_types.go (one line in partition.config).

    Do: what the message of the violation says; each names the value and what is allowed.

    Level: mandatory, since an operator that panics drains nothing.
    """
    if resource.kind == "Controller":
        yield from _controller(resource, stack)
        return
    for item in resource.text("spec", "extraConf").split():
        if "=" not in item:
            yield f"{resource.label}: extraConf item {item} has no =; the operator panics over it; write NAME=VALUE"
    if "\n" in resource.text("spec", "partition", "config").strip():
        yield f"{resource.label}: partition.config has several lines; the operator writes one PartitionName= line, join them"
    hostname = resource.text("spec", "template", "spec", "hostname")
    if hostname and not _LABEL.fullmatch(hostname):
        yield f"{resource.label}: host name {hostname} is no DNS label; small letters, digits and dashes are allowed"
    unavailable = resource.get("spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
    if unavailable in (0, "0", "0%"):
        yield f"{resource.label}: maxUnavailable is 0, so no pod is ever updated; use 1 or more"


def _controller(controller: Resource, stack: Stack) -> Iterator[str]:
    name = controller.text("spec", "clusterName")
    if len(name) > LONGEST_CLUSTER_NAME:
        yield f"{controller.label}: clusterName has {len(name)} characters; {LONGEST_CLUSTER_NAME} are allowed"
    if not is_external(controller):
        for file, _ in config_files(controller, stack):
            if file in _RESERVED:
                yield f"{controller.label}: configFileRefs holds {file}, which the operator writes itself; use extraConf"
