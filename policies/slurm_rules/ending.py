"""Who may end jobs: by deleting their pods, or what makes these, past every gate."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch

from slurm_rules.model import API_GROUP, Resource, Stack
from slurm_rules.rbac import Power, aggregations, allowed, is_role, names, rules_of
from slurm_rules.rule import Options, rule, words

_ENDS = ("delete", "deletecollection")
_CHANGES = ("update", "patch")
_WAYS = (
    Power(API_GROUP, ("nodesets", "controllers", "restapis", "accountings"), _ENDS, "delete NodeSets and daemons"),
    Power(API_GROUP, ("nodesets/scale",), _CHANGES, "lower a NodeSet's replicas"),
    Power("", ("pods",), _ENDS, "delete pods"),
    Power("", ("pods/eviction",), ("create",), "evict pods"),
    Power("", ("nodes",), (*_CHANGES, *_ENDS), "evict pods by a taint on their node"),
    Power("", ("namespaces",), _ENDS, "delete the namespace"),
    Power("", ("persistentvolumeclaims",), _ENDS, "delete slurmctld's state"),
    Power("autoscaling", ("horizontalpodautoscalers",), ("create", *_CHANGES), "have an autoscaler lower replicas"),
    Power("keda.sh", ("scaledobjects",), ("create", *_CHANGES), "have an autoscaler lower replicas"),
)
_EVERYWHERE = ("nodes", "namespaces")
"""Resources without a namespace."""


@rule(
    "jobs-ended-by-few",
    is_role,
    options={"reviewedRoles": words((), "Names (with *) of roles that may delete pods and what makes them.")},
)
def jobs_ended_by_few(role: Resource, stack: Stack, options: Options) -> Iterator[str]:
    """No role of the stack may delete or evict a cluster's pods, delete or scale its NodeSets, or taint nodes.

    Why: such a request takes pods with running jobs away, past gates, limits and previews. An autoscaler's object lowers
    replicas without any. The fence refuses those on NodeSets, where it is on; of pods it refuses slurm-operator only.

    Source: Kubernetes, "API-initiated Eviction", "Taints and Tolerations" (NoExecute), "Using RBAC Authorization"
    (subresources); slurm-operator internal/controller/nodeset/nodeset_sync.go (doPodScale).

    Do: limit the role to namespaces without Slurm, or to objects of its own by resourceNames, or have it read by people and
    put its name into the site file (reviewedRoles).

    Level: mandatory, since running jobs are lost.
    """
    by_name = not role.is_patch and not aggregations(role)
    if by_name and any(fnmatch(role.in_cluster_name, pattern) for pattern in options["reviewedRoles"]):
        return
    slinky = [each for each in stack.resources if each.is_slinky]
    spaces = {each.namespace for each in slinky}
    if role.base_kind == "Role" and role.namespace not in spaces:
        return
    ours = (*(each.in_cluster_name for each in slinky), *spaces)
    given: dict[str, str] = {}
    for entry in rules_of(role):
        limited = names(entry)
        if limited and not any(name.startswith(ours) for name in limited):
            continue
        for power in _WAYS:
            if role.base_kind == "Role" and power.resources[0] in _EVERYWHERE:
                continue
            if verbs := allowed(entry, power):
                given[power.gives] = ", ".join(verbs)
    if given:
        shown = "; ".join(f"{what} ({verbs})" for what, verbs in given.items())
        yield f"{role.label} may {shown}, with running jobs on them; take that away, or review it (reviewedRoles)"
