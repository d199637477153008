"""Which generic resources a stack's nodes have."""

from __future__ import annotations

from typing import Final

from slinky_iac.config.operator import conf as operator_conf
from slinky_iac.config.operator.conf import GRES_CONF
from slinky_iac.config.slurm.gres import SHARED, GresItem, items
from slinky_iac.config.stack import StackConfig

_AUTODETECT: Final = {"nvidia.com": "nvidia", "amd.com": "rsmi", "gpu.intel.com": "oneapi", "aws.amazon.com": "nrt"}
"""How slurmd looks for the devices of a vendor (gres.conf(5), AutoDetect), by the domain of the Kubernetes resource."""
_SLICE: Final = "nvidia.com/mig-"
_SLICES: Final = "nvml"
"""What alone finds slices of NVIDIA's GPUs (MIG), by a library that Slinky's slurmd isn't built with (gres.conf(5))."""
_SAME: Final = {"nvml": "nvidia"}
"""AutoDetect that finds the same devices by a library of the vendor's."""
_OF_OTHERS: Final = frozenset({*_AUTODETECT.values(), *_SAME, "nrt"})
"""AutoDetect of one vendor's devices each."""


def by_node(config: StackConfig) -> dict[str, tuple[GresItem, ...]]:
    """The same by the path of the setting, for NodeSets and outside hosts that have any."""
    resources = {f"nodesets.{name}.gres": items(nodeset.slurmd_conf) for name, nodeset in config.nodesets.items()}
    for host in config.external.slurmd_hosts:  # those of one entry may differ by the node table
        path = f"{host.path}.config"
        resources[path] = tuple(dict.fromkeys((*resources.get(path, ()), *items(host.config))))
    return {path: gres_items for path, gres_items in resources.items() if gres_items}


def types_of(config: StackConfig) -> tuple[str, ...]:
    """Names for GresTypes=: what NodeSets and outside hosts have, and gpu beside what divides GPUs."""
    names = {gres_item.name for gres_items in by_node(config).values() for gres_item in gres_items}
    return tuple(sorted(names | ({"gpu"} if names & SHARED else set())))


def with_gpus(config: StackConfig) -> tuple[str, ...]:
    """Paths of the settings of nodes with GPUs. One that has only what divides GPUs is refused elsewhere."""
    return tuple(
        path for path, gres_items in by_node(config).items() if any(gres_item.name == "gpu" for gres_item in gres_items)
    )


def with_gres_conf(config: StackConfig) -> StackConfig:
    """The configuration with a gres.conf of one line, where nodes have GPUs of one vendor and nothing else writes one:
    without, slurmd finds no GPU and slurmctld drains the node (watched with slurm-operator 1.2.1)."""
    methods = vendors(config)
    if not lacks_gres_conf(config) or len(methods) != 1 or methods & {"", _SLICES}:
        return config
    files = {**config.controller.config_files, GRES_CONF: f"AutoDetect={methods.pop()}\n"}
    controller = config.controller.model_copy(update={"config_files": files})
    return config.model_copy(update={"controller": controller})


def vendors(config: StackConfig) -> set[str]:
    """AutoDetect of each vendor whose GPUs NodeSets ask Kubernetes for; empty for one that isn't known."""
    return {method for path in with_gpus(config) for method in autodetects(config, path)}


def autodetects(config: StackConfig, path: str) -> set[str]:
    """The same of the nodes of one setting; none for hosts, of which that isn't known. Beside GPUs that are known, others
    are devices of a network or the like."""
    asked = {
        _SLICES if resource.startswith(_SLICE) else _AUTODETECT.get(resource.partition("/")[0], "")
        for name, nodeset in config.nodesets.items()
        if f"nodesets.{name}.gres" == path
        for resource in nodeset.resources.extended
    }
    return asked - {""} or asked


def lines_for(config: StackConfig, path: str) -> str:
    """What gres.conf needs for the GPUs of one setting, in words."""
    named = "lines with Name=gpu and File"
    asked = autodetects(config, path)
    if asked and not asked - {""}:
        return f"{named}, one for the devices of each node: no AutoDetect finds them"
    if _SLICES in asked:
        return (
            f"AutoDetect={_SLICES}, with an image whose slurmd is built with NVML, or lines with Name=gpu and MultipleFiles"
        )
    return f"AutoDetect={min(asked - {''}, default='nvidia')}, or {named}"


def finds_others_alone(wanted: str, given: set[str]) -> bool:
    """Whether every AutoDetect of ``given`` finds devices of one vendor, and none of them those of ``wanted``."""
    return given <= _OF_OTHERS and wanted not in given | {_SAME.get(method, method) for method in given}


def outside_line(config: StackConfig) -> str:
    """The line that gres.conf of a slurmctld outside needs for GPUs in pods, which slurmd gets from it; empty where no
    NodeSet has any, and without the vendor where that isn't one that is known."""
    if not config.slurmctld.hosts or not any(path.startswith("nodesets.") for path in with_gpus(config)):
        return ""
    methods = sorted(vendors(config))
    return f"AutoDetect={methods[0] if len(methods) == 1 and methods[0] else '…'}"


def operators_gres_conf(config: StackConfig) -> str | None:
    """gres.conf of a slurmctld in Kubernetes that has none of the stack's; None where the operator writes none."""
    return operator_conf.files(config).get(GRES_CONF) if config.slurmctld.owns_conf else None


def lacks_gres_conf(config: StackConfig) -> bool:
    """Whether nodes of a slurmctld in Kubernetes have GPUs, and it has no gres.conf."""
    inside = config.slurmctld.owns_conf and operators_gres_conf(config) is None
    return inside and bool(with_gpus(config)) and GRES_CONF not in map(str.lower, config.controller.config_files)
