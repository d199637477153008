"""CPUs and memory: what Slurm believes, what pods may use, and how the kubelet keeps pods apart.

Sources: Kubernetes, "Control CPU Management Policies on the Node", "Control Topology Management Policies on a Node", "Swap
memory management"; Slinky's slides of 2024 (static CPU manager, no swap).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.workers import NodeSet
from slinky_iac.kube.objects import Pod
from slinky_iac.preflight.check import Answer, Expect, fine, problem, unknown, warning
from slinky_iac.preflight.facts import Facts, Kubelet
from slinky_iac.preflight.pod_view import CURE, differences, promised
from slinky_iac.specs.workers import nodeset_spec

STATIC: Final = "static"
NO_SWAP: Final = ("", "NoSwap")
OWN_CPUS: Final = ("", "Guaranteed")
"""Class of pods that the static policy gives CPUs of their own; empty where it isn't known."""


def _slurms_view(config: StackConfig, facts: Facts) -> Iterator[Answer]:
    """Slurm gives jobs no more than the pod of their node may use."""
    known = {node.name: node for node in facts.slurm.nodes or ()}
    for name, workers in facts.kube.workers.items():
        if name not in config.nodesets:
            continue
        wanted = promised(nodeset_spec(config, name, config.nodesets[name]))
        if wanted.cpus is None and wanted.memory_mib is None:
            continue
        records = [known[pod.slurm_node] for pod in workers.ready if pod.slurm_node in known]
        about = f"NodeSet {name_of(name)}"
        wrong = [text for record in records for kind, text in differences(record, wanted) if kind == "more-than-pod"]
        if not records:
            yield unknown("no pod of it is registered, so what Slurm believes of it is not known", about=about)
        elif wrong:
            more = f" ({len(wrong) - 1} more like it)" if len(wrong) > 1 else ""
            yield problem(wrong[0].removesuffix(f". {CURE}") + more, CURE, about=about)
        else:
            yield fine("Slurm gives jobs no more than its pods may use", about=about)


def _kubelets(config: StackConfig, facts: Facts) -> Iterator[Answer]:
    """The kubelet gives each worker pod CPUs of its own, and no swap."""
    for name, workers in facts.kube.workers.items():
        for node in sorted({pod.spec.node_name for pod in workers.pods} & facts.kube.kubelets.keys()):
            if name in config.nodesets:
                about = f"NodeSet {name_of(name)}"
                shared = [
                    pod
                    for pod in workers.pods
                    if pod.spec.node_name == node and not pod.terminating and pod.status.qos_class not in OWN_CPUS
                ]
                yield from _kubelet(about, node, facts.kube.kubelets[node], config.nodesets[name], shared)


def _kubelet(about: str, node: str, seen: Kubelet, nodeset: NodeSet, shared: Sequence[Pod]) -> Iterator[Answer]:
    source = f"kubelet of {node}"
    if seen.trouble:
        yield unknown(
            f"how it runs is not known: {seen.trouble}",
            "`slinky rights` doesn't grant nodes/proxy, by which commands run in every pod of a node. An administrator asks",
            f"kubectl get --raw /api/v1/nodes/{node}/proxy/configz",
            about=about,
            source=source,
        )
        return
    told = f"cpuManagerPolicy {seen.cpu_policy}, topologyManagerPolicy {seen.topology_policy}"
    if nodeset.resources.cpus and seen.cpu_policy != STATIC:
        yield warning(
            f"{told}: its pods move among all CPUs of the node, beside other pods, while Slurm binds jobs to those that it"
            " counts",
            "Set cpuManagerPolicy: static in the kubelet's configuration, with reservedSystemCPUs: drain the node, stop the"
            " kubelet, remove cpu_manager_state, start it",
            about=about,
            source=source,
        )
    elif nodeset.resources.cpus and not nodeset.resources.cpus.isdigit():
        yield warning(
            f"{told}, and {nodeset.resources.cpus} CPUs are no whole number: only whole ones are a pod's own",
            "Set resources.cpus to a whole number",
            about=about,
            source=source,
        )
    elif nodeset.resources.cpus and shared:
        yield warning(
            f"{told}, and {name_of(shared[0].metadata.name)} is of class {shared[0].status.qos_class}: only pods of class"
            " Guaranteed get CPUs of their own, and the container logfile has no limits",
            "Create a LimitRange in the namespace that gives containers without limits a default for cpu and memory, then"
            " replace the pods",
            about=about,
            source=source,
        )
    else:
        yield fine(told, about=about, source=source)
    if seen.swap not in NO_SWAP:
        yield warning(
            f"memorySwap.swapBehavior {seen.swap}: jobs may be swapped out, and Slurm counts RAM only",
            "Set swapBehavior: NoSwap in the kubelet's configuration of these nodes",
            about=about,
            source=source,
        )


EXPECTED: Final = (
    Expect("pod-resources", "CPUs and memory of pods", "slurmctld", _slurms_view),
    Expect("kubelet", "the kubelet", "Kubernetes", _kubelets),
)
