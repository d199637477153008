"""How pods are replaced when their template changes."""

from __future__ import annotations

from collections.abc import Iterator

from slurm_rules.cluster import gates_of, most_nodes
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, number, rule, slinky


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
    value = next((g.get("maxUnavailable") for g in gates_of(nodeset, stack)[:1] if g.text("updates") == "Gated"), None)
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
