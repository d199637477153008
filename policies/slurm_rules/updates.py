"""How pods are replaced when their template changes, and what protects busy ones meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

from slurm_rules.gate_shape import most_nodes, scaler_gate
from slurm_rules.model import API_GROUP, Resource, Stack
from slurm_rules.rule import Edits, Options, number, rule, slinky


@rule(
    "update-strategy-bounds",
    slinky("NodeSet"),
    options={"maxUnavailablePercent": number(50, "Largest share of a NodeSet that may be away at once, in percent.", 1)},
)
def update_strategy_bounds(nodeset: Resource, stack: Stack, options: Options) -> Iterator[str]:
    """A rolling update takes no more than the site's share of a NodeSet away at once.

    Why: the operator drains that share together, so with 100% a new image drains the whole partition and no job starts until
    the longest one has ended.

    Source: slurm-operator docs/usage/nodeset-operations.md (updateStrategy); api/v1beta1/nodeset_types.go (25% by default).

    Do: lower updateStrategy.maxUnavailable, or use OnDelete and update by hand.

    Level: advisory, since no job is lost.
    """
    gate = scaler_gate(nodeset, stack)
    gated = gate is not None and gate.text("updates") == "Gated"
    value = gate.get("maxUnavailable") if gated and gate is not None else None
    value = nodeset.get("spec", "updateStrategy", "rollingUpdate", "maxUnavailable") if value is None else value
    bound, replicas = options["maxUnavailablePercent"], most_nodes(nodeset, stack)
    share: float | None = None
    if isinstance(value, str) and value.endswith("%") and value[:-1].isdigit():
        share = float(value[:-1])
    elif isinstance(value, int | float) and value > 1 and replicas:
        share = 100 * value / replicas
    if share is not None and share > bound:
        shown = value if isinstance(value, str) else f"{value:g} of {replicas:g}"
        yield f"{nodeset.label}: maxUnavailable is {shown}; this site allows {bound:g}% of a NodeSet"


def _protect(resource: Resource, __: Options) -> Edits:
    return {("spec", "workloadDisruptionProtection"): True} if resource.is_slinky else {}


_VERTICAL = "VerticalPodAutoscaler"
_LEAVES_ALONE = ("Off", "Initial")
_PRIORITY = "PriorityClass"


@rule(
    "busy-pods-protected",
    lambda resource: resource.is_kubernetes and resource.base_kind in ("NodeSet", _VERTICAL, _PRIORITY),
    scope="resource",
    fix=_protect,
)
def busy_pods_protected(resource: Resource, _: Stack, __: Options) -> Iterator[str]:
    """workloadDisruptionProtection isn't switched off, and nothing evicts pods of a cluster or takes their place.

    Why: it is the PodDisruptionBudget over busy slurmd pods. Without it `kubectl drain`, the cluster autoscaler and node
    upgrades evict pods with running jobs. A VerticalPodAutoscaler replaces pods to change their size, slurmctld's pod, too.
    With a PriorityClass for all pods that name none, every new pod of others may take the place of older worker pods.

    Source: slurm-operator api/v1beta1/nodeset_types.go (default true from 1.1 on); Kubernetes, "Disruptions";
    "Pod Priority and Preemption" (budgets are best effort); VerticalPodAutoscaler, updateMode (Off, Initial evict nothing).

    Do: leave the field out, or set it to true (level remediate does it); give the autoscaler updateMode Off, and the
    PriorityClass preemptionPolicy: Never.

    Level: mandatory, since an eviction kills jobs.
    """
    if resource.base_kind == _VERTICAL:
        mode = resource.text("spec", "updatePolicy", "updateMode") or "Auto"
        group = resource.text("spec", "targetRef", "apiVersion").partition("/")[0]
        name = resource.text("spec", "targetRef", "name")
        if mode not in _LEAVES_ALONE and (group == API_GROUP or name.startswith("slurm-")):
            yield f"{resource.label}: mode {mode} evicts pods of {name} to change their size; use mode Off"
        return
    if resource.base_kind == _PRIORITY:
        higher = resource.get("value")
        over = resource.get("globalDefault") is True and isinstance(higher, int | float) and higher > 0
        if over and resource.text("preemptionPolicy") != "Never":
            yield f"{resource.label}: globalDefault lets every new pod take the place of older worker pods; use Never"
        return
    value = resource.get("spec", "workloadDisruptionProtection")
    if value is not None and value is not True:
        yield (
            f"{resource.label}: workloadDisruptionProtection is {value!r}, so evictions take pods with running jobs;"
            " remove it"
        )
