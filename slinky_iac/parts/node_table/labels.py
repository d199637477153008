"""What the node table has set on Kubernetes nodes, against the nodes as they are. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from slinky_iac.kube.machines import Machine
from slinky_iac.names import ANNOTATION_TOPOLOGY
from slinky_iac.parts.node_table.plan import Plan, TableSettings, values

VERBS: Final = {"labels": "label", "annotations": "annotate"}
"""kubectl's command for each."""


@dataclass(frozen=True)
class Labelled:
    """What the last update has set on Kubernetes nodes."""

    manager: str
    nodes: Plan

    @classmethod
    def read(cls, props: Mapping[str, Any]) -> Labelled:
        """By the outputs of the table's resource."""
        nodes = {str(node): values(own) for node, own in (props.get("nodes") or {}).items()}
        return cls(TableSettings.from_props(props).manager, nodes)

    def place_of(self, machine: str) -> str:
        """The place in Slurm's topology that it gives a Kubernetes node, and slurm-operator its pod; empty for none."""
        return self.nodes.get(machine, {}).get(("annotations", ANNOTATION_TOPOLOGY), "")

    def differences(self, live: Mapping[str, Machine]) -> Iterable[tuple[str, str]]:
        """Node and text of each difference."""
        for node, own in self.nodes.items():
            machine = live.get(node)
            if machine is None:
                yield (
                    node,
                    f"Kubernetes has no node {node}, which the node table names: `pulumi up` drops it, or correct the table",
                )
                continue
            for (part, key), value in own.items():
                if text := _difference(machine, self.manager, part, key, value):
                    yield node, text
        yield from self._strays(live)

    def _strays(self, live: Mapping[str, Machine]) -> Iterable[tuple[str, str]]:
        """Nodes with a word of the table that the table doesn't give them: pods would go there, and jobs wouldn't."""
        words = {(key, value) for own in self.nodes.values() for (part, key), value in own.items() if part == "labels"}
        for node, machine in live.items():
            own = self.nodes.get(node, {})
            for key, value in sorted(words & set(machine.metadata.labels.items())):
                if ("labels", key) not in own:
                    setters = ", ".join(machine.setters("labels", key)) or "an unknown manager"
                    yield (
                        node,
                        f"label {key}={value} of {node} was set by {setters}, and the node table has no such row: pods that"
                        " select it run there, and Slurm knows nothing of it. Add the node to the row, or remove the label",
                    )


def _difference(machine: Machine, manager: str, part: str, key: str, value: str) -> str:
    node, what = machine.metadata.name, part.removesuffix("s")
    got = getattr(machine.metadata, part).get(key)
    others = ", ".join(setter for setter in machine.setters(part, key) if setter != manager)
    if got is None:
        return f"{what} {key} of {node} is gone, which the node table sets to {value!r}: `pulumi up --refresh` sets it again"
    if got != value:
        return (
            f"{what} {key} of {node} is {got!r}, and the node table says {value!r}: set by {others or 'an unknown manager'}."
            f" The stack never takes it over. Remove it (`kubectl {VERBS[part]} node {node} {key}-`) and run `pulumi up"
            " --refresh`, or take it out of the table"
        )
    if others:
        return f"{what} {key} of {node} belongs to {others} too: it stays when this stack removes it. Let one of both set it"
    return ""
