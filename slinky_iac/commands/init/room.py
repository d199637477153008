"""MaxNodeCount of a new stack: slurmctld's own where that holds its nodes and the stack's pods, else one that does. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slinky_iac.config.reading.load import examined
from slinky_iac.config.slurm.node_records import COUNT, NodeRecords, RecordedNode, node_records
from slinky_iac.releases import OPERATOR_MAX_NODE_COUNT
from slinky_iac.text import counted


def records(settings: Mapping[str, object], live: tuple[RecordedNode, ...] | None) -> NodeRecords | None:
    """What slurmctld must have room for; None where the settings can't be read, which `check` then says."""
    config, _ = examined(settings)
    return None if config is None else node_records(config, live or ())


def most(now: int, needed: NodeRecords | None) -> int:
    """cluster.maxNodeCount for a slurmctld with MaxNodeCount ``now``, 0 for none."""
    least = 0 if needed is None else needed.total
    return now if now and now >= least else max(OPERATOR_MAX_NODE_COUNT, least)


def hints(now: int, needed: NodeRecords | None, live: tuple[RecordedNode, ...] | None) -> Iterator[str]:
    """What to do in slurm.conf before the first `pulumi up`."""
    if needed is None:
        return
    number = most(now, needed)
    if number != now:
        yield (
            f"MaxNodeCount is {now or 'not set'}, and counts every node of the cluster:"
            f" {counted(needed.others, 'other node')} and {counted(needed.pods, 'pod')} of this stack. Pods beyond it could"
            f" not register. The file has cluster.maxNodeCount {number}: set MaxNodeCount={number} in slurm.conf (`slinky"
            " handoff` renders it) and restart slurmctld before `pulumi up`"
        )
    elif live is None:
        yield (
            f"MaxNodeCount is {now}, and counts every node of the cluster, which this output doesn't list. Count them on"
            f" slurmctld's host (`{COUNT}`): if they and {counted(needed.pods, 'pod')} are more than {now}, raise"
            " cluster.maxNodeCount, and MaxNodeCount in slurm.conf. `slinky preflight --via …` compares them"
        )
