"""The Kubernetes objects of a part, which it says itself (slinky_iac/parts/part.py)."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from slinky_iac.config.reading.engine import StackRefused
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.part import Document
from slinky_iac.parts.registry import PARTS

from .connection import Component
from .resources import register


def _no_document() -> str:
    raise StackRefused(
        f"{' and '.join(filter(None, (part.looks_by for part in PARTS)))} looks at a HybridCluster of the same program."
        " Nothing of it was made. Leave it out here"
    )


@dataclass(frozen=True, kw_only=True)
class PartObjectsArgs:
    """``part``: a folder of slinky_iac/parts. ``document``: what the stack is, for a CronJob that has no state."""

    config: StackConfig
    part: str
    document: Document = _no_document


class PartObjects(Component):
    """What one part makes: the fence, or objects for Prometheus and Grafana. Without objects it makes nothing itself."""

    def __init__(self, name: str, args: PartObjectsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        part = next(each for each in PARTS if each.name == args.part)
        super().__init__(part.component, name, args.config, opts)
        register(self, name, args.config, part.objects(args.config, args.document))
        self.register_outputs({})
