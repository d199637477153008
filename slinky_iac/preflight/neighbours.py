"""Is there another cluster of the same name? slurm-operator 1.0 takes two of one name in two namespaces for one.

Asked in every preview with such an operator, where it can be; a desk without rights or without the cluster gets a note.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from slinky_iac.config.findings import Finding, info, warning
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeError, KubeNotFound

if TYPE_CHECKING:
    from slinky_iac.cluster.connection import KubeConnection

BUDGET_S: Final = 2.0
"""Longest wait for the answer: a preview is looked at by somebody who waits."""
PATH: Final = "cluster.resourceName"


def same_name(config: StackConfig, way: KubeConnection) -> tuple[Finding, ...]:
    """A warning for a Controller of the same name elsewhere, a note where nobody could be asked."""
    if not config.operator_version.confuses_equal_names:
        return ()
    try:
        with way.kube(BUDGET_S) as kube:
            return clashes(config, kube.controllers())
    except KubeNotFound:
        return ()  # no operator yet, and so no Controller
    except KubeError as error:
        return (unknown(config, str(error)),)


def clashes(config: StackConfig, controllers: Iterable[tuple[str, str]]) -> tuple[Finding, ...]:
    """The finding for what is there; ``controllers`` as namespace and name."""
    name, own = config.cluster.resource_name, config.cluster.namespace
    others = sorted(namespace for namespace, other in controllers if other == name and namespace != own)
    if not others:
        return ()
    return (
        warning(
            PATH,
            f"{name!r} is the name of a cluster in namespace {', '.join(others)} too, and slurm-operator"
            f" {config.operator.version} takes both for one: pods of either may be led to the other's slurmctld. Choose"
            " another resourceName before the first `pulumi up` (it can't change later), or use operator 1.1 or newer",
            id="same-cluster-name",
        ),
    )


def unknown(config: StackConfig, why: str) -> Finding:
    """The note where nobody could be asked."""
    return info(
        PATH,
        f"slurm-operator {config.operator.version} needs it to differ from every other cluster's on this Kubernetes, and"
        f" whether {config.cluster.resource_name!r} does is not known: {why}",
        id="same-cluster-name-unknown",
    )
