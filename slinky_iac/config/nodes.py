"""The section nodes: one table that says the same of nodes to Kubernetes and to Slurm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from slinky_iac.config.base import Section
from slinky_iac.config.fields import Gres, SlurmName
from slinky_iac.config.topology import FILE, Topology, TopologyName, text_of
from slinky_iac.errors import HostlistError
from slinky_iac.hostlist import expand
from slinky_iac.names import ANNOTATION_TOPOLOGY

if TYPE_CHECKING:
    from slinky_iac.config.stack import StackConfig

LabelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$")]
LabelValue = Annotated[str, Field(pattern=r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$")]
SelectorName = Annotated[
    str, Field(pattern=r"^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$")
]
Prefix = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")]
FEATURE = "true"
"""Value of the label that a feature becomes."""


class NodeRow(Section):
    """Nodes, and what is so of them on both sides."""

    names: tuple[str, ...] = ()
    """Kubernetes nodes, as hostlists: worker-[1-8]. They get the labels, and a label for each feature."""
    selector: dict[SelectorName, LabelValue] = Field(default_factory=dict)
    """Kubernetes nodes that have all these labels when `pulumi up` runs, e.g. {node.kubernetes.io/instance-type: hpc}. Each
    preview and update asks the API server which they are."""
    nodesets: tuple[SlurmName, ...] = ()
    """NodeSets that have these features and GRES in Slurm. In a row with names or a selector their pods run on Kubernetes
    nodes with these labels only."""
    hosts: tuple[SlurmName, ...] = ()
    """Hosts of external.slurmdHosts. Their NodeName= lines get these features and GRES."""
    labels: dict[LabelName, LabelValue] = Field(default_factory=dict)
    """Labels of the Kubernetes nodes, each under `nodes.prefix`, e.g. {cuda: "12.6"}."""
    features: tuple[SlurmName, ...] = ()
    """Words that jobs ask for (sbatch -C). Each becomes a label `<prefix>/<word>: "true"` too, so that pods can."""
    gres: tuple[Gres, ...] = ()
    """Generic resources in Slurm, e.g. gpu:a100:8."""
    topology: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_.,:=-]+$")
    """Place in Slurm's topology, e.g. topo-switch:s1,topo-block:b1: an annotation of the Kubernetes nodes, which
    slurm-operator 1.1 and newer gives to slurmctld, and Topology= of the hosts' NodeName= lines. topology.yaml must have
    these units: `nodes.topologies` makes it so."""

    @property
    def on_kubernetes(self) -> bool:
        """Whether it means Kubernetes nodes."""
        return bool(self.names or self.selector)


class Nodes(Section):
    """One table of nodes for Kubernetes and Slurm."""

    prefix: Prefix = "slurm.slinky-iac"
    """Prefix of the labels. They are this stack's alone: one that somebody else has set is refused, never overwritten."""
    table: tuple[NodeRow, ...] = ()
    """Rows. A node, a host or a NodeSet may be in several, a NodeSet in one with names or without."""
    topologies: dict[TopologyName, Topology] = Field(default_factory=dict)
    """Slurm's topologies, by name. The stack makes topology.yaml from them and from the places of its nodes: a file of
    slurmctld in Kubernetes, or one for the external slurmctld's host."""


def labels_of(nodes: Nodes, row: NodeRow) -> dict[str, str]:
    """Labels of a row's Kubernetes nodes: its features, then its own."""
    own = dict.fromkeys(row.features, FEATURE) | dict(row.labels)
    return {f"{nodes.prefix}/{name}": value for name, value in own.items()}


def members(row: NodeRow) -> tuple[str, ...]:
    """Names of a row's Kubernetes nodes. Raises :class:`HostlistError`."""
    return tuple(dict.fromkeys(name for text in row.names for name in expand(text)))


def kubernetes_rows(nodes: Nodes) -> list[dict[str, Any]]:
    """Rows that mean Kubernetes nodes, as props: which nodes, and what they get."""
    return [_row(nodes, row) for row in nodes.table if row.on_kubernetes]


def named_nodes(nodes: Nodes) -> tuple[str, ...]:
    """Kubernetes nodes that the table names; none where a selector may mean any."""
    if any(row.selector for row in nodes.table):
        return ()
    return tuple(sorted({node for row in nodes.table for node in members(row)}))


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
        return str(error)
    return ""


def applied(config: StackConfig) -> StackConfig:
    """The configuration with the table carried over to NodeSets and external hosts, so that all that is made from them,
    and all that is said of them, has it."""
    return _with_file(_with_table(config))


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
        wanted = labels_of(nodes, row)
        for name in row.nodesets:
            if name in nodesets:
                each = nodesets[name]
                selector = {**each.pod.node_selector, **(wanted if row.on_kubernetes else {})}
                changes = {
                    "features": _joined(each.features, row.features),
                    "gres": _joined(each.gres, row.gres),
                    "pod": each.pod.model_copy(update={"node_selector": selector}),
                }
                nodesets[name] = each.model_copy(update=changes)
        hosts = [
            host.model_copy(update={"config": _line(host.config, row)}) if host.name in row.hosts else host for host in hosts
        ]
    external = config.external.model_copy(update={"slurmd_hosts": tuple(hosts)})
    return config.model_copy(update={"nodesets": nodesets, "external": external})


def _joined(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _line(conf: Mapping[str, str], row: NodeRow) -> dict[str, str]:
    """Parameters of a NodeName= line with a row's words after those that it has; slurm.conf takes Feature and Features."""
    found = dict(conf)
    for names, words in ((("features", "feature"), row.features), (("gres",), row.gres)):
        if words:
            key = next((key for key in found if key.lower() in names), names[0].capitalize())
            found[key] = ",".join(_joined((text for text in found.get(key, "").split(",") if text), words))
    if row.topology is not None:
        key = next((key for key in found if key.lower() == "topology"), "Topology")
        found[key] = row.topology
    return found
