"""The scaling mode of a NodeSet that is taken over, and which Kubernetes nodes fit it: as they are. Pure.

The gate compares both with the live NodeSet, so with the living ones in the file a first update drains nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from slinky_iac.commands.adopt.model import Live
from slinky_iac.config.paths import value_at
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.workers import NodeSet
from slinky_iac.errors import ProjectError
from slinky_iac.names import nodeset_resource
from slinky_iac.selection import DAEMON, FIELDS, Selection

_BY_GATES: Final[Mapping[str, object]] = {"pinToNode": False, "oversubscribeNode": False}
"""Fields of a NodeSet that gates go by, and what they need: with another value the operator would remove other pods than
those whose nodes a gate has drained. It is also slurm-operator's default."""


def carry(part: dict[str, Any], resource: Live) -> None:
    """The living mode, and in DaemonSet mode exactly the living selection: by another one a gate would drain nodes."""
    part.pop("scalingMode", None)
    if _live_mode(resource) != DAEMON:
        return
    part.pop("replicas", None)
    others = {key: value for key, value in part.get("pod", {}).items() if key not in FIELDS}
    selects = {field: value for field, value in _live_selection(resource).fields.items() if value}
    part |= {"scalingMode": DAEMON, "pod": {**others, **selects}}


def _live_mode(resource: Live) -> str:
    return str(resource.spec.get("scalingMode") or "StatefulSet")


def _live_selection(resource: Live) -> Selection:
    """Which Kubernetes nodes fit a living NodeSet. Raises :class:`ProjectError` where it has another shape."""
    try:
        return Selection.of(value_at(resource.spec, ("template", "spec")) or {})
    except ValueError as wrong:
        raise ProjectError(f"NodeSet {resource.name}: {wrong}. Nothing was written") from None


def gated(config: StackConfig, live: Live) -> tuple[str, ...]:
    """Fields of a living NodeSet in DaemonSet mode that its gate has, and compares with the live ones."""
    own = _of(config, live)
    fields = ("scalingMode", *(f"template.spec.{field}" for field in FIELDS))
    return fields if own is not None and own.on_each_node else ()


def _of(config: StackConfig, live: Live) -> NodeSet | None:
    """The stack's settings of a living NodeSet."""
    by_name = {nodeset_resource(config.cluster.resource_name, name): nodeset for name, nodeset in config.nodesets.items()}
    return by_name.get(live.name) if live.kind == "NodeSet" else None


def selects_otherwise(config: StackConfig, live: Live) -> Iterator[tuple[str, object, object]]:
    """Fields by which the file selects other Kubernetes nodes than a living NodeSet does, with its value and the file's: the
    gate would drain, and write them."""
    own = _of(config, live)
    if own is None or not own.on_each_node:
        return
    there, ours = _live_selection(live).fields, own.pod.selection.fields
    yield from ((field, there[field], ours[field]) for field in FIELDS if there[field] != ours[field])


def unfit(config: StackConfig, living: Sequence[Live]) -> Iterator[str]:
    """NodeSets that the stack can't take over as the file has them, each with why and what to do."""
    for resource in living:
        own, mode = _of(config, resource), _live_mode(resource)
        if own is not None and own.scaling_mode != mode:
            yield (
                f"NodeSet {resource.name} has scalingMode: {mode}, and the file {own.scaling_mode}: slurm-operator"
                f" deletes all its pods for that. Set scalingMode: {mode} in the file. Once the stack has it and the section"
                " `adopted` is gone, a change of the mode drains all its nodes first"
            )
        for field, needed in _BY_GATES.items() if resource.kind == "NodeSet" else ():
            if (live_value := resource.spec.get(field, needed)) != needed:
                yield (
                    f"NodeSet {resource.name} has {field}: {live_value}. Gates know {needed} alone, and would drain other"
                    " nodes than slurm-operator removes. Leave it to the chart, in a release of its own, or change it there"
                    " first"
                )
