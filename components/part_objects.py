"""The Kubernetes objects of a part, which it says itself (slinky_iac/parts/part.py)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pulumi

from slinky_iac.config.reading.engine import KeyOutputs, StackRefused
from slinky_iac.config.shown import word_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.part import Document, Part
from slinky_iac.parts.registry import PARTS

from .auth_keys import key_fingerprint
from .connection import Component
from .resources import register


def _no_document() -> str:
    raise StackRefused(
        f"{' and '.join(filter(None, (part.looks_by for part in PARTS)))} looks at a HybridCluster of the same program."
        " Nothing of it was made. Leave it out here"
    )


def part_of(name: str) -> Part:
    """A part by its folder. Raises StackRefused where there is none."""
    known = {part.name: part for part in PARTS}
    if name not in known:
        raise StackRefused(
            f"part is {word_of(name, known)}: it is one of {', '.join(known)}. Nothing of it was made. Correct it"
        )
    return known[name]


@dataclass(frozen=True, kw_only=True)
class PartObjectsArgs:
    """``part``: a folder of slinky_iac/parts. ``document``: what the stack is, for a CronJob that has no state. ``keys``:
    what its Secrets hold."""

    config: StackConfig
    part: str
    document: Document = _no_document
    keys: KeyOutputs = field(default_factory=KeyOutputs)


class PartObjects(Component):
    """What one part makes: the fence, or objects for Prometheus and Grafana. Without objects it makes nothing itself."""

    def __init__(self, name: str, args: PartObjectsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        part = part_of(args.part)
        super().__init__(part.component, name, args.config, opts)
        register(self, name, args.config, part.objects(args.config, args.document), args.keys.values)
        made: dict[str, pulumi.Output[Any]] = {}
        if part.key is not None:
            made["key_fingerprint"] = self.key_fingerprint = key_fingerprint(args.keys.values.get(part.key.config))
        if (pod := part.own_client_pod(args.config)) is not None:
            made["pod"] = self.pod = pulumi.Output.from_input(pod)
        self.register_outputs(made)
