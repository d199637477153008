"""What slurmctld believes of a NodeSet's nodes against what their pods have and may use. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from slinky_iac.slurmrest.objects import Node
from slinky_iac.specs.workers import mebibytes, whole_cpus

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
    found = _FEATURES.search(str(spec.get("extraConf") or ""))
    slurmd = spec.get("slurmd")
    resources = slurmd.get("resources") if isinstance(slurmd, Mapping) else None
    limits = resources.get("limits") if isinstance(resources, Mapping) else None
    given = limits if isinstance(limits, Mapping) else {}
    try:
        cpus = whole_cpus(str(given["cpu"])) if given.get("cpu") else None
        memory = mebibytes(str(given["memory"])) if given.get("memory") else None
    except ValueError:
        cpus = memory = None
    return Promised(frozenset(found[1].split(",")) if found else frozenset(), cpus, memory)


CURE: Final = (
    "Use an image whose slurmd reads POD_CPUS and POD_MEMORY, as Slinky's does, or set CoreSpecCount, CPUs or RealMemory in"
    " the NodeSet's extraConf"
)
Kind = Literal["node-features", "more-than-pod"]


def differences(node: Node, wanted: Promised) -> Iterable[tuple[Kind, str]]:
    """Kind and text of each difference of one registered node."""
    if lacks := wanted.features - set(node.features):
        words = ", ".join(sorted(lacks))
        yield (
            "node-features",
            f"slurmctld doesn't know {words} of {node.name}, which its NodeSet has: jobs that ask for it don't run there."
            " A pod keeps the features with which it registered: run `pulumi up`, or see who changed them by scontrol",
        )
    if wanted.cpus is not None and node.effective_cpus > wanted.cpus:
        yield (
            "more-than-pod",
            f"slurmctld gives jobs {node.effective_cpus} CPUs of {node.name}, and its pod may use {wanted.cpus}: jobs share"
            f" them and run slower than they were promised. {CURE}",
        )
    usable = node.real_memory - node.specialized_memory
    if wanted.memory_mib is not None and usable > wanted.memory_mib:
        yield (
            "more-than-pod",
            f"slurmctld gives jobs {usable} MiB of {node.name}, and its pod may use {wanted.memory_mib}: Kubernetes ends"
            f" slurmd with its jobs where they use more. {CURE}",
        )
