"""The section nodes: one table that says the same of nodes to Kubernetes and to Slurm, and Slurm's topologies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from slinky_iac.config.base import Section
from slinky_iac.config.fields import Gres, NodeName, NodeNames
from slinky_iac.config.outputs import COUNTED, IN_NAMES
from slinky_iac.hostlist import expand

LabelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$")]
LabelValue = Annotated[str, Field(pattern=r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$")]
SelectorName = Annotated[
    str, Field(pattern=r"^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$")
]
Prefix = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")]
"""Names and values of labels follow Kubernetes (``IsQualifiedName``, ``IsValidLabelValue`` and ``IsDNS1123Subdomain`` of
apimachinery's validation.go)."""
TopologyName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
UnitName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
"""A switch or a block, at most HOST_NAME_MAX long (``_parse_switches`` of topology/tree/switch_record.c). Where a node has
its place, ``:`` and ``,`` part the units (``topology_g_add_rm_node`` of interfaces/topology.c), so that no name has them."""
BlockSize = Annotated[int, Field(ge=1)]


class BlockTopology(Section):
    """Blocks of nodes (topology/block)."""

    takes_none: ClassVar[Mapping[str, str]] = {"blocks.*": COUNTED}

    block_sizes: tuple[BlockSize, ...] = Field(min_length=1)
    """Nodes of a block, then those of the groups of blocks above it: each is the first one times a power of two, e.g.
    [4, 16]."""
    blocks: tuple[str, ...] = ()
    """Blocks in their order, as hostlists: b[1-4]. By default those that nodes have a place in."""


class Topology(Section):
    """One topology of topology.yaml: a tree, blocks, or none (flat)."""

    takes_none: ClassVar[Mapping[str, str]] = {"tree.**": COUNTED}

    default: bool = False
    """Holds for partitions that name no topology. One of several must have it."""
    tree: dict[UnitName, tuple[str, ...]] | None = None
    """Switches (topology/tree): those above others, each with the switches below it as hostlists, e.g. {core: ["s[1-2]"]};
    nodes are below the lowest. {} takes the switches that nodes have a place in, and what is above them from places such as
    topo-switch:core:s1."""
    block: BlockTopology | None = None
    """Blocks (topology/block)."""
    flat: bool = False
    """All nodes alike (topology/flat)."""


class NodeRow(Section):
    """Nodes, and what is so of them on both sides."""

    takes_none: ClassVar[Mapping[str, str]] = {
        "names.*": COUNTED,
        "selector.**": COUNTED,
        "nodesets.*": COUNTED,
        "hosts.*": COUNTED,
        "labels.**": COUNTED,
        "features.*": COUNTED,
        "gres.*": COUNTED,
        "topology": COUNTED,
    }

    names: tuple[str, ...] = ()
    """Kubernetes nodes, as hostlists: worker-[1-8]. They get the labels, and a label for each feature."""
    selector: dict[SelectorName, LabelValue] = Field(default_factory=dict)
    """Kubernetes nodes that have all these labels when `pulumi up` runs, e.g. {node.kubernetes.io/instance-type: hpc}. Each
    preview and update asks the API server which they are."""
    nodesets: tuple[NodeName, ...] = ()
    """NodeSets that have these features and GRES in Slurm. In a row with names or a selector their pods run on Kubernetes
    nodes with these labels only."""
    hosts: tuple[NodeNames, ...] = ()
    """Hosts of external.slurmdHosts, as hostlists: metal-[001-500]. Their NodeName= lines get these features and GRES."""
    labels: dict[LabelName, LabelValue] = Field(default_factory=dict)
    """Labels of the Kubernetes nodes, each under `nodes.prefix`, e.g. {cuda: "12.6"}."""
    features: tuple[NodeName, ...] = ()
    """Words that jobs ask for (sbatch -C). Each becomes a label `<prefix>/<word>: "true"` too, so that pods can; a word that
    no label can have goes to `features` of its NodeSet."""
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

    @property
    def members(self) -> tuple[str, ...]:
        """Names of its Kubernetes nodes. Raises :class:`slinky_iac.errors.HostlistError`."""
        return tuple(dict.fromkeys(name for text in self.names for name in expand(text)))


class Nodes(Section):
    """One table of nodes for Kubernetes and Slurm."""

    finding_ids: ClassVar[Mapping[str, str]] = {
        "outside-topology": "Hosts of the node table have a place in Slurm's topology. topology.yaml beside the outside"
        " slurm.conf must have its units before slurmctld reads the hosts' lines, or it refuses its whole file. With"
        " `nodes.topologies`, `pulumi stack output outsideTopology` prints it ([node-table.md](node-table.md)).",
        "topology-of-nodeset": "A NodeSet's extraConf has Topology, which slurm-operator 1.1 and newer removes again. Give"
        " the Kubernetes nodes a place instead ([node-table.md](node-table.md#topology)).",
        "topology-without-place": "Nodes have no place in the default topology, so slurmctld gives them jobs of one node"
        " only ([node-table.md](node-table.md#topology)).",
    }
    takes_none: ClassVar[Mapping[str, str]] = {"prefix": IN_NAMES}

    prefix: Prefix = "slurm.slinky-iac"
    """Prefix of the labels. They are this stack's alone: one that somebody else has set is refused, never overwritten."""
    table: tuple[NodeRow, ...] = ()
    """Rows. A node, a host or a NodeSet may be in several, a NodeSet in one with names or without."""
    topologies: dict[TopologyName, Topology] = Field(default_factory=dict)
    """Slurm's topologies, by name. The stack makes topology.yaml from them and from the places of its nodes: a file of
    slurmctld in Kubernetes, or one for the external slurmctld's host."""

    @property
    def named(self) -> tuple[str, ...]:
        """Kubernetes nodes that the table names; none where a selector may mean any."""
        if any(row.selector for row in self.table):
            return ()
        return tuple(sorted({node for row in self.table for node in row.members}))

    def expanded(self) -> Nodes:
        """The same with each host of a row's hostlists by its own name, as `external.slurmdHosts` has them."""
        rows = (
            row.model_copy(update={"hosts": tuple(dict.fromkeys(name for text in row.hosts for name in expand(text)))})
            for row in self.table
        )
        return self.model_copy(update={"table": tuple(rows)})
