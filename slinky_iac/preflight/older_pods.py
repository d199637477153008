"""Are there worker pods that slurm-operator 1.0 made, while this stack says 1.1 or newer? That one would replace them all.

The newer one tells its pods by a label that 1.0 didn't give. What lacks it, it takes for pods of another scaling mode: it
makes as many others, under other names, and drains and deletes these, whatever the update strategy (`syncNodeSet`, 1.1.0 to
main of August 2026; watched with 1.1.0). As long as it has no client of slurmrestd yet, it takes busy nodes for drained.
Asked in every preview.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from slinky_iac import names
from slinky_iac.config.findings import Finding, warning
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeError

if TYPE_CHECKING:
    from slinky_iac.cluster.connection import KubeConnection

BUDGET_S: Final = 2.0
"""Longest wait for the answer: a preview is looked at by somebody who waits."""
NAMED: Final = 3
"""Pods that are named; of more, the number."""


def older_pods(config: StackConfig, way: KubeConnection) -> tuple[Finding, ...]:
    """A warning for pods without the label; nothing where there are none, or nobody could be asked."""
    if not config.operator_version.has_scaling_mode or not config.nodesets:
        return ()
    try:
        with way.kube(BUDGET_S) as kube:
            return replaced(config, kube.pods_without(config.cluster.namespace, "slurmd", names.LABEL_SCALING_MODE))
    except KubeError:
        return ()


def replaced(config: StackConfig, pods: Sequence[str]) -> tuple[Finding, ...]:
    """The finding for worker pods that lack the label."""
    if not pods:
        return ()
    more = f" and {len(pods) - NAMED} more" if len(pods) > NAMED else ""
    return (
        warning(
            "operator.version",
            f"worker pods {', '.join(pods[:NAMED])}{more} were made by slurm-operator 1.0 and lack a label, so"
            f" {config.operator.version} takes them for another mode's: whatever updateStrategy says, it drains and deletes"
            " them all at once, perhaps undrained in its first moments, and makes others under new node names. Before"
            f" `pulumi up`: `kubectl label pods -n {config.cluster.namespace} -l app.kubernetes.io/name=slurmd"
            f" {names.LABEL_SCALING_MODE}=StatefulSet`, and the other steps of docs/releases.md",
            id="operator-1-0-pods",
        ),
    )
