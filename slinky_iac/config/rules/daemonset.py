"""Rules about NodeSets in DaemonSet mode: a pod on each Kubernetes node that fits, and no number.

Source: slurm-operator 1.1.0 to 1.2.1, ``nodeset_sync.go`` (``syncNodeSetPods``); what it reads of the pods' settings is
:mod:`slinky_iac.kube.selection`'s rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.stack import StackConfig
from slinky_iac.releases import OperatorVersion
from slinky_iac.selection import faults


def on_each_node(config: StackConfig, _secrets: frozenset[str]) -> Iterator[Finding]:
    """What a NodeSet without a number can't have."""
    for name, nodeset in config.nodesets.items():
        if not nodeset.on_each_node:
            continue
        path = f"nodesets.{name}"
        if not config.operator_version.has_scaling_mode:
            yield at(f"{path}.scalingMode").error(
                f"DaemonSet needs slurm-operator 1.1 or newer; operator.version is {config.operator.version}"
            )
        if config.operator_version == _RETURNS:
            yield at(f"{path}.scalingMode").warning(
                "slurm-operator 1.1.0 returns a Slurm node in the same moment in which it drains it because its Kubernetes"
                " node no longer fits (a label that somebody took away, a taint), and never deletes that pod. Gates aren't"
                " concerned. Set operator.version 1.1.1 or newer",
                id="daemonset-operator-1-1-0",
            )
        wrong = {"owner": nodeset.scaled_by_others, "autoscale": nodeset.autoscale is not None}
        for field in (setting for setting, given in wrong.items() if given):
            yield at(f"{path}.{field}").error(
                "with scalingMode: DaemonSet there is no number that an autoscaler could write: Kubernetes nodes that come"
                f" and go decide. Remove {field}, or set scalingMode: StatefulSet"
            )
        if config.drain_of(name).start_at_once is not None:
            yield at(f"{path}.drain.startAtOnce").error(
                "with scalingMode: DaemonSet this program writes no number of pods, so it can't start them in parts. Give"
                " this NodeSet a `drain` without startAtOnce"
            )
        for fault in faults(nodeset.pod.selection):
            where, _, said = fault.partition(": ")
            yield at(f"{path}.pod.{where}").error(
                f"{said}. slurm-operator would take another Kubernetes node than meant for one that fits, and remove its pod"
            )


_RETURNS: Final = OperatorVersion(1, 1, 0)
"""``doPodScale`` keeps the pods that it deletes; mended in 1.1.1 (``ExcludePods``)."""
RULES = (on_each_node,)
