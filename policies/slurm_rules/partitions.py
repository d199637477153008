"""Numbers and names that slurmctld checks when it is too late: node count, partitions, references."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurm_rules.cluster import DEFAULT_MAX_NODE_COUNT, belonging_to, is_external, most_nodes, slurm_conf, slurm_name
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, rule, slinky
from slurm_rules.slurm_conf import MAXIMUM_NODES, lines, nodes, settings, split_list

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NAMED = 20
"""Of the nodes that there are, in a message."""
_EXPANDED = 16 * MAXIMUM_NODES
"""Names of nodes in all partitions together, the same expression once; one after these counts as a node that isn't there."""


@rule("max-node-count", slinky("Controller"))
def max_node_count(controller: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """All nodes of a cluster together, autoscalers at their maximum, are no more than MaxNodeCount.

    Why: slurmctld refuses to register a dynamic node beyond MaxNodeCount. The pods run, cost money and never get a job.

    Source: slurm.conf(5) MaxNodeCount; slurm-operator controller_config.go writes 1024.

    Do: raise cluster.maxNodeCount (in an outside slurm.conf too; slurmctld must be restarted), or lower replicas.

    Level: mandatory, since nodes above the number never come up.
    """
    conf = slurm_conf(controller, stack) or ""
    given = settings(conf).get("maxnodecount", "")
    if not given and is_external(controller):
        return  # cluster-complete says so
    allowed = int(given) if given.isdigit() else DEFAULT_MAX_NODE_COUNT
    metal = len(nodes(conf))
    pods = sum(most_nodes(nodeset, stack) for nodeset in belonging_to(controller, stack, "NodeSet"))
    if pods + metal > allowed:
        yield (
            f"{controller.label}: its NodeSets may have {pods:g} pods and there are {metal} outside hosts; MaxNodeCount is"
            f" {allowed}, and slurmctld refuses the rest"
        )


@rule("partition-references", slinky("Controller"))
def partition_references(controller: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """Partitions have one name each and hold only nodes that exist.

    Why: slurmctld refuses its whole configuration over one partition with an unknown node or a second one of the same name,
    and at its next restart it doesn't come up.

    Source: slurm.conf(5) PartitionName, Nodes, NodeSet; Slinky hybrid guide (lines that an outside slurm.conf must hold).

    Do: name NodeSets of this cluster, its outside hosts, or ALL; rename one of two partitions.

    Level: mandatory, since slurmctld stays down with all its jobs.
    """
    conf = slurm_conf(controller, stack) or ""
    sets = list(belonging_to(controller, stack, "NodeSet"))
    known = {"ALL", *(slurm_name(nodeset) for nodeset in sets), *nodes(conf)}
    known |= {line.value for line in lines(conf) if line.first == "nodeset"}
    there = ", ".join(sorted(known)[:_NAMED]) + (f" and {len(known) - _NAMED} more" if len(known) > _NAMED else "")
    good: set[str] = set()
    expanded = 0
    seen = [slurm_name(n) for n in sets if n.get("spec", "partition", "enabled") is True and not is_external(controller)]
    for line in lines(conf):
        if line.first != "partitionname" or line.value.upper() == "DEFAULT":
            continue
        if line.value in seen:
            yield f"{controller.label}: there are two partitions {line.value}; rename one"
        if not _NAME.fullmatch(line.value):
            yield f"{controller.label}: {line.value!r} is no name of a partition"
        seen.append(line.value)
        for member in split_list(line.get("nodes")):
            if member in known or member in good:
                continue
            names = nodes(f"NodeName={member}") if expanded <= _EXPANDED else [member]
            expanded += len(names)
            if known.issuperset(names):
                good.add(member)
            else:
                yield (
                    f"{controller.label}: partition {line.value} names {member}, which is no NodeSet and no outside host"
                    f" (there are {there})"
                )
