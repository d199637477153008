"""Gates that parts ask for, each as the resource of its kind."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import pulumi

from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.part import OwnGate
from slinky_iac.parts.registry import PROVIDERS

from .gates import Gate, stack_props
from .slurm_job import SlurmJob

_OF_SEVERAL: Final = {kind.__name__: kind for kind in (SlurmJob,)}
"""Kinds that are more than one resource."""


def own_gate(name: str, config: StackConfig, gate: OwnGate, opts: pulumi.ResourceOptions) -> pulumi.Output[dict[str, Any]]:
    """Register it below the name of its parent; what came of it."""
    logical, props = f"{name}-{gate.logical}", {**stack_props(config), **gate.props}
    if gate.kind in _OF_SEVERAL:
        made: Gate = _OF_SEVERAL[gate.kind](logical, props, opts)
    else:
        made = _of_kind(gate.kind)(_provider(gate.kind), logical, props, opts, gate.made)
    output: pulumi.Output[dict[str, Any]] = getattr(made, gate.made)
    return output


def _of_kind(kind: str) -> type[Gate]:
    class Own(Gate, module="slurm", name=kind):
        """One resource, whose type ends with the kind."""

    return Own


def _provider(kind: str) -> Any:  # noqa: ANN401 - the SDK's class of all providers
    module, _, name = PROVIDERS[kind].rpartition(".")
    return getattr(import_module(module), name)()
