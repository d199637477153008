"""Jobs as slurm.conf sees them: which partitions and nodes each names, whether it runs, waits or is only remembered.

slurmctld reads its jobs again with every new slurm.conf (``_sync_jobs_to_conf``, 25.11 and 26.05). A job ends NODE_FAIL,
without requeue, where it runs in a partition that is gone, where it waits and none of its partitions is left, and where
its ``--nodelist`` names a node that is gone, wherever it runs.

Whether a job that waits could run on what is left is judged by partition, number of nodes and plain features alone. What
else it asks for (CPUs, memory, GRES, brackets and counts of features) may keep it waiting too, and is not claimed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from slinky_iac.drain.text import jobs_in_words
from slinky_iac.slurmrest.objects import Job, Node


def tied_to(jobs: Iterable[Job], leaving: Collection[str]) -> dict[str, tuple[Job, ...]]:
    """Jobs by the name of each node that leaves and that their ``--nodelist`` names, running or waiting.

    A job that is on the node anyway is not among them. One whose list can't be read is tied to every node.
    """
    found: dict[str, list[Job]] = {}
    going = set(leaving)
    for each in jobs:
        if each.over:
            continue
        named = going if each.required is None else going.intersection(each.required)
        for node in named.difference(each.node_names):
            found.setdefault(node, []).append(each)
    return {node: tuple(there) for node, there in found.items()}


def tied_in_words(tied: Mapping[str, tuple[Job, ...]]) -> tuple[str, ...]:
    """A sentence for each node that is named by jobs elsewhere or in the queue."""
    return tuple(
        f"{node} is named by --nodelist of {jobs_in_words(jobs)}: slurmctld would end them once the node is gone"
        for node, jobs in sorted(tied.items())
    )


def stranded(queue: Iterable[Job], nodes: Mapping[str, Node], leaving: Collection[str]) -> tuple[Job, ...]:
    """Jobs that wait, could run on ``nodes``, and could not without those that leave; but for those that name one."""
    going = set(leaving)
    left = [node for name, node in nodes.items() if name not in going]
    could: dict[tuple[object, ...], bool] = {}
    found = []
    for each in queue:
        if not each.waits or each.required is None or not going.isdisjoint(each.required):
            continue
        wish = (each.partitions, each.features, each.least)
        if wish not in could:
            could[wish] = not _fits(each, left) and _fits(each, nodes.values())
        if could[wish]:
            found.append(each)
    return tuple(found)


def stranded_in_words(jobs: tuple[Job, ...]) -> tuple[str, ...]:
    """A sentence about jobs that could run nowhere, none without any."""
    if not jobs:
        return ()
    some = ", ".join(f"{job.label} of {job.user_name or 'unknown'} in {job.partition}" for job in jobs[:4])
    more = f", and {len(jobs) - 4} more" if len(jobs) > 4 else ""
    return (
        f"{len(jobs)} waiting job(s) could run on no node that is left, by partition, features and number of nodes:"
        f" {some}{more}. They wait until such nodes are back, or are moved (scontrol update jobid=… partition=…)",
    )


def left_out_in_words(count: int) -> str:
    """A sentence about jobs that wait and were not read."""
    return (
        f"{count} jobs and array tasks wait, too many to read for a plan: whether one names a selected node by --nodelist,"
        " or could run on no other, is not known. `squeue -t pending -o '%i %u %P %n'` lists the nodes that they name"
    )


def _fits(job: Job, nodes: Iterable[Node]) -> bool:
    """Whether so many nodes of one of its partitions have what it asks for; so it does where that can't be told."""
    if not job.partitions:
        return True
    count = dict.fromkeys(job.partitions, 0)
    for node in nodes:
        for name in count.keys() & node.partitions:
            count[name] += _has(frozenset(node.active_features), job.features)
    return max(count.values()) >= job.least


def _has(features: frozenset[str], wanted: str) -> bool:
    """``a&b|c`` as Slurm reads it without brackets, from left to right; anything else is taken for there."""
    if not wanted or set(wanted) & set("[]()*"):
        return True
    return any(features.issuperset(part.split("&")) for part in wanted.replace(",", "&").split("|"))
