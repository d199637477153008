"""What each cloud's module makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pulumi

POOL: Final = "burst-a"
"""Label and taint `slurm` of the machines that NodeSets use: a new pool has another (docs/clouds.md, upgrades)."""


@dataclass(frozen=True)
class Cloud:
    """A Kubernetes cluster and the machine of slurmctld."""

    kubeconfig: pulumi.Output[str]
    """The command that writes the context `hpc`."""
    slurmctld: pulumi.Output[str]
    """The machine's private address."""
    keeps: Sequence[pulumi.Resource]
    """What jobs and drains need as long as there is a NodeSet."""
