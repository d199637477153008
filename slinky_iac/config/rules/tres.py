"""Rules of trackable and generic resources, QOS and plugins: what slurmctld ends over after it has read its file.

Each was run on slurmctld 26.05.5 up to "Running as primary controller"; the place in its source stands beside each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.operator import conf as operator_conf
from slinky_iac.config.partitions import partition_parameters
from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm import gres
from slinky_iac.config.slurm import words as slurm_words
from slinky_iac.config.slurm.node_gres import by_node, lacks_gres_conf, lines_for, outside_line, types_of, with_gpus
from slinky_iac.config.slurm.refusals import Conf, spelt
from slinky_iac.config.stack import StackConfig

OWN_TRES: Final = frozenset({"billing", "cpu", "energy", "fs/disk", "mem", "node", "pages", "vmem"})
"""Trackable resources that Slurm has without slurmdbd (``DEFAULT_ACCOUNTING_TRES`` in read_config.h)."""
_NAMED: Final = ("bb/", "fs/", "gres/", "ic/", "license/")
"""Kinds of trackable resources that have a name of their own (``_init_tres`` in controller.c)."""
QOS_WORDS: Final = ("qos", "allowqos", "denyqos")
_ENDS: Final = "slurmctld ends over it at its start"
_TRACKED: Final = "AccountingStorageTRES"
_WEIGHT: Final = re.compile(r"[^\s=]+=[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?([kmgtp]\S*)?", re.IGNORECASE)
"""``_tres_weight_item``: a resource, and a number that may have a unit (``get_unit_type``)."""


def _conf(config: StackConfig) -> Conf:
    return Conf(operator_conf.written(config), config.controller.extra_conf)


def _tracked(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """AccountingStorageTRES: kinds that Slurm has, and slurmdbd for those beyond its own (``_init_tres``)."""
    key = spelt(config.slurmctld.extra_conf, _TRACKED)
    for item in _conf(config).words(_TRACKED) if key else ():
        path = f"controller.extraConf.{key}"
        if item != item.strip():
            yield at(path).error(
                f"has a blank beside {name_of(item.strip())}, which slurmctld takes for a part of the name: {_ENDS}. Remove"
                " the blanks"
            )
            continue
        if item not in OWN_TRES and not _is_named(item):
            yield at(path).error(f"{_no_resource([item])}; {_ENDS}")
        elif item not in OWN_TRES and not config.accounting.enabled:
            yield at(path).error(
                f"has {name_of(item)}, which needs slurmdbd, and accounting.enabled is false: {_ENDS}. Set accounting, or"
                " remove it"
            )


def _is_named(item: str) -> bool:
    """Whether it is a kind of resource with a name behind it."""
    return any(item.startswith(kind) and item != kind for kind in _NAMED)


def _no_resource(items: list[str]) -> str:
    hints = [f"gres/{name_of(resource)}" for resource in items if "/" not in resource and resource]
    hint = f". For a generic resource write {', '.join(hints)}" if hints else ""
    return (
        f"has {', '.join(map(name_of, items))}, where Slurm takes {', '.join(sorted(OWN_TRES))}, or a name behind"
        f" {' '.join(_NAMED)}{hint}"
    )


def _weights(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Weights name resources that are tracked (``_tres_weight_item`` in slurm_protocol_api.c: fatal)."""
    if not config.slurmctld.owns_conf:
        return  # what is tracked there is for preflight to ask
    tracked = OWN_TRES | set(_conf(config).words(_TRACKED))
    own = config.slurmctld.extra_conf
    lines = {"controller.extraConf": ("PriorityWeightTRES", own)}
    lines |= {path: ("TRESBillingWeights", settings) for path, settings in partition_parameters(config).items()}
    lines |= {f"nodesets.{name}.extraConf": ("TRESWeights", nodeset.extra_conf) for name, nodeset in config.nodesets.items()}
    for path, (name, parameters) in lines.items():
        if key := spelt(parameters, name):
            items = [item for item in parameters[key].split(",") if item]
            if wrong := [item for item in items if not _WEIGHT.fullmatch(item)]:
                yield at(f"{path}.{key}").error(
                    f"has {', '.join(map(name_of, wrong))}, which isn't NAME=NUMBER: {_ENDS}. Give each weight so, without"
                    " blanks, as CPU=1.0,Mem=0.25G"
                )
                continue
            named = {item.partition("=")[0].lower() for item in items}
            lacking = sorted(named - tracked)
            if wrong := [resource for resource in lacking if not _is_named(resource)]:
                yield at(f"{path}.{key}").error(f"{_no_resource(wrong)}, each with =WEIGHT behind it; {_ENDS}")
            if untracked := [resource for resource in lacking if _is_named(resource)]:
                whole = ",".join(map(name_of, [*_conf(config).words(_TRACKED), *untracked]))
                yield at(f"{path}.{key}").error(
                    f"has {', '.join(map(name_of, untracked))}, which slurmctld doesn't track: {_ENDS}. Set {_TRACKED}:"
                    f" {whole} in controller.extraConf (which needs accounting), or remove it here"
                )


def _gres_types(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Types of nodes are in GresTypes, and what divides GPUs has GPUs beside it (gres.c: fatal, or the node loses them)."""
    for path, gres_items in by_node(config).items():
        names = {gres_item.name for gres_item in gres_items}
        for kind in sorted(names & gres.SHARED if "gpu" not in names else ()):
            yield at(path).error(
                f"has {kind} without gpu: it divides the GPUs of the same node, and slurmctld refuses GresTypes without gpu."
                " Add gpu:COUNT"
            )
    own = config.slurmctld.extra_conf
    if not (key := spelt(own, "GresTypes")):
        return
    given = own[key].split(",")
    path = f"controller.extraConf.{key}"
    if lacking := [gres_type for gres_type in types_of(config) if gres_type not in given]:
        yield at(path).error(
            f"lacks {', '.join(map(name_of, lacking))}, which nodes have: slurmctld would drop it from them, and no job"
            f" could ask for it. Add it, or leave {key} out: this program writes the types of all nodes"
        )
    elif gres.SHARED & set(given) and "gpu" not in given:
        yield at(path).error(f"has {', '.join(sorted(gres.SHARED & set(given)))} without gpu: {_ENDS}. Add gpu")


def _mixed(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """A node has all GRES of a name with a type, or all without (``_foreach_slurm_conf``: fatal for slurmd, run)."""
    nodes = [(f"nodesets.{name}.gres", nodeset.slurmd_conf) for name, nodeset in config.nodesets.items()]
    nodes += [(f"{host.path}.config", host.config) for host in config.external.slurmd_hosts]
    mixed_names: dict[tuple[str, str], None] = {}
    for path, parameters in nodes:
        typed, others = (
            {gres_item.name for gres_item in gres.items(parameters) if gres_item.typed is kind} for kind in (True, False)
        )
        mixed_names |= dict.fromkeys((path, name) for name in sorted(typed & others))
    for path, name in mixed_names:
        yield at(path).error(
            f"has {name_of(name)} with a type and {name_of(name)} without: slurmd ends over it, and no job runs on such a"
            " node. Give each a type, or none"
        )


def _gres_conf(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """GPUs that no slurmd finds (gres.c: count reported lower than configured)."""
    if lacks_gres_conf(config):
        path = with_gpus(config)[0]
        yield at(path).warning(
            "has GPUs, and slurmctld has no gres.conf: slurmd finds none of them, and the node is drained. Add gres.conf to"
            f" controller.configFiles, with {lines_for(config, path)}",
            id="gpus-without-gres-conf",
        )


def _outside_gres_conf(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """slurmd in pods gets gres.conf from slurmctld, and the operator writes none there."""
    if line := outside_line(config):
        yield at(next(path for path in with_gpus(config) if path.startswith("nodesets."))).info(
            f"gres.conf beside the outside slurm.conf must have the line {line}, or those of the devices: without one,"
            " slurmd in pods finds no GPU, and slurmctld drains the nodes. `slinky handoff --role slurmctld` says it, too",
            id="outside-gres-conf",
        )


def _unnamed(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """GPUs that pods have and Slurm doesn't know of, or knows fewer of: no job gets them."""
    for name, nodeset in config.nodesets.items():
        extended = f"nodesets.{name}.resources.extended"
        for resource in nodeset.resources.extended:
            if resource.endswith("/gpus"):
                yield at(f"{extended}.{resource}").warning(
                    f"is a resource that no device plugin of a vendor's offers: did you mean {resource[:-1]}? Pods"
                    " would wait for ever",
                    id="gres-without-devices",
                )
        devices = sum(
            count for resource, count in nodeset.resources.extended.items() if resource.endswith(("/gpu", "/gpus"))
        )
        gres_items = gres.items(nodeset.slurmd_conf)
        count = sum(gres_item.count for gres_item in gres_items if gres_item.name == "gpu")
        other = next((gres_item for gres_item in gres_items if gres_item.name.lower() == "gpu" != gres_item.name), None)
        if devices and other:
            yield at(f"nodesets.{name}.gres").warning(
                f"has {name_of(other.name)}, and Slurm's own name is gpu, in small letters: --gpus, AutoDetect and all that"
                f' Slurm does for GPUs is for gpu alone. Write "{other.of("gpu", devices)}"',
                id="devices-without-gres",
            )
        elif devices and not any(gres_item.name in ("gpu", *gres.SHARED) for gres_item in gres_items):
            yield at(extended).warning(
                f"asks Kubernetes for {_gpus(devices)}, and gres names none: slurmctld gives no job any of them. Set, for"
                f' example, gres: ["gpu:{devices}"]',
                id="devices-without-gres",
            )
        elif devices and 0 < count < devices:
            yield at(f"nodesets.{name}.gres").warning(
                f"has {_gpus(count)}, and resources.extended asks Kubernetes for {devices}: jobs get only {count}."
                f" {_whole([gres_item for gres_item in gres_items if gres_item.name == 'gpu'], devices)}",
                id="devices-without-gres",
            )


def _whole(gres_items: list[gres.GresItem], devices: int) -> str:
    """What to write so that jobs get all devices, of the models that are there."""
    if len(gres_items) == 1:
        alone = gres_items[0].of("gpu", 0).removesuffix(":0")
        return f'Write "{gres_items[0].of("gpu", devices)}"; "{alone}" alone is one'
    return f"Write each model with its count, together {devices}: a model without one is one"


def _gpus(count: int) -> str:
    return f"{count} GPU{'s' * (count != 1)}"


def _devices(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """More GPUs in Gres= than devices in the container: slurmctld drains the node (count reported lower than configured)."""
    for name, nodeset in config.nodesets.items():
        count = sum(gres_item.count for gres_item in gres.items(nodeset.slurmd_conf) if gres_item.name == "gpu")
        devices = sum(nodeset.resources.extended.values())
        if devices and count > devices:
            yield at(f"nodesets.{name}.gres").warning(
                f"has {count} GPUs, and resources.extended asks Kubernetes for {devices} devices: slurmd would find fewer"
                " than slurmctld expects, and the node would be drained. Give both the same number",
                id="gres-without-devices",
            )
            continue
        gpus = [gres_item for gres_item in gres.items(nodeset.slurmd_conf) if gres_item.name == "gpu"]
        for resource, slices in nodeset.resources.extended.items():
            kind = resource.partition("/mig-")[2]
            count = sum(gres_item.count for gres_item in gpus if kind and gres_item.type == kind)
            if count > slices:
                yield at(f"nodesets.{name}.gres").warning(
                    f"has {count} of gpu:{name_of(kind)}, and resources.extended asks Kubernetes for {slices} of"
                    f" {name_of(resource)}: slurmctld drains the node, as slurmd finds fewer. Give both the same number",
                    id="gres-without-devices",
                )


def _qos(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """A partition's QOS is in slurmdbd before slurmctld starts (read_config.c, ``_build_single_partitionline_info``)."""
    for path, parameters in partition_parameters(config).items():
        for key, value in parameters.items():
            if key.lower() not in QOS_WORDS or value.lower() in ("", "all"):
                continue
            if not config.accounting.enabled:
                yield at(f"{path}.{key}").error(
                    f"names QOS {name_of(value)}, which would be slurmdbd's, and accounting.enabled is false: {_ENDS}."
                    " Remove it, or set accounting"
                )
            elif value.lower() != "normal":
                yield at(f"{path}.{key}").warning(
                    f"names {name_of(value)}: slurmdbd must have it before slurmctld starts with this line, and for as long"
                    f" as the line stands, else {_ENDS}. A new slurmdbd has only normal: bring the stack up without the"
                    " line, run `sacctmgr add qos`, then add it",
                    id="qos-before-slurmctld",
                )


def _plugins(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Plugins that Slurm's sources have; images of a site's own may have more."""
    words = slurm_words.words(config.slurm_release, "slurm.conf")
    for key, value in config.slurmctld.extra_conf.items():
        path = at(f"controller.extraConf.{key}")
        if loaded := words.twice_named(key, value):
            yield path.error(
                f"is {name_of(value)}, and Slurm puts the kind before it itself: it would load {name_of(loaded)}, which no"
                f" image has, and each srun without --mpi fails. Write {name_of(value.partition('/')[2])}"
            )
        elif known := words.no_plugin(key, value):
            said = f"is {name_of(value)}; Slurm {config.slurm_release} has {known}"
            if config.cluster.images.slurmctld is None:
                yield path.error(
                    f"{said}. Slinky's images have no other, and slurmctld or slurmd ends over it. Name one of these, or set"
                    " cluster.images.slurmctld to an image of yours that has it"
                )
            else:
                yield path.warning(
                    f"{said}. If your own images have no such plugin, daemons end over it: name one of these, or acknowledge"
                    " this once your images have it",
                    id="plugin-unknown",
                )


RULES = (_tracked, _weights, _gres_types, _mixed, _gres_conf, _outside_gres_conf, _unnamed, _devices, _qos, _plugins)
