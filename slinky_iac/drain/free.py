"""Is a Slurm node free, is its name, and which jobs elsewhere lose by its end? Stricter than the operator's own question,
and never by guess. Pure.

The rule (facts/slurmrestd.md#when-a-node-is-free): the record of the *list* says DRAIN and nothing else that works, and the
job list asked for *after* it names no job that holds the node. The second half matters: a suspended job leaves its node
``IDLE+DRAIN`` with no CPU allocated, so slurm-operator's IsNodeDrained calls it drained and the job would die.

slurmctld reads its jobs again with every new slurm.conf (``_sync_jobs_to_conf``, 25.11 and 26.05). A job ends NODE_FAIL,
without requeue, where it runs in a partition that is gone, where it waits and none of its partitions is left, and where
its ``--nodelist`` names a node that is gone, wherever it runs.

Whether a job that waits could run on what is left is judged by partition, number of nodes and plain features alone. Its
other requests (CPUs, memory, GRES, brackets and counts of features) may keep it waiting too; nothing is said of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from slinky_iac import names
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain import daemons
from slinky_iac.drain.losses import Change, held_on, losers, named_by
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.settings import Owner
from slinky_iac.drain.words import iso, jobs_in_words, whose
from slinky_iac.kube.objects import NodeSet, Pod
from slinky_iac.kube.selection import HOSTNAME_OVERRIDE, Machine
from slinky_iac.slurmrest.objects import BUSY_STATES, CALM_STATES, Job, Node
from slinky_iac.text import some

HOLD_MARGIN_S: Final = 300
"""A drain that slurmctld ends within this many seconds holds nothing: the operator needs its 30 s look and the pod its
grace period after replicas are lowered."""

_UNDERSTOOD: Final = (
    BUSY_STATES
    | CALM_STATES
    | {"DRAIN", "UNDRAIN", "RESUME", "NOT_RESPONDING", "FAIL", "RESERVED", "MAINTENANCE", "PLANNED", "BLOCKED"}
    | {"DYNAMIC_NORM", "DYNAMIC_FUTURE", "CLOUD", "EXTERNAL", "INVALID_REG"}
    | {"POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "POWER_DRAIN", "POWER_DOWN", "POWER_UP"}
    | {"REBOOT_REQUESTED", "REBOOT_ISSUED", "REBOOT_CANCELED"}
)
_MOVING: Final = frozenset({"UNDRAIN", "RESUME", "REBOOT_REQUESTED", "REBOOT_ISSUED", "POWERING_UP"})
"""The node is on its way back to work; a reboot with nextstate=resume ends every drain."""


@dataclass(frozen=True)
class Free:
    """No job is on the node and none can start there."""

    why: str


@dataclass(frozen=True)
class Busy:
    """Work is on the node. ``jobs`` may be empty: then the node says so and no job of the list explains it."""

    jobs: tuple[Job, ...]
    why: str


@dataclass(frozen=True)
class NotHeld:
    """No job is on the node, and nothing keeps one from starting there."""

    why: str


@dataclass(frozen=True)
class Unknown:
    """The record says something this program doesn't understand: never free."""

    why: str


Verdict = Free | Busy | NotHeld | Unknown


def registered_wrongly(record: Node) -> bool:
    """Whether its slurmd registered as something else than it is configured to be. slurmctld then drains it, and refuses to
    undrain or resume it, whosesoever the drain is."""
    return "INVALID_REG" in record.state


def verdict(node: str, cluster: ClusterView, now: int, *, forgets: bool = False) -> Verdict:
    """What the two lists say of ``node``. A node without a record is free: no job can be placed on what isn't there.

    ``forgets``: its record goes, too.
    """
    if jobs := cluster.jobs(node):
        return Busy(jobs, f"{len(jobs)} job(s) hold it")
    if cluster.unplaced and cluster.unplaced[0].trouble:
        return Unknown(f"{cluster.unplaced[0].trouble}; it may be on any node")
    if cluster.unplaced:
        return Unknown(f"job {cluster.unplaced[0].label} runs and Slurm doesn't say on which nodes")
    record = cluster.nodes.get(node)
    if record is None:
        return Free("slurmctld has no record of it")
    answer = _of_record(record, now)
    if forgets and isinstance(answer, Free) and (naming := held_on(node, cluster)):
        return Busy((), f"named by --nodelist of {jobs_in_words(naming)}, which slurmctld would end with its record")
    return answer


def why_not_free(node: str, cluster: ClusterView, now: int) -> str:
    """``gpu-1: 2 jobs (…)``; ``""`` where it is free."""
    judged = verdict(node, cluster, now)
    return "" if isinstance(judged, Free) else f"{node}: {said(judged)}"


def said(judged: Verdict) -> str:
    """A verdict in words: the jobs, or why where none is known."""
    return jobs_in_words(judged.jobs) if isinstance(judged, Busy) and judged.jobs else judged.why


def _of_record(record: Node, now: int) -> Verdict:
    """What the node's own record says, when no job of the list is on it."""
    state = record.state_text or "empty"
    if record.trouble:
        return Unknown(record.trouble)
    if record.state - _UNDERSTOOD or not record.known:
        return Unknown(f"its state is {state}")
    if record.busy:
        return Busy((), f"its state is {state}, though no job of the list is on it")
    if not record.drained_or_draining or record.state & _MOVING:
        return NotHeld(f"its state is {state}: jobs may start on it")
    if record.resume_after.value is not None and record.resume_after.value < now + HOLD_MARGIN_S:
        return NotHeld(f"its drain ends at {iso(record.resume_after.value)}")
    return Free("drained, and no job is on it")


def stranded(queue: Iterable[Job], nodes: Mapping[str, Node], leaving: Collection[str]) -> tuple[Job, ...]:
    """Jobs that wait, could run on ``nodes``, and could not without those that leave; but for those that name one."""
    going = set(leaving)
    could: dict[tuple[object, ...], bool] = {}
    jobs = []
    for job in queue:
        if not job.waits or job.required is None or not going.isdisjoint(job.required):
            continue
        wish = (job.partitions, job.features, job.least)
        if wish not in could:
            left = (node for name, node in nodes.items() if name not in going)
            could[wish] = not _fits(job, left) and _fits(job, nodes.values())
        if could[wish]:
            jobs.append(job)
    return tuple(jobs)


def stranded_in_words(jobs: tuple[Job, ...]) -> tuple[str, ...]:
    """A sentence about jobs that could run nowhere, none without any."""
    if not jobs:
        return ()
    named = some((f"{whose(job)} in {job.partition}" for job in jobs), 4)
    return (
        f"{len(jobs)} waiting job(s) could run on no node that is left, by partition, features and number of nodes:"
        f" {named}. They wait until such nodes are back, or are moved (scontrol update jobid=… partition=…)",
    )


def named_in_words(leaving: Iterable[str], cluster: ClusterView, *, queue: bool) -> tuple[str, ...]:
    """A sentence for each node that is named by jobs that run elsewhere, and one for those that wait. ``queue``: the gate
    waits for these too."""
    running = "running elsewhere: waited for, since slurmctld would end it with the node"
    pending = (
        "pending, and waited for"
        if queue
        else (
            "pending: NOT waited for. At its next start slurmctld may end this job, since its node is gone. Before the"
            " update, change the job (`scontrol update jobid=… nodelist=…`) or cancel it"
        )
    )
    return tuple(
        f"{node} is named by --nodelist of {jobs_in_words(theirs)}, {what}"
        for node, jobs in named_by(leaving, cluster).items()
        for what, theirs in (
            (running, [job for job in jobs if not job.waits]),
            (pending, [job for job in jobs if job.waits]),
        )
        if theirs
    )


def queue_losses(cluster: ClusterView, leaving: Collection[str]) -> Iterator[str]:
    """A sentence for each way in which jobs of the queue lose by the end of these nodes."""
    yield from named_in_words(leaving, cluster, queue=False)
    yield from stranded_in_words(stranded(cluster.queue, cluster.nodes, leaving))
    if leaving and cluster.queue_left_out:
        yield (
            f"{cluster.queue_left_out} jobs and array tasks wait, too many to read for a plan: whether one names a selected"
            " node by --nodelist, or could run on no other, is not known. `squeue -t pending -o '%i %u %P %n'` lists the"
            " nodes that they name"
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


LEFT_BEHIND: Final = (names.OPERATOR_REASON_PREFIX, "Pod is terminating")
"""Beginnings of the operator's reasons; its preStop hook wrote no prefix before 1.1.1."""
_NO_DAEMON: Final = frozenset({"DOWN", "NOT_RESPONDING", "UNKNOWN", "FUTURE", "POWERED_DOWN"})
"""States of a record that no slurmd answers for."""


def records_without_pods(cluster: ClusterView | None, owner: Owner, pods: Collection[Pod]) -> tuple[str, ...]:
    """Records of the NodeSet's removed nodes, which slurm-operator leaves DOWN from 1.2 on, by name.

    Nothing is behind them: dynamic, without a job and without a pod. Those with a person's reason stay, and those that a job
    names by ``--nodelist``: slurmctld would end it, at its next start, for want of the record.
    """
    if cluster is None:
        return ()
    there = {pod.slurm_node for pod in pods}
    return tuple(
        sorted(
            node.name
            for node in cluster.nodes.values()
            if node.name not in there
            and node.known
            and "DOWN" in node.state
            and node.registered_by(owner.nodeset)
            and not losers(Change(records=frozenset([node.name])), cluster)
            and (node.reason.startswith(LEFT_BEHIND) or owner.owns(node.reason))
        )
    )


def names_in_use(seen: Observation, owner: Owner, target: int, going: Collection[str] = ()) -> str:
    """Which names of the pods that ``target`` replicas add are somebody else's in Slurm, ``""`` where none is. On the host
    network that is every Kubernetes node to which one may come.

    ``going``: pods that end before, by name. A name may come again, and a pod that is ending gives its place to another.
    """
    if seen.cluster is None:
        return ""
    staying = [pod for pod in seen.pods if pod.name not in going and not pod.terminating]
    back = seen.machines is not None  # in DaemonSet mode a pod that is replaced comes to its machine, under its name
    if back or target <= len(staying):
        return ""
    on_host = seen.nodeset is not None and seen.nodeset.on_host_network
    if on_host and seen.free_machines is None:
        return _NOT_LISTED
    coming = sorted(seen.free_machines or ()) if on_host else _next_names(seen.nodeset, staying, owner, target)
    own = {pod.slurm_node for pod in seen.pods}
    used = [name for name in coming if name not in own and _in_use(seen.cluster, name, owner)]
    if not used:
        return ""
    shown = ", ".join(used[:8])
    if on_host:
        return (
            f"{shown} {'is' if len(used) == 1 else 'are'} in use in Slurm without a pod of a NodeSet, and a new pod on the"
            " host network may come to a Kubernetes node of that name: it would take the Slurm node over, and slurmctld"
            " would end the jobs there. Give the other Kubernetes nodes a label, and name it in pod.nodeSelector"
        )
    return (
        f"{shown} {'is' if len(used) == 1 else 'are'} in use in Slurm, and no pod of this NodeSet belongs to it: a new"
        " pod of that name would take it over, and slurmctld would end the jobs there. `scontrol show node` shows"
        " where such a node"
        " is (NodeAddr). If another stack or Kubernetes cluster has it, give one of the two NodeSets another name"
    )


_NOT_LISTED: Final = (
    "it isn't known whether a new pod would take over a Slurm node that is in use: on the host network it registers as its"
    " Kubernetes node, and these may not be listed. Grant this user `list` on nodes (`slinky rights` prints it)"
)


def names_taken(seen: Observation, owner: Owner, machines: Iterable[Machine]) -> str:
    """Which names of the pods that come to these Kubernetes nodes in DaemonSet mode are somebody else's in Slurm, ``""``
    where none is: a slurmd of the machine's own, say, from before it was in Kubernetes."""
    if seen.cluster is None:
        return ""
    machines = tuple(machines)
    for name, on in sorted(daemons.of_one_name(seen, machines).items()):
        return (
            f"Kubernetes nodes {' and '.join(on)} would both be {name} in Slurm: the second slurmd takes that node over,"
            " and slurmctld ends the jobs there. Leave one out by pod.nodeSelector, or name one for Slurm (operator 1.2 and"
            f" newer: `kubectl annotate node {on[-1]} {HOSTNAME_OVERRIDE}=NAME`)"
        )
    coming = sorted(daemons.new_names(seen, machines))
    if others := [name for name in coming if name in seen.neighbours]:
        return of_neighbours(seen, others)
    used = [name for name in coming if _in_use(seen.cluster, name, owner)]
    for record in (seen.cluster.nodes[name] for name in coming if name in seen.cluster.nodes):
        if record.name not in used and _of_another(record, owner) and not _deletable(record, owner):
            return (
                f"Slurm's record of {record.name} is of another NodeSet ({', '.join(record.features)}), which may come back:"
                f" its state is {record.state_text}, its reason {record.reason!r}. A pod that comes under that name would"
                f" keep these features. If that node is gone for good, `scontrol delete nodename={record.name}`"
            )
    if not used:
        return ""
    return (
        f"{', '.join(used[:8])} {'is' if len(used) == 1 else 'are'} in use in Slurm without a pod of this NodeSet, and a new"
        " pod on the Kubernetes node of that name would take the Slurm node over: slurmctld would end the jobs there."
        " `scontrol show node` shows where it is (NodeAddr). End the other slurmd first, or leave the Kubernetes node out by"
        " pod.nodeSelector"
    )


def of_neighbours(seen: Observation, held: Sequence[str]) -> str:
    """That other NodeSets have pods under the names of those that come."""
    owners = sorted({seen.neighbours[name] for name in held})
    them = " and ".join(owners)
    one = len(held) == 1
    it = "it" if one else "they"
    return (
        f"{', '.join(held[:8])} {'has a pod' if one else 'have pods'} of NodeSet {them}: {it} {'comes' if one else 'come'}"
        " here once that one has let go. Its gate does so in this update, drained, where its own selection changes. If it"
        " leaves the stack, Pulumi deletes it last: remove it in an update of its own first. If it still fits"
        f" {'this Kubernetes node' if one else 'these Kubernetes nodes'}, leave {'it' if one else 'them'} out of one of the"
        " two (pod.nodeSelector, pod.affinity)"
    )


def exchanged(seen: Observation, going: Sequence[str]) -> str:
    """Why nodes that another NodeSet has may not come while these go, ``""`` where they may: two gates that have drained
    their nodes and wait for each other's would wait until the deadline, in each run."""
    if not going or not seen.neighbours:
        return ""
    them, owners = ", ".join(sorted(seen.neighbours)[:8]), " and ".join(sorted({*seen.neighbours.values()}))
    return (
        f"{them} would come from NodeSet {owners} while {', '.join(sorted(going)[:8])} would go: that takes two updates,"
        " since two gates that wait for each other's nodes would do so with their own drained. First run `pulumi up` with"
        f" {them} left out of this NodeSet (in each term of pod.affinity a requirement in matchFields for each: key"
        " metadata.name, operator NotIn), and with what goes from here left out of the other one. Then take these"
        " requirements away, and run `pulumi up` again"
    )


def left_records(seen: Observation, owner: Owner, machines: Iterable[Machine]) -> tuple[str, ...]:
    """Records that other NodeSets have left of nodes that come in DaemonSet mode, by name. slurmctld takes features, GRES,
    CPUs and memory only from a registration that makes the record: the new node would be one of the other's partitions."""
    records = {} if seen.cluster is None else seen.cluster.nodes
    names = sorted(daemons.new_names(seen, machines))
    return tuple(name for name in names if name in records and _of_another(records[name], owner))


def _of_another(record: Node, owner: Owner) -> bool:
    """Whether another NodeSet's pod has registered it."""
    return "DYNAMIC_NORM" in record.state and not record.registered_by(owner.nodeset)


def _deletable(record: Node, owner: Owner) -> bool:
    """Whether its pod was ended. A machine that only starts again doesn't answer, and comes back under that record."""
    return record.reason.startswith((*LEFT_BEHIND, f"{names.REASON_PREFIX}{owner.stack}/"))


def _next_names(nodeset: NodeSet | None, staying: Sequence[Pod], owner: Owner, target: int) -> list[str]:
    """The Slurm nodes of the pods that the operator makes next: each takes the lowest ordinal that is free."""
    digits = nodeset.spec.ordinal_padding if nodeset is not None else 0
    ordinals = {pod.ordinal for pod in staying}
    free = [number for number in range(target + len(ordinals)) if number not in ordinals]
    return [f"{names.nodeset_hostname(owner.nodeset)}{number:0{digits}}" for number in free[: target - len(staying)]]


def _in_use(cluster: ClusterView, name: str, owner: Owner) -> bool:
    """Whether a job or a daemon is behind a record. What a pod of ours left is DOWN, doesn't answer, or has our reason."""
    record = cluster.nodes.get(name)
    if cluster.jobs(name):
        return True
    if record is None or record.state & _NO_DAEMON:
        return False
    return not (record.reason.startswith(LEFT_BEHIND) or owner.owns(record.reason))
