"""Gates that parts ask for, each as the resource of its kind."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pulumi
from pulumi.dynamic import Resource

from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.part import MadeOnce, OwnGate
from slinky_iac.parts.registry import PROVIDERS

from .gates import Gate, stack_props


def own_gate(name: str, config: StackConfig, gate: OwnGate, opts: pulumi.ResourceOptions) -> pulumi.Output[dict[str, Any]]:
    """Register it below the name of its parent; what came of it."""

    class Own(Gate, module="slurm", name=gate.kind):
        """One resource, whose type ends with the kind."""

    logical, props = f"{name}-{gate.logical}", {**stack_props(config), **gate.props}
    if gate.once is not None:
        props[gate.once.made] = _made_once(logical, gate.once, opts)
    made: pulumi.Output[dict[str, Any]] = getattr(Own(_provider(gate.kind), logical, props, opts, gate.made), gate.made)
    return made


def _made_once(gate: str, once: MadeOnce, opts: pulumi.ResourceOptions) -> pulumi.Output[Any]:
    """Register what makes the value: it needs its parent, and none of what the gate needs."""

    class Once(Resource, module="slurm", name=once.kind):
        """One resource, whose type ends with the kind."""

    props = {**once.props, once.made: None}
    own = Once(_provider(once.kind), f"{gate}-{once.logical}", props, pulumi.ResourceOptions(parent=opts.parent))
    made: pulumi.Output[Any] = getattr(own, once.made)
    return made


def _provider(kind: str) -> Any:  # noqa: ANN401 - the SDK's class of all providers
    module, _, name = PROVIDERS[kind].rpartition(".")
    return getattr(import_module(module), name)()
