"""The node table: what its rows say of Kubernetes nodes, NodeSets and hosts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import HostlistError
from slinky_iac.hostlist import expand
from slinky_iac.names import ANNOTATION_TOPOLOGY
from slinky_iac.parts.node_table.settings import NodeRow, Nodes
from slinky_iac.parts.node_table.topology import FILE, text_of

FEATURE = "true"
"""Value of the label that a feature becomes."""


def labels_of(nodes: Nodes, row: NodeRow) -> dict[str, str]:
    """Labels of a row's Kubernetes nodes: its features, then its own."""
    own = dict.fromkeys(row.features, FEATURE) | dict(row.labels)
    return {f"{nodes.prefix}/{name}": value for name, value in own.items()}


def kubernetes_rows(nodes: Nodes) -> list[dict[str, Any]]:
    """Rows that mean Kubernetes nodes, as props: which nodes, and what they get."""
    return [_row(nodes, row) for row in nodes.table if row.on_kubernetes]


def _row(nodes: Nodes, row: NodeRow) -> dict[str, Any]:
    return {
        "names": list(row.names),
        "selector": dict(row.selector),
        "labels": labels_of(nodes, row),
        "annotations": {ANNOTATION_TOPOLOGY: row.topology} if row.topology is not None else {},
    }


def fault(text: str) -> str:
    """Why a hostlist can't be read; ``""`` where it can."""
    try:
        expand(text)
    except HostlistError as error:
        return error.why
    return ""


def applied(config: StackConfig) -> StackConfig:
    """The configuration with the table carried over to NodeSets and external hosts, so that all that is made from them,
    and all that is said of them, has it."""
    return _with_file(_with_table(config.model_copy(update={"nodes": config.nodes.expanded()})))


def _with_file(config: StackConfig) -> StackConfig:
    """topology.yaml for slurmctld in Kubernetes; a file of the user's own stays, and a rule names it."""
    files = config.controller.config_files
    text = text_of(config)
    if not text or not config.slurmctld.owns_conf or FILE in {name.lower() for name in files}:
        return config
    controller = config.controller.model_copy(update={"config_files": {**files, FILE: text}})
    return config.model_copy(update={"controller": controller})


def _with_table(config: StackConfig) -> StackConfig:
    nodes = config.nodes
    if not nodes.table:
        return config
    nodesets = dict(config.nodesets)
    hosts = list(config.external.slurmd_hosts)
    for row in nodes.table:
        wanted, of_row = labels_of(nodes, row), frozenset(row.hosts)
        for name in row.nodesets:
            if name in nodesets:
                nodeset = nodesets[name]
                selector = {**nodeset.pod.node_selector, **(wanted if row.on_kubernetes else {})}
                changes = {
                    "features": _joined(nodeset.features, row.features),
                    "gres": _joined(nodeset.gres, row.gres),
                    "pod": nodeset.pod.model_copy(update={"node_selector": selector}),
                }
                nodesets[name] = nodeset.model_copy(update=changes)
        hosts = [
            host.model_copy(update={"config": _line(host.config, row)}) if host.name in of_row else host for host in hosts
        ]
    external = config.external.model_copy(update={"slurmd_hosts": tuple(hosts)})
    return config.model_copy(update={"nodesets": nodesets, "external": external})


def _joined(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _line(conf: Mapping[str, str], row: NodeRow) -> dict[str, str]:
    """Parameters of a NodeName= line with a row's words after those that it has; slurm.conf takes Feature and Features."""
    parameters = dict(conf)
    for names, words in ((("features", "feature"), row.features), (("gres",), row.gres)):
        if words:
            key = next((key for key in parameters if key.lower() in names), names[0].capitalize())
            parameters[key] = ",".join(_joined((text for text in parameters.get(key, "").split(",") if text), words))
    if row.topology is not None:
        key = next((key for key in parameters if key.lower() == "topology"), "Topology")
        parameters[key] = row.topology
    return parameters
