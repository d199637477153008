"""Slurm's nodes in words: state, group, whose drain it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from slinky_iac import names
from slinky_iac.cluster.snapshot import ClusterView, Workers
from slinky_iac.commands.status.facts import Facts
from slinky_iac.commands.status.model import Drained, Group, Seen
from slinky_iac.drain.own_writers import WriterState
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.settings import GateSettings
from slinky_iac.drain.status import NodeStatus, status_of
from slinky_iac.drain.words import iso
from slinky_iac.kube.objects import Pod
from slinky_iac.slurmrest.objects import Job, Node

METAL: Final = "metal"
OTHERS: Final = "other nodes"
UNREGISTERED: Final = "not registered"


def word(node: Node) -> str:
    """One word for a node, as sinfo would choose it; ``unknown`` where Slurm gives no base state."""
    if node.drained_or_draining:
        return "draining" if node.busy else "drained"
    bases = ("DOWN", "COMPLETING", "MAINTENANCE", "RESERVED", "ALLOCATED", "MIXED", "IDLE", "FUTURE")
    words = {"NOT_RESPONDING": "not responding", "FAIL": "failing"} | {base: base.lower() for base in bases}
    return next((said for state, said in words.items() if state in node.state), "unknown")


def whose(reason: str, user: str, stack: str) -> str:
    """Whose drain it is, from its reason. ``user``: who set the reason, where Slurm says so."""
    if reason.startswith(names.OPERATOR_REASON_PREFIX):
        return "slurm-operator"
    if reason.startswith(names.REASON_PREFIX):
        other = reason.removeprefix(names.REASON_PREFIX).partition("/")[0]
        return "this stack" if other == stack else f"stack {other}"
    return user or "somebody else"


def groups(facts: Facts, seen: Seen) -> tuple[Group, ...]:
    """NodeSets, the bare-metal hosts of the stack, and what else slurmctld knows."""
    known = None if seen.nodes.value is None else seen.nodes.value.by_name()
    left = dict(known or {})
    made: list[Group] = []
    for name, settings in facts.gates.items():
        answer = seen.workers.get(name)
        group = _nodeset(name, settings, answer.value if answer else None, known)
        for writes in seen.writers.get(name, {}).values():
            group = _with_writer(group, writes.value)
        made.append(group)
        for pod in answer.value.pods if answer and answer.value else ():
            left.pop(pod.slurm_node, None)
        left = {node: record for node, record in left.items() if not record.registered_by(name)}
    hosts = () if facts.hosts is None else (*facts.hosts.active, *facts.hosts.held)
    if hosts:
        counted = None if known is None else _counted(hosts, known)
        held = facts.hosts.held if facts.hosts is not None else ()
        text = f"held: {', '.join(held)}" if held else ""
        made.append(Group(METAL, "metal", len(hosts), states=counted, text=text, invalid=_invalid(hosts, known)))
    others = {name: node for name, node in left.items() if name not in hosts}
    if others:
        states, invalid = _counted(others, others), _invalid(others, others)
        made.append(Group(OTHERS, "other", states=states, text="not of this stack", invalid=invalid))
    return tuple(made)


def _invalid(wanted: Iterable[str], known: Mapping[str, Node] | None) -> int | None:
    """Nodes that registered with other resources than slurmctld expects."""
    return None if known is None else sum(1 for name in wanted if name in known and "INVALID_REG" in known[name].state)


def _registered(pods: Iterable[Pod], known: Mapping[str, Node] | None) -> int | None:
    """Pods that are nodes in service or drained, as far as a slurmd answers."""
    if known is None:
        return None
    states = [known[pod.slurm_node].state for pod in pods if pod.slurm_node in known]
    return sum(1 for state in states if not state & {"DOWN", "NOT_RESPONDING", "UNKNOWN", "FUTURE"})


def _counted(wanted: Iterable[str], known: Mapping[str, Node]) -> dict[str, int]:
    words = Counter(word(known[name]) if name in known else UNREGISTERED for name in wanted)
    return dict(sorted(words.items(), key=lambda item: (-item[1], item[0])))


def _nodeset(name: str, settings: GateSettings, seen: Workers | None, known: Mapping[str, Node] | None) -> Group:
    if seen is None:
        return Group(name, "nodeset", text="not known: Kubernetes gave no answer")
    if seen.nodeset is None:
        return Group(name, "nodeset", settings.target, 0, 0, {}, f"there is no NodeSet {settings.resource}")
    pods = seen.staying
    with_pod = {pod.slurm_node for pod in pods}
    records = [node for node, record in (known or {}).items() if node not in with_pod and record.registered_by(name)]
    states = None if known is None else _counted([*(pod.slurm_node for pod in pods), *records], known)
    notes = [f"{len(records)} without a pod"] if records else []
    if len(seen.pods) > len(pods):
        notes.append(f"{len(seen.pods) - len(pods)} terminating")
    notes += [f"{pod.name}: {pod.trouble}" for pod in pods if pod.trouble][:1]
    if seen.nodeset.frozen_in_words:
        notes.insert(0, seen.nodeset.frozen_in_words)
    if not seen.nodeset.observed:
        notes.append("slurm-operator has not acted on the NodeSet's last change")
    if settings.selection is not None and not seen.wanted:
        notes.append("no Kubernetes node fits")
    if not settings.by_stack:
        notes.append(f"an autoscaler's, up to {settings.target}")
    ready = sum(pod.ready for pod in pods)
    return Group(
        name,
        "nodeset",
        seen.wanted,
        len(pods),
        ready,
        states,
        "; ".join(notes),
        registered=_registered(pods, known),
        invalid=_invalid((pod.slurm_node for pod in pods), known),
        deadline_s=settings.policy.deadline_s,
    )


def _with_writer(group: Group, writer: WriterState | None) -> Group:
    """The same, with how that is which writes its number beside the gate."""
    if writer is None:
        return group
    return replace(group, text="; ".join(part for part in (group.text, *writer.said) if part), paused=writer.paused)


def drains(facts: Facts, seen: Seen) -> tuple[Drained, ...] | None:
    """Drained nodes and marks of scale-ins; None where slurmctld couldn't be asked."""
    if seen.nodes.value is None:
        return None
    nodes = seen.nodes.value.by_name()
    jobs = () if seen.jobs.value is None else seen.jobs.value.jobs
    cluster = ClusterView.of(nodes.values(), jobs)
    rows: dict[str, Drained] = {}
    for name, settings in facts.gates.items():
        answer = seen.workers.get(name)
        if answer and answer.value and answer.value.nodeset:
            own = answer.value
            for row in status_of(settings, Observation(seen.now, settings.version, own.pods, own.nodeset, cluster)):
                rows[row.node] = _row(row, nodes.get(row.node), facts.stack)
    for node in nodes.values():
        if node.name not in rows and node.drained_or_draining:
            rows[node.name] = _other(node, jobs, cluster, facts)
    return tuple(sorted(rows.values(), key=lambda row: (row.group, row.node)))


def _row(row: NodeStatus, node: Node | None, stack: str) -> Drained:
    drained = node is not None and node.drained_or_draining
    owner = whose(node.reason, node.reason_set_by_user, stack) if drained and node is not None else ""
    said = word(node) if node is not None else UNREGISTERED
    reason = row.reason or ("marked by a scale-in" if row.marked else "")
    since = node.reason_changed_at.value if drained and node is not None else None
    return Drained(row.node, row.nodeset, said, owner, reason, row.returns, row.jobs, since)


def _other(node: Node, jobs: tuple[Job, ...], cluster: ClusterView, facts: Facts) -> Drained:
    hosts = () if facts.hosts is None else (*facts.hosts.active, *facts.hosts.held)
    here = tuple(f"{job.label} {job.user_name}" for job in cluster.jobs(node.name)) if jobs else ()
    returns = iso(node.resume_after.value) if node.resume_after.value else ""
    owner = whose(node.reason, node.reason_set_by_user, facts.stack)
    group = METAL if node.name in hosts else OTHERS
    return Drained(node.name, group, word(node), owner, node.reason, returns, here, node.reason_changed_at.value)
