"""Rules of topology.conf, topology.yaml and the partitions that name a topology: slurmctld ends over each at its start.

All of it was run on slurmctld 26.05.5. Source: ``switch_record_validate``, ``block_record_validate``, ``_read_topo_file``,
``TOPOLOGY_CONF`` of the data parser, topology.yaml(5).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from slinky_iac import names, safe_yaml
from slinky_iac.config.findings import Finding, Setting, at
from slinky_iac.config.partitions import partition_parameters
from slinky_iac.config.rules.slurm_files import UNITS, rows_of
from slinky_iac.config.rules.yaml_files import unread
from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm import words as slurm_words
from slinky_iac.config.slurm.refusals import Conf, spelt
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import HostlistError
from slinky_iac.hostlist import expand
from slinky_iac.text import some

_CONF: Final = "topology.conf"
_YAML: Final = "topology.yaml"
_OF_ANY: Final = frozenset({"cluster_default", "topology"})
"""Names of a topology beside the one of its kind."""
_WITH_NODES: Final = {"tree": ("switches", "switch"), "block": ("blocks", "block"), "ring": ("rings", "ring")}
"""Kinds of topology.yaml: the list of their units, and what names one."""
_ENDS: Final = "slurmctld ends over it at its start"
_STARTS: Final = "At its start slurmctld ends over another"
_MOST_LEVELS: Final = 16
_SIZE: Final = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class Unit:
    """A switch or a block."""

    name: str
    nodes: str = ""
    children: str = ""


def _names(text: str) -> tuple[str, ...] | None:
    """The names that a hostlist stands for; None where it is none."""
    try:
        return expand(text)
    except HostlistError:
        return None


def _of_both(kind: str, units: list[Unit]) -> Iterator[str]:
    """What is wrong with switches and blocks alike."""
    if any(not unit.name for unit in units):
        yield f"has a {kind} without a name"
    twice = [name for name, times in Counter(unit.name for unit in units).items() if times > 1 and name]
    if twice:
        yield f"has {kind} {name_of(twice[0])} twice"
    for unit in units:
        if unit.nodes and _names(unit.nodes) is None:
            yield f"has {kind} {name_of(unit.name)}, whose nodes aren't a hostlist"


def _of_switches(units: list[Unit]) -> Iterator[str]:
    yield from _of_both("switch", units)
    below: dict[str, tuple[str, ...]] = {}
    known = {unit.name for unit in units}
    for unit in units:
        children = _names(unit.children) if unit.children and not unit.nodes else ()
        if children is None:
            yield f"has switch {name_of(unit.name)}, whose children aren't a hostlist"
        elif lost := [child for child in children if child not in known or child == unit.name]:
            yield f"has switch {name_of(unit.name)} with {name_of(lost[0])} below it, which is no other switch of the file"
        else:
            below[unit.name] = children
    if _turns(below):
        yield "has switches that are below one another"


def _turns(below: Mapping[str, Iterable[str]]) -> bool:
    """Whether a way down leads back to where it began."""
    left = {name: set(children) & below.keys() for name, children in below.items()}
    while ends := [name for name, children in left.items() if not children]:
        left = {name: children.difference(ends) for name, children in left.items() if name not in ends}
    return bool(left)


def _of_blocks(units: list[Unit], sizes: Sequence[object] | None, hosts: frozenset[str]) -> Iterator[str]:
    yield from _of_both("block", units)
    if sizes is None:
        if not any(hosts.intersection(_names(unit.nodes) or ()) for unit in units):
            yield (
                "has no block sizes, and slurmctld takes the number of nodes of the first block, which is 0 until pods"
                " register: set BlockSizes (in topology.yaml block_sizes)"
            )
        return
    whole = [size for size in sizes if isinstance(size, int) and not isinstance(size, bool) and size > 0]
    if len(whole) != len(sizes) or not all(_fits(size, whole[0]) for size in whole):
        yield "has block sizes that aren't numbers above 0, each the first one times 1, 2, 4, 8 and so on"


def _fits(size: int, first: int) -> bool:
    times, rest = divmod(size, first)
    return not rest and times > 0 and times & (times - 1) == 0 and times < 1 << _MOST_LEVELS


def _said(path: Setting, faults: Iterable[str]) -> Iterator[Finding]:
    for fault in faults:
        yield path.error(f"{fault}: {_ENDS}. See topology.yaml(5) and topology.conf(5)")


def _hosts(config: StackConfig) -> frozenset[str]:
    return frozenset(host.name for host in config.external.slurmd_hosts)


def _conf(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """topology.conf, which is read where there is no topology.yaml."""
    files = config.slurmctld.config_files
    plugin = Conf(config.slurmctld.extra_conf).plugin("TopologyPlugin")
    if _CONF not in files or _YAML in files or plugin not in UNITS:
        return
    rows = [row for _, row in rows_of(files[_CONF])]
    where = at(f"controller.configFiles.{_CONF}")
    if plugin == "tree":
        units = [Unit(r["switchname"], r.get("nodes", ""), r.get("switches", "")) for r in rows if "switchname" in r]
        both = [unit.name for unit in units if unit.nodes and unit.children]
        faults = [f"has switch {name_of(switch)} with nodes and switches" for switch in both] or list(_of_switches(units))
    elif plugin == "ring":
        units = [Unit(r["ringname"], r.get("nodes", "")) for r in rows if "ringname" in r]
        faults = list(_of_both("ring", units))
    else:
        units = [Unit(r["blockname"], r.get("nodes", "")) for r in rows if "blockname" in r]
        texts = next((r["blocksizes"].split(",") for r in rows if "blocksizes" in r), None)
        sizes = None if texts is None else [int(text) if _SIZE.fullmatch(text) else 0 for text in texts]
        faults = list(_of_blocks(units, sizes, _hosts(config))) if units else []
    yield from _said(where, faults)


def _yaml(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    text = config.slurmctld.config_files.get(_YAML)
    if text is None:
        return
    path = at(f"controller.configFiles.{_YAML}")
    try:
        document = safe_yaml.read(text)
    except safe_yaml.NotYamlError as wrong:
        yield from _said(path, [str(wrong)])
        return
    entries = [document] if isinstance(document, Mapping) else document
    if not isinstance(entries, list) or not entries or not all(isinstance(topology, Mapping) for topology in entries):
        words = "isn't a list of topologies, each with topology: NAME and what it is, as `- {topology: t1, flat: true}`"
        yield from _said(path, [words])
        return
    yield from _said(path, _of_topologies(entries, _hosts(config), slurm_words.objects(config.slurm_release, _YAML)))
    for said in (*unread(entries, config.slurm_release, _YAML), *_twice(entries)):
        yield path.error(f"{said} (topology.yaml(5))")


def _entries(text: str) -> list[Mapping[str, Any]] | None:
    """What topology.yaml has of topologies; None where it can't be read, which is said of the file."""
    try:
        document = safe_yaml.read(text)
    except safe_yaml.NotYamlError:
        return None
    return [
        topology for topology in (document if isinstance(document, list) else [document]) if isinstance(topology, Mapping)
    ]


def _unread_plugin(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Where there is topology.yaml slurmctld asks TopologyPlugin no more (``topology_g_init``)."""
    own = config.slurmctld.extra_conf
    plugin = Conf(own).plugin("TopologyPlugin")
    kinds = {key for topology in _entries(config.slurmctld.config_files.get(_YAML, "")) or () for key in topology} - _OF_ANY
    if plugin and kinds and plugin not in kinds:
        yield at(f"controller.extraConf.{spelt(own, 'TopologyPlugin')}").warning(
            f"has no effect: topology.yaml is there, which says {', '.join(sorted(map(name_of, kinds)))}, and slurmctld goes"
            " by it alone. Remove it, or write the file for this plugin",
            id="slurm-ignores",
        )


def _twice(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What slurmctld takes without a word, and does otherwise than the file says (run)."""
    names = Counter(str(topology["topology"]) for topology in entries if "topology" in topology)
    for name in (name for name, times in names.items() if times > 1):
        yield f"has topology {name_of(name)} twice, and a partition that names it gets one of them. Rename the other"
    if sum(topology.get("cluster_default") is True for topology in entries) > 1:
        yield "has cluster_default: true in two topologies, and one is the default. Keep it in that one"


def _of_topologies(
    entries: Sequence[Mapping[str, Any]], hosts: frozenset[str], objects: Mapping[str, frozenset[str]]
) -> Iterator[str]:
    """What is wrong with topology.yaml. One topology may stand without a list around it."""
    known = sorted(objects[""] - _OF_ANY)
    for topology in entries:
        kinds = [kind for kind in known if topology.get(kind)]
        if len(kinds) != 1:
            yield f"has a topology with {' and '.join(kinds) or 'none'} of {', '.join(known)}: each has one"
            continue
        inner = topology[kinds[0]]
        if kinds[0] == "tree":
            units = _units(inner, "switches", "switch")
            yield from _of_switches(units) if units else ["has a tree without switches"]
        elif kinds[0] == "block":
            units = _units(inner, "blocks", "block")
            sizes = inner.get("block_sizes") if isinstance(inner, Mapping) else None
            given = sizes if isinstance(sizes, list) and sizes else None
            yield from _of_blocks(units, given, hosts) if units else ["has a block topology without blocks"]
        elif kinds[0] == "ring":
            units = _units(inner, "rings", "ring")
            yield from _of_both("ring", units) if units else ["has a ring topology without rings"]
        elif kinds[0] == "torus3d":
            units = _units(inner, "toruses", "name")
            yield from [*_of_both("torus", units), *_of_toruses(inner)] if units else ["has a torus3d without toruses"]
        elif isinstance(inner, Mapping) and "flat" not in objects:
            yield "has flat with settings, where this release of Slurm takes flat: true alone"


def _of_toruses(inner: Mapping[str, Any]) -> Iterator[str]:
    """Sizes above 0, whose product is the number of nodes (``_validate_torus3d_config``)."""
    for torus in inner["toruses"]:
        dims = torus.get("dims") if isinstance(torus, Mapping) else None
        sizes = [dims.get(axis) for axis in "xyz"] if isinstance(dims, Mapping) else []
        whole = [size for size in sizes if isinstance(size, int) and not isinstance(size, bool) and size > 0]
        if len(whole) != len("xyz"):
            yield "has a torus without dims: {x: …, y: …, z: …}, numbers above 0"
            continue
        nodes = _names(_text(torus.get("nodes")))
        if nodes and torus.get("regions"):
            yield "has a torus with nodes and regions, of which it has one"
        elif nodes and len(nodes) != prod(whole):
            yield f"has a torus of {len(nodes)} nodes whose dims make {prod(whole)}"


def _units(value: object, word: str, name: str) -> list[Unit]:
    listed: Any = value.get(word) if isinstance(value, Mapping) else None
    rows = [row for row in listed if isinstance(row, Mapping)] if isinstance(listed, list) else []
    return [Unit(*(_text(row.get(key)) for key in (name, "nodes", "children"))) for row in rows]


def _text(value: object) -> str:
    """A name or a hostlist. What is neither isn't a hostlist."""
    return (
        "" if value is None else value if isinstance(value, str) else "[" if isinstance(value, list | dict) else str(value)
    )


def _named(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Topology of a partition or a host is a name of topology.yaml; without that file the only one is `default`."""
    if not config.slurmctld.owns_conf:
        return
    text = config.slurmctld.config_files.get(_YAML)
    entries = [{"topology": "default"}] if text is None else _entries(text)
    if entries is None:
        return
    known = {str(topology["topology"]) for topology in entries if "topology" in topology}
    lines = {**partition_parameters(config)} | {f"{host.path}.config": host.config for host in config.external.slurmd_hosts}
    for path, parameters in lines.items():
        for key, value in parameters.items():  # a node's has units behind each name: t1:s1,t2:b3
            named = {place.partition(":")[0] for place in value.split(",")} if "slurmdHosts" in path else {value}
            if key.lower() == "topology" and not named <= known:
                yield at(f"{path}.{key}").error(
                    f"names {name_of(value)}, and the topologies are: {', '.join(sorted(map(name_of, known))) or 'none'}."
                    f" {_STARTS}. Give one of these, or add it to topology.yaml in controller.configFiles"
                )


def _topologies(config: StackConfig) -> Iterator[tuple[str, list[Unit]]]:
    """The file and the units with nodes of each topology that slurmctld reads."""
    files = config.slurmctld.config_files
    plugin = Conf(config.slurmctld.extra_conf).plugin("TopologyPlugin")
    if _YAML in files:
        for topology in _entries(files[_YAML]) or ():
            yield from ((_YAML, _units(topology.get(kind), word, name)) for kind, (word, name) in _WITH_NODES.items())
    elif _CONF in files and plugin in UNITS:
        rows = [row for _, row in rows_of(files[_CONF])]
        head = UNITS[plugin].lower()
        yield _CONF, [Unit(row[head], row.get("nodes", "")) for row in rows if head in row]


def _members(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Nodes that are none of the stack's, and nodes in two switches or blocks: slurmctld takes both (run)."""
    hosts = _hosts(config)
    any_name = any(nodeset.on_each_node for nodeset in config.nodesets.values())
    for file, units in _topologies(config):
        path, where, told = at(f"controller.configFiles.{file}"), dict[str, str](), set[tuple[str, str]]()
        for unit in units:
            named = dict.fromkeys(_names(unit.nodes) or ()) if unit.nodes.lower() != "all" else {}
            lost = [
                n for n in named if n not in hosts and not any(names.is_node_of(n, nodeset) for nodeset in config.nodesets)
            ]
            if lost and not any_name:
                yield path.warning(
                    f"has {some(map(name_of, lost), 1)} in {name_of(unit.name)},"
                    " and no node of the stack has such a name: slurmctld passes over it, with a line in its log. Correct"
                    " the name, or remove it",
                    id="slurm-ignores",
                )
            for node in named:
                both = (where.setdefault(node, unit.name), unit.name)
                if both[0] != both[1] and both not in told:
                    told.add(both)
                    yield path.warning(
                        f"has {name_of(node)} in {name_of(both[0])} and in {name_of(both[1])}: a node is in one, and"
                        " slurmctld takes it for a member of each, with a line in its log at most. Remove it from one",
                        id="slurm-ignores",
                    )


RULES = (_conf, _yaml, _unread_plugin, _named, _members)
