"""What all dynamic providers do with the inputs and outputs that the engine hands them.

Every program imports this module, to hand its providers to the engine; only the plugin process calls their methods.
"""

from __future__ import annotations

from typing import Any

from pulumi.dynamic import DiffResult, ResourceProvider
from pulumi.output import Unknown

Props = dict[str, Any]


class Gate(ResourceProvider):
    """What all gates have in common: known inputs only, whole outputs always."""

    def diff(self, _id: str, _olds: Props, _news: Props) -> DiffResult:
        """A difference where any input differs from the state.

        A state without ``cluster`` is of a release that did not write it: the next update of something else does.
        """
        olds = {"cluster": _news.get("cluster"), **_olds}
        return DiffResult(changes=any(olds.get(key) != value for key, value in own_inputs(_news).items()))


def own_inputs(props: Props) -> Props:
    """A gate's inputs without what the SDK adds."""
    return {key: value for key, value in props.items() if not key.startswith("__")}


def outputs(props: Props) -> Props:
    """A gate's outputs: its inputs without that which only one update needs."""
    return {key: value for key, value in own_inputs(props).items() if key != "due"}


def sticky(olds: Props, news: Props) -> Props:
    """A resource keeps the stack name under which it was made: what it has written carries it."""
    return {**news, "stack": olds["stack"]} if olds.get("stack") else news


def is_unknown(value: object) -> bool:
    """Whether a value, or any part of it, is known only after an update."""
    if isinstance(value, dict):
        return any(is_unknown(part) for part in value.values())
    if isinstance(value, list):
        return any(is_unknown(part) for part in value)
    return isinstance(value, Unknown)
