"""Gates of a part that stand before all NodeSets, which it says itself (slinky_iac/parts/part.py)."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from slinky_iac.config.stack import StackConfig

from .connection import Component
from .own_gates import own_gate
from .part_objects import part_of
from .resources import child


@dataclass(frozen=True, kw_only=True)
class PartGatesArgs:
    """``part``: a folder of slinky_iac/parts."""

    config: StackConfig
    part: str


class PartGates(Component):
    """What one part sets before there are NodeSets: labels of Kubernetes nodes (``part="node_table"``).

    A preview shows which nodes the rows of the table mean, and a value of another manager is a conflict there; it is never
    taken over. A destroy takes back what this stack has set, and nothing else.
    """

    def __init__(self, name: str, args: PartGatesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        part = part_of(args.part)
        super().__init__(part.component, name, args.config, opts)
        before = part.before_nodesets(args.config)
        for gate in before.gates if before is not None else ():
            own_gate(name, args.config, gate, child(self))
        self.register_outputs({})
