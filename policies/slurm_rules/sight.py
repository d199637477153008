"""Rules judge resources of the stack: what it makes of a cluster by other ways, none of them sees."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch

from slurm_rules.charts import HELM_RELEASE, base_name, chart_names, makes_cluster
from slurm_rules.model import API_GROUP, Resource, Stack
from slurm_rules.rule import Options, rule, words
from slurm_rules.secret_text import texts_and_names

CLUSTER_CHART = "slurm"
"""Slinky's chart of a whole cluster (helm/slurm)."""
_DEPLOYERS = {
    "argoproj.io": ("Application", "ApplicationSet"),
    "helm.toolkit.fluxcd.io": ("HelmRelease",),
    "kustomize.toolkit.fluxcd.io": ("Kustomization",),
    "source.toolkit.fluxcd.io": ("HelmChart", "OCIRepository"),
    "helm.cattle.io": ("HelmChart", "HelmChartConfig"),
    "helm.crossplane.io": ("Release",),
    "kubernetes.crossplane.io": ("Object",),
}
"""Kinds of other programs that deploy what they name, by API group."""
_WIDE = (
    "Namespace",
    "Node",
    "PersistentVolume",
    "StorageClass",
    "PriorityClass",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
)
"""Kinds whose patches other rules judge, or that hold nothing of a cluster."""
_GUARDS = ("CustomResourceDefinition", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_OPERATOR = "slurm-operator"


def _is_deployer(resource: Resource) -> bool:
    return resource.is_kubernetes and resource.base_kind in _DEPLOYERS.get(resource.group, ())


@rule(
    "cluster-in-sight",
    lambda resource: resource.is_kubernetes or resource.type == HELM_RELEASE,
    scope="resource",
    options={"allowedPatches": words((), "Patches, as Kind/namespace/name (with *), of what is no part of a cluster.")},
)
def cluster_in_sight(resource: Resource, _: Stack, options: Options) -> Iterator[str]:
    """A Slurm cluster is made of resources of its own in the stack: no Helm release, no other deployer, and no patch.

    Why: rules judge what the stack declares. What a release of the chart slurm makes, or Argo CD or Flux on the stack's
    behalf, they don't see. A patch changes what another declares: a NodeSet's replicas go down past every gate, and
    slurmrestd's Deployment, a key's Secret or the operator's budgets change behind the operator's back; in both pods with
    running jobs are deleted. A taint NoExecute on a node evicts its pods at once, whatever protects them.

    Source: pulumi-kubernetes, helm.sh/v3 Release (its objects are no resources; which they are is known after the update)
    and CustomResourcePatch (server-side apply of some fields); slurm-operator internal/controller/nodeset/nodeset_sync.go
    (doPodScale); Kubernetes, "Taints and Tolerations" (NoExecute).

    Do: declare Controller, Accounting, RestApi, NodeSets and LoginSets each (this program does; a Chart's objects are
    resources, too), and change what is declared instead of patching it. Patches of other things, outside kube-*, go into
    the site file.

    Level: mandatory, since running jobs are lost.
    """
    if resource.type == HELM_RELEASE:
        yield from _release(resource)
        return
    kind, version = resource.get("kind"), resource.get("apiVersion")
    if isinstance(kind, str) and kind != resource.base_kind:
        yield f"{resource.label}: its type says {resource.kind}, its properties {kind}; rules would judge the wrong one"
    elif isinstance(version, str) and version.rpartition("/")[0] != resource.group:
        yield f"{resource.label}: its type and its apiVersion {version} are of two groups; rules would judge the wrong one"
    if resource.is_a("", "Node"):
        for taint in resource.get("spec", "taints") or ():
            if taint.get("effect") == "NoExecute":
                yield f"{resource.label}: the taint {taint.get('key')} NoExecute evicts running jobs; use NoSchedule"
    if resource.is_patch:
        yield from _patch(resource, options)
    elif _is_deployer(resource):
        for path, text in texts_and_names(resource.get("spec"), "spec"):
            if API_GROUP in text or (
                base_name(text) == CLUSTER_CHART and path.rsplit(".", 1)[-1] in ("chart", "name", "url")
            ):
                yield f"{resource.label}: {path} makes a cluster that no rule sees into; declare its resources here"


def _release(release: Resource) -> Iterator[str]:
    if CLUSTER_CHART in chart_names(release) or makes_cluster(release):
        yield f"{release.label}: a release of the chart {CLUSTER_CHART} holds a cluster that no rule sees into; declare it"
    if release.peek("valueYamlFiles"):
        yield f"{release.label}: rules don't see values in files (valueYamlFiles); give them as values"
    if release.peek("postrender"):
        yield f"{release.label}: postrender runs a program over what the chart makes, which no rule sees; remove it"


def _patch(patch: Resource, options: Options) -> Iterator[str]:
    place = f"{patch.base_kind}/{patch.namespace}/{patch.in_cluster_name}"
    guard = patch.base_kind in _GUARDS and any(word in patch.in_cluster_name for word in (API_GROUP, _OPERATOR))
    if not patch.is_slinky and not guard:
        if patch.base_kind in (*_WIDE, *_GUARDS) or patch.namespace.startswith("kube-"):
            return
        if any(fnmatch(place, pattern) for pattern in options["allowedPatches"]):
            return
    yield f"{patch.label} patches what is declared elsewhere ({place}), past gates and rules; change it where it is declared"
