"""CPUs and memory: what Slurm believes, what pods may use, and how the kubelet keeps pods apart.

Sources: Kubernetes, "Control CPU Management Policies on the Node", "Control Topology Management Policies on a Node", "Swap
memory management"; Slinky's slides of 2024 (static CPU manager, no swap).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from slinky_iac.config.quantities import mebibytes, whole_cpus
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.workers import NodeSet
from slinky_iac.kube.objects import Pod
from slinky_iac.preflight.check import Answers, Expect, fine, of, problem, unknown, warning
from slinky_iac.preflight.facts import Facts, Kubelet
from slinky_iac.slurmrest.objects import Node
from slinky_iac.specs.workers import nodeset_spec

STATIC: Final = "static"
NO_SWAP: Final = ("", "NoSwap")
OWN_CPUS: Final = ("", "Guaranteed")
"""Class of pods that the static policy gives CPUs of their own; empty where it isn't known."""
_FEATURES: Final = re.compile(r"(?:^|\s)Features?=(\S+)", re.IGNORECASE)


@dataclass(frozen=True)
class Promised:
    """What a NodeSet's spec gives each of its pods."""

    features: frozenset[str] = frozenset()
    cpus: int | None = None
    """CPUs that the pod may use; None for no limit."""
    memory_mib: int | None = None


def promised(spec: Mapping[str, Any]) -> Promised:
    """By the spec as the last update wrote it. A quantity that can't be read limits nothing here."""
    match = _FEATURES.search(str(spec.get("extraConf") or ""))
    slurmd = spec.get("slurmd")
    resources = slurmd.get("resources") if isinstance(slurmd, Mapping) else None
    limits = resources.get("limits") if isinstance(resources, Mapping) else None
    given = limits if isinstance(limits, Mapping) else {}
    try:
        cpus = whole_cpus(str(given["cpu"])) if given.get("cpu") else None
        memory = mebibytes(str(given["memory"])) if given.get("memory") else None
    except ValueError:
        cpus = memory = None
    return Promised(frozenset(match[1].split(",")) if match else frozenset(), cpus, memory)


_RECORD: Final = (
    "slurm-operator 1.2 and newer leave the record when a pod goes, and a new pod doesn't change it: drain the node, delete"
    " its record (`scontrol delete nodename=…`), then its pod"
)
"""Where the gate didn't replace the pod; it deletes the record."""
_CURE: Final = (
    "Use an image whose slurmd reads POD_CPUS and POD_MEMORY, as Slinky's does, or set CoreSpecCount, CPUs or RealMemory in"
    f" the NodeSet's extraConf. {_RECORD}"
)
Kind = Literal["node-features", "more-than-pod"]


def differences(node: Node, wanted: Promised) -> Iterable[tuple[Kind, str]]:
    """Kind and text of each difference of one registered node."""
    if lacks := wanted.features - set(node.features):
        words = ", ".join(sorted(lacks))
        yield (
            "node-features",
            f"slurmctld doesn't know {words} of {node.name}, which its NodeSet has: jobs that ask for it don't run there."
            " slurmctld takes them when a registration makes the record: run `pulumi up`. If it replaces no pod, see who"
            f" changed them by scontrol. {_RECORD}",
        )
    yield from (("more-than-pod", f"{text}. {_CURE}") for text in _more_than_pod(node, wanted))


def _more_than_pod(node: Node, wanted: Promised) -> Iterable[str]:
    if wanted.cpus is not None and node.effective_cpus > wanted.cpus:
        yield (
            f"slurmctld gives jobs {node.effective_cpus} CPUs of {node.name}, and its pod may use {wanted.cpus}: jobs share"
            " them and run slower than they were promised"
        )
    usable = node.real_memory - node.specialized_memory
    if wanted.memory_mib is not None and usable > wanted.memory_mib:
        yield (
            f"slurmctld gives jobs {usable} MiB of {node.name}, and its pod may use {wanted.memory_mib}: Kubernetes ends"
            " slurmd with its jobs where they use more"
        )


def _slurms_view(config: StackConfig, facts: Facts) -> Answers:
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
        wrong = [text for record in records for text in _more_than_pod(record, wanted)]
        if not records:
            yield unknown("no pod of it is registered, so what Slurm believes of it is not known", about=about)
        elif wrong:
            more = f" ({len(wrong) - 1} more like it)" if len(wrong) > 1 else ""
            yield problem(wrong[0] + more, _CURE, about=about)
        else:
            yield fine("Slurm gives jobs no more than its pods may use", about=about)


def _kubelets(config: StackConfig, facts: Facts) -> Answers:
    """The kubelet gives each worker pod CPUs of its own, and no swap."""
    for name, workers in facts.kube.workers.items():
        for node in sorted({pod.spec.node_name for pod in workers.pods} & facts.kube.kubelets.keys()):
            if name in config.nodesets:
                pods = (pod for pod in workers.staying if pod.spec.node_name == node)
                shared = [pod for pod in pods if pod.status.qos_class not in OWN_CPUS]
                answers = _kubelet(node, facts.kube.kubelets[node], config.nodesets[name], shared)
                yield from of(answers, about=f"NodeSet {name_of(name)}", source=f"kubelet of {node}")


def _kubelet(node: str, seen: Kubelet, nodeset: NodeSet, shared: Sequence[Pod]) -> Answers:
    if seen.trouble:
        yield unknown(
            f"how it runs is not known: {seen.trouble}",
            "`slinky rights` doesn't grant nodes/proxy, by which commands run in every pod of a node. An administrator asks",
            f"kubectl get --raw /api/v1/nodes/{node}/proxy/configz",
        )
        return
    told = f"cpuManagerPolicy {seen.cpu_policy}, topologyManagerPolicy {seen.topology_policy}"
    if nodeset.resources.cpus and seen.cpu_policy != STATIC:
        yield warning(
            f"{told}: its pods move among all CPUs of the node, beside other pods, while Slurm binds jobs to those that it"
            " counts",
            "Set cpuManagerPolicy: static in the kubelet's configuration, with reservedSystemCPUs: drain the node, stop the"
            " kubelet, remove cpu_manager_state, start it",
        )
    elif nodeset.resources.cpus and not nodeset.resources.cpus.isdigit():
        yield warning(
            f"{told}, and {nodeset.resources.cpus} CPUs aren't a whole number: only whole ones are a pod's own",
            "Set resources.cpus to a whole number",
        )
    elif nodeset.resources.cpus and shared:
        yield warning(
            f"{told}, and {name_of(shared[0].metadata.name)} is of class {shared[0].status.qos_class}: only pods of class"
            " Guaranteed get CPUs of their own, and the container logfile has no limits",
            "Create a LimitRange in the namespace that gives containers without limits a default for cpu and memory, then"
            " replace the pods",
        )
    else:
        yield fine(told)
    if seen.swap not in NO_SWAP:
        yield warning(
            f"memorySwap.swapBehavior {seen.swap}: jobs may be swapped out, and Slurm counts RAM only",
            "Set swapBehavior: NoSwap in the kubelet's configuration of these nodes",
        )


EXPECTED: Final = (
    Expect("pod-resources", "CPUs and memory of pods", "slurmctld", _slurms_view),
    Expect("kubelet", "the kubelet", "Kubernetes", _kubelets),
)
