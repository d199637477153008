"""Gates that parts ask for, each as the resource of its kind."""

from __future__ import annotations

from typing import Any, Final

import pulumi

from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.part import OwnGate

from .gates import stack_props
from .slurm_job import SlurmJob

_KINDS: Final = {each.__name__: each for each in (SlurmJob,)}


def own_gate(name: str, config: StackConfig, gate: OwnGate, opts: pulumi.ResourceOptions) -> pulumi.Output[dict[str, Any]]:
    """Register it below the name of its cluster; what came of it."""
    return _KINDS[gate.kind](f"{name}-{gate.logical}", {**stack_props(config), **gate.props}, opts).result
