"""What slurmd pods get of a node: requests and limits, CPUs, and sharing where nothing confines a job."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from slurm_rules.cluster import belonging_to, has_cgroups, slurm_conf, slurm_name
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, flag, rule, slinky
from slurm_rules.slurm_conf import lines

_UNITS = {"": 1, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_UNITS |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}


def quantity(value: object) -> float | None:
    """The number of a Kubernetes quantity such as ``500m`` or ``64Gi``; None for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-zA-Z]*)", str(value))
    return float(match[1]) * _UNITS[match[2]] if match and match[2] in _UNITS else None


def _resources(nodeset: Resource) -> tuple[Mapping[str, object], Mapping[str, object]]:
    requests, limits = (nodeset.get("spec", "slurmd", "resources", part) for part in ("requests", "limits"))
    return requests or {}, limits or {}


@rule(
    "requests-equal-limits",
    slinky("NodeSet"),
    scope="resource",
    options={"required": flag("Whether CPU and memory must be set at all.", default=False)},
)
def requests_equal_limits(nodeset: Resource, _: Stack, options: Options) -> Iterator[str]:
    """slurmd's requests equal its limits for CPU and memory.

    Why: jobs run inside slurmd's pod. With a request below the limit the kubelet evicts the pod when its node runs short,
    and with it every job in it, also those that kept to their share; and static CPU management pins no cores for such a pod.

    Source: SchedMD, "Slurm Operator" (SLUG 2024), Restrictions: static CPU management policy, slurmd killed for lack of
    memory; Kubernetes, "Quality of Service classes" (Guaranteed).

    Do: set resources.cpus and resources.memory of the NodeSet, which writes both; or requests like limits.

    Level: mandatory, since an eviction kills jobs.
    """
    requests, limits = _resources(nodeset)
    for name in ("cpu", "memory"):
        asked, most = requests.get(name), limits.get(name)
        if asked is None and most is None:
            if options["required"]:
                yield f"{nodeset.label}: slurmd has no {name}; this site wants it set as request and limit"
        elif most is None:
            yield f"{nodeset.label}: slurmd asks for {name} {asked} without a limit, so it can be evicted; add the limit"
        elif asked is not None and quantity(asked) != quantity(most):
            yield f"{nodeset.label}: slurmd asks for {name} {asked} and may use {most}; make both the same"


@rule("whole-cpus", slinky("NodeSet"), scope="resource")
def whole_cpus(nodeset: Resource, _: Stack, __: Options) -> Iterator[str]:
    """slurmd has whole CPUs where Slurm shares cores among jobs.

    Why: the kubelet pins cores for whole numbers only. With a fraction all jobs of the pod run in the shared pool, while
    Slurm, which gets the next whole number, hands out a core that isn't there.

    Source: SchedMD, "Slurm Operator" (SLUG 2024), Restrictions; Kubernetes, "Control CPU Management Policies" (static).

    Do: set a whole number of CPUs, or OverSubscribe=EXCLUSIVE on the NodeSet's partition.

    Level: advisory, since jobs run slower and aren't lost.
    """
    config = settings_of_partition(nodeset)
    if config.get("oversubscribe", "").upper() == "EXCLUSIVE":
        return
    requests, limits = _resources(nodeset)
    for value in dict.fromkeys(str(part["cpu"]) for part in (requests, limits) if part.get("cpu") is not None):
        cpus = quantity(value)
        if cpus is not None and cpus != int(cpus):
            yield f"{nodeset.label}: slurmd has {value} CPUs, a fraction that no core can be pinned for; use a whole number"


def settings_of_partition(nodeset: Resource) -> Mapping[str, str]:
    """Parameters of a NodeSet's own partition, names in lower case; empty where it has none."""
    if nodeset.get("spec", "partition", "enabled") is not True:
        return {}
    return dict(pair for line in lines(nodeset.text("spec", "partition", "config")) for pair in line.pairs)


@rule("exclusive-without-cgroups", slinky("Controller"))
def exclusive_without_cgroups(controller: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """Where cgroups are disabled, every partition of pods has OverSubscribe=EXCLUSIVE.

    Why: without cgroups slurmd can't confine a job. One that takes too much memory gets the whole slurmd pod killed, and the
    jobs of other users in it with it; alone on the node it harms only itself.

    Source: SchedMD, "Slurm Operator" (SLUG 2024), Restrictions: disable cgroups, OverSubscribe=Exclusive; cgroup.conf(5)
    CgroupPlugin=disabled; slurm.conf(5) OverSubscribe.

    Do: add OverSubscribe: EXCLUSIVE to the partition, or enable cgroups.

    Level: mandatory, since one job can kill those of others.
    """
    if has_cgroups(controller, stack):
        return
    rest = "cgroups are disabled and jobs share its nodes; add OverSubscribe=EXCLUSIVE"
    for nodeset in belonging_to(controller, stack, "NodeSet"):
        config = settings_of_partition(nodeset)
        if nodeset.get("spec", "partition", "enabled") is True and config.get("oversubscribe", "").upper() != "EXCLUSIVE":
            yield f"partition {slurm_name(nodeset)}: {rest}"
    for line in lines(slurm_conf(controller, stack) or ""):
        if line.first == "partitionname" and line.get("oversubscribe").upper() != "EXCLUSIVE":
            yield f"partition {line.value}: {rest}"
