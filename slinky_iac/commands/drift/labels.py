"""Labels and annotations of the node table, and places in Slurm's topology, as the stack gives them, against those of the
nodes as they are. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac.config.slurm.places import places_of
from slinky_iac.kube.machines import Machine
from slinky_iac.names import ANNOTATION_TOPOLOGY
from slinky_iac.node_table.plan import Plan, TableSettings, values
from slinky_iac.slurmrest.objects import Node

VERBS: Final = {"labels": "label", "annotations": "annotate"}
"""kubectl's command for each."""


@dataclass(frozen=True)
class Labelled:
    """What the last update has set on Kubernetes nodes."""

    manager: str = ""
    nodes: Plan = field(default_factory=dict)


def labelled(props: Mapping[str, Any]) -> Labelled:
    """By the outputs of the table's resource."""
    nodes = {str(node): values(own) for node, own in (props.get("nodes") or {}).items()}
    return Labelled(TableSettings.from_props(props).manager, nodes)


def differences(wanted: Labelled, live: Mapping[str, Machine]) -> Iterable[tuple[str, str]]:
    """Node and text of each difference."""
    for node, own in wanted.nodes.items():
        machine = live.get(node)
        if machine is None:
            yield (
                node,
                f"Kubernetes has no node {node}, which the node table names: `pulumi up` drops it, or correct the table",
            )
            continue
        for (part, key), value in own.items():
            if text := _difference(machine, wanted.manager, part, key, value):
                yield node, text
    yield from _strays(wanted, live)


def _difference(machine: Machine, manager: str, part: str, key: str, value: str) -> str:
    node, what = machine.metadata.name, part.removesuffix("s")
    got = getattr(machine.metadata, part).get(key)
    others = ", ".join(each for each in machine.setters(part, key) if each != manager)
    if got is None:
        return f"{what} {key} of {node} is gone, which the node table sets to {value!r}: `pulumi up --refresh` sets it again"
    if got != value:
        return (
            f"{what} {key} of {node} is {got!r}, and the node table says {value!r}: set by {others or 'an unknown manager'}."
            f" The stack never takes it over. Remove it (`kubectl {VERBS[part]} node {node} {key}-`) and run `pulumi up"
            " --refresh`, or take it out of the table"
        )
    if others:
        return f"{what} {key} of {node} belongs to {others} too: it stays when this stack removes it. Let one of both set it"
    return ""


def _strays(wanted: Labelled, live: Mapping[str, Machine]) -> Iterable[tuple[str, str]]:
    """Nodes with a word of the table that the table doesn't give them: pods would go there, and jobs wouldn't."""
    words = {(key, value) for own in wanted.nodes.values() for (part, key), value in own.items() if part == "labels"}
    for node, machine in live.items():
        own = wanted.nodes.get(node, {})
        for key, value in sorted(words & set(machine.metadata.labels.items())):
            if ("labels", key) not in own:
                setters = ", ".join(machine.setters("labels", key)) or "an unknown manager"
                yield (
                    node,
                    f"label {key}={value} of {node} was set by {setters}, and the node table has no such row: pods that"
                    " select it run there, and Slurm knows nothing of it. Add the node to the row, or remove the label",
                )


_LINE: Final = re.compile(r"^\s*NodeName=(\S+)\s(?:.*\s)?Topology=(\S+)", re.IGNORECASE | re.MULTILINE)
_OPTION: Final = re.compile(r"(?:^|\s)Topology=(\S+)", re.IGNORECASE)


def places_of_hosts(text: str) -> dict[str, str]:
    """Places of hosts by their NodeName= lines."""
    return dict(_LINE.findall(text))


def place_of_nodeset(extra_conf: str) -> str:
    """The place that a NodeSet's slurmd registers with; empty for none."""
    found = _OPTION.search(extra_conf)
    return found[1] if found else ""


def place_on_machine(nodes: Plan, machine: str) -> str:
    """The place that the node table gives a Kubernetes node, and slurm-operator its pod; empty for none."""
    return nodes.get(machine, {}).get(("annotations", ANNOTATION_TOPOLOGY), "")


def _where(text: str) -> Mapping[str, str]:
    """Unit by topology; the way to it is not compared, since slurmctld knows it from its file."""
    return {place.topology: place.units[-1] if place.units else "" for place in places_of(text)}


def misplaced(node: Node, wanted: str, *, by_nodeset: bool = False) -> str:
    """What differs; empty where nothing does, and where this slurmrestd doesn't tell (before Slurm 25.05).

    ``by_nodeset``: its NodeSet's extraConf gives the place.
    """
    if not wanted or node.topology is None or _where(node.topology) == _where(wanted):
        return ""
    got = f"at {node.topology}" if node.topology else "at no place"
    lasts = (
        ". slurm-operator 1.1 and newer remove a place that extraConf gives: there, give the Kubernetes nodes a row of"
        " nodes.table with topology instead"
        if by_nodeset
        else ""
    )
    return (
        f"slurmctld has {node.name} {got} in its topology, and the stack at {wanted}: jobs of several nodes are placed by"
        " the wrong switch or block, or refused. slurmctld drains a pod's node that registers with a unit that it lacks:"
        " give slurmctld the units (`pulumi stack output outsideTopology`, where it is external), then `scontrol"
        f" reconfigure`, and `scontrol update nodename={node.name} topology={wanted}`{lasts}"
    )
