"""Rules of gres.conf beside the nodes of a stack: what slurmd reports otherwise than slurmctld expects drains the node.

Each was run with slurmctld and slurmd 26.05.5: the node comes with INVALID_REG. Source: ``gres_node_config_validate`` of
gres.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from slinky_iac import names
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.operator.conf import GRES_CONF
from slinky_iac.config.raw import Raw
from slinky_iac.config.rules import gres_conf as rules_gres_conf
from slinky_iac.config.rules.gres_conf import Record, autodetects_of, finds_devices, records_of
from slinky_iac.config.rules.slurm_files import includes_another
from slinky_iac.config.shown import name_of, shown
from slinky_iac.config.slurm import gres
from slinky_iac.config.slurm.node_gres import (
    autodetects,
    by_node,
    finds_others_alone,
    lines_for,
    operators_gres_conf,
    with_gpus,
)
from slinky_iac.config.stack import StackConfig

_PATH: Final = f"controller.configFiles.{GRES_CONF}"


def _of_nodeset(record: Record, nodeset: str) -> bool:
    return "nodename" not in record.values or any(names.is_node_of(host, nodeset) for host in record.hosts)


def _unknown_nodes(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Lines whose NodeName isn't a node of the stack: no slurmd reads them."""
    hosts = {host.name for host in config.external.slurmd_hosts}
    if not (hosts or config.nodesets) or any(nodeset.on_each_node for nodeset in config.nodesets.values()):
        return  # a pod that has its number from slurm-operator alone
    for record in records_of(config.slurmctld.config_files.get(GRES_CONF, "")):
        if record.hosts != ("",) and not _known_of(record, config):
            with_gres = sorted(config.nodesets, key=lambda name: not gres.items(config.nodesets[name].slurmd_conf))
            examples = [f"{names.nodeset_hostname(name)}0" for name in with_gres] or sorted(hosts)[:1]
            yield at(_PATH).warning(
                f"has NodeName={shown(record.values['nodename'])} on line {record.line}, and no node of the stack has such a"
                f" name (there are nodes such as {name_of(examples[0])}): no slurmd takes the line, and a node that"
                " lacks its devices is drained. Correct the name, or remove the line",
                id="gres-conf-differs",
            )


def _known_of(record: Record, config: StackConfig) -> list[str]:
    """The nodes of a line that the stack has."""
    hosts = {host.name for host in config.external.slurmd_hosts}
    return [node for node in record.hosts if node in hosts or any(names.is_node_of(node, name) for name in config.nodesets)]


def _without_devices(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """GRES of pods to which Kubernetes gives no device. What gres.conf has without File, and divides no GPU, is only
    counted (gres.conf(5), CountOnly)."""
    lines = records_of(config.slurmctld.config_files.get(GRES_CONF, ""))
    counted = {line.name for line in lines if not line.file} - {"gpu", *gres.SHARED}
    for name, nodeset in config.nodesets.items():
        items = gres.items(nodeset.slurmd_conf)
        devices = not items or any(gres_item.name not in counted for gres_item in items)
        if "Gres" in nodeset.slurmd_conf and devices and not nodeset.resources.extended and not _claimed(nodeset.raw):
            yield at(f"nodesets.{name}.gres").warning(
                "names devices, but resources.extended asks Kubernetes for none: slurmd will see none. Set, for example,"
                " resources.extended: {nvidia.com/gpu: 8}. For what is only counted write in gres.conf a line with Name and"
                " Flags=CountOnly",
                id="gres-without-devices",
            )


def _claimed(raw: Raw) -> bool:
    """Whether pods have devices by a claim (Kubernetes' Dynamic Resource Allocation)."""
    resources = raw.container.get("resources")
    return isinstance(resources, Mapping) and bool(resources.get("claims"))


def _unseen(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """GPUs that no line of gres.conf names, and no AutoDetect of their vendor finds: an empty file, too, keeps this program
    and the operator from writing one. Where there is none, a release of the operator may write its own."""
    own = config.slurmctld.config_files.get(GRES_CONF)
    text = operators_gres_conf(config) if own is None else own
    if text is None or includes_another(text):
        return
    gpus = [record for record in records_of(text) if record.name == "gpu"]
    if any("nodename" in record.values and not _known_of(record, config) for record in gpus):
        return  # said of the line
    given = autodetects_of(text) - {"off"}
    for path in with_gpus(config):
        lines = [record for record in gpus if _is_for(record, path, config)]
        if any(line.file for line in lines) or (lines and not given):
            continue  # named, or said of the line already
        asked = sorted(autodetects(config, path)) or [""]
        if given and not all(autodetect and finds_others_alone(autodetect, given) for autodetect in asked):
            continue
        has = f"has AutoDetect={name_of(min(given))}, which finds none of" if given else "has no line for"
        has = f"is slurm-operator {config.operator_version}'s own: it {has}" if own is None else has
        yield at(_PATH).warning(
            f"{has} the GPUs of {path}: slurmd reports none, and slurmctld drains each such node. Write"
            f" {lines_for(config, path)}",
            id="gpus-without-gres-conf",
        )


def _is_for(record: Record, path: str, config: StackConfig) -> bool:
    """Whether a line is for nodes of a setting: for all of a NodeSet whose pods have the names of Kubernetes nodes."""
    kind, _, name = path.removesuffix(".gres").partition(".")
    if kind == "nodesets":
        return config.nodesets[name].on_each_node or _of_nodeset(record, name)
    hosts = {host.name for host in config.external.slurmd_hosts if path == f"{host.path}.config"}
    return "nodename" not in record.values or not hosts.isdisjoint(record.hosts)


def _nodesets(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Fewer devices than a NodeSet has in gres, or other types. What AutoDetect finds isn't known here."""
    text = config.slurmctld.config_files.get(GRES_CONF, "")
    if finds_devices(text):
        return
    records = records_of(text)
    for name, nodeset in config.nodesets.items():
        own = [record for record in records if _of_nodeset(record, name)]
        for kind in dict.fromkeys(gres_item.name for gres_item in gres.items(nodeset.slurmd_conf)):
            lines = [record for record in own if record.name == kind.lower()]
            if kind in gres.SHARED or not lines or not all(line.file and line.devices for line in lines):
                continue
            expected = [gres_item for gres_item in gres.items(nodeset.slurmd_conf) if gres_item.name == kind]
            yield from _differs(f"nodesets.{name}.gres", kind, expected, _per_type(lines, name))


def _shares(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Fewer shares than a node has in Gres: slurmd adds the rest as a second line without File, over which it ends
    (``_merge_gres2`` of gres.c, ``_build_shared_list`` of gres_c_s.c). Of what is only counted the rest is taken."""
    records = records_of(config.slurmctld.config_files.get(GRES_CONF, ""))
    for path, items in by_node(config).items():
        for kind in sorted({gres_item.name for gres_item in items} & gres.SHARED):
            lines = [record for record in records if record.name == kind and _is_for(record, path, config)]
            hosts = {host for line in lines for host in line.hosts}
            there = [sum(line.count for line in lines if not {host, ""}.isdisjoint(line.hosts)) for host in hosts]
            wanted = _sum([gres_item for gres_item in items if gres_item.name == kind])
            if there and min(there) < wanted:
                yield at(_PATH).error(
                    f"has {min(there)} of {kind} for a node of {path}, which has {wanted}: slurmd ends over the rest, and no"
                    f" job runs on such a node. Give lines with Name={kind} the sum {wanted} in Count"
                )


def _per_type(lines: list[Record], nodeset: str) -> Mapping[str, int]:
    """The most devices of each type that lines give one node of a NodeSet."""
    hosts = {host for line in lines for host in line.hosts if names.is_node_of(host, nodeset)} or {""}
    most: dict[str, int] = {}
    for host in hosts:
        counts: dict[str, int] = {}
        for line in lines:
            if "nodename" not in line.values or host in line.hosts:
                kind = line.values.get("type", "")
                counts[kind] = counts.get(kind, 0) + (line.devices or 0)
        most |= {kind: max(count, most.get(kind, 0)) for kind, count in counts.items()}
    return most


def _differs(path: str, name: str, expected: list[gres.GresItem], there: Mapping[str, int]) -> Iterator[Finding]:
    lacking = [gres_item.type for gres_item in expected if gres_item.type and gres_item.type not in there]
    if lacking and "" not in there:
        others = ", ".join(map(name_of, there))
        yield at(path).warning(
            f"has {name_of(name)} of type {name_of(lacking[0])}, and gres.conf has Type={others}: slurmctld tells capital"
            " letters apart, and drains the node over the other type. Give both the same",
            id="gres-conf-differs",
        )
    elif lacking and set(there) == {""}:
        yield at(path).warning(
            f"has {name_of(name)} of type {name_of(lacking[0])}, and gres.conf has no Type: slurmd reports none of that"
            f" type, and slurmctld drains the node. Add Type={name_of(lacking[0])} to the line",
            id="gres-conf-differs",
        )
    elif "" not in there and not any(gres_item.type for gres_item in expected):
        others = ", ".join(map(name_of, there))
        yield at(path).warning(
            f"has {name_of(name)} without a type, and gres.conf has Type={others}: slurmd passes over the type, and no job"
            f" can ask for it. Write {name_of(name)}:{name_of(next(iter(there)))}:{_sum(expected)} here, or leave Type out",
            id="slurm-ignores",
        )
    elif short := [row for row in _counts(name, expected, there) if row[1] > row[2]]:
        what, count, devices = short[0]
        yield at(path).warning(
            f"has {count} of {name_of(what)}, and gres.conf names {devices} in File: slurmctld drains the node, as slurmd"
            " reports fewer than it expects. Give both the same number",
            id="gres-conf-differs",
        )


def _counts(name: str, expected: list[gres.GresItem], there: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
    """What is expected of each type, and of all, beside what is there."""
    for kind in dict.fromkeys(gres_item.type for gres_item in expected if gres_item.type in there):
        of_kind = [gres_item for gres_item in expected if gres_item.type == kind]
        yield f"{name}:{kind}" if kind else name, _sum(of_kind), there[kind]
    yield name, _sum(expected), sum(there.values())


def _sum(items: list[gres.GresItem]) -> int:
    return sum(gres_item.count for gres_item in items)


RULES = (*rules_gres_conf.RULES, _without_devices, _unknown_nodes, _unseen, _nodesets, _shares)
