"""A status as metrics: what could not be asked has no number, never a zero."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.commands.status.metrics import Sample, exposition, sample
from slinky_iac.commands.status.model import Status
from slinky_iac.parts.registry import GUARDS

MARKED = "marked only"
"""Owner of a node that a scale-in has marked and not drained."""


def text(status: Status) -> str:
    """The exposition. Each metric has the stack's name for a label."""
    return exposition(samples(status))


def samples(status: Status) -> Iterator[Sample]:
    """All numbers of one look."""
    stack = status.stack
    yield sample("slinky_status_time_seconds", status.taken_at, stack=stack)
    yield sample("slinky_status_unknown", len(status.unknown), stack=stack)
    for endpoint in status.endpoints:
        if endpoint.state != "unknown":
            yield sample("slinky_endpoint_up", endpoint.state == "up", stack=stack, endpoint=endpoint.name)
        if endpoint.latency_ms is not None:
            yield sample("slinky_endpoint_latency_seconds", endpoint.latency_ms / 1000, stack=stack, endpoint=endpoint.name)
    yield from _nodes(status)
    yield from _drains(status)
    for key in status.keys:
        if key.made is not None:
            yield sample("slinky_key_age_seconds", max(status.taken_at - key.made, 0), stack=stack, key=key.name)
        if key.cluster != "unknown":
            yield sample("slinky_key_matches", key.cluster == "same", stack=stack, key=key.name)
    for name, guard in status.guards.items():
        if guard is not None and guard.state in {"stands", "broken"}:
            yield sample(GUARDS[name].metric, guard.state == "stands", stack=stack)
    if status.last is not None and status.last.ended is not None:
        yield sample("slinky_last_update_time_seconds", status.last.ended, stack=stack)
        yield sample("slinky_last_update_succeeded", status.last.result == "succeeded", stack=stack)


def _nodes(status: Status) -> Iterator[Sample]:
    stack = status.stack
    for group in status.groups:
        if group.kind == "nodeset":
            numbers = {
                "slinky_nodeset_wanted": group.wanted,
                "slinky_nodeset_pods": group.pods,
                "slinky_nodeset_ready": group.ready,
                "slinky_nodeset_registered": group.registered,
            }
            for name, value in numbers.items():
                if value is not None:
                    yield sample(name, value, stack=stack, nodeset=group.name)
            if group.paused is not None:
                yield sample("slinky_scaler_paused", group.paused, stack=stack, nodeset=group.name)
            if group.deadline_s is not None:
                yield sample("slinky_drain_deadline_seconds", group.deadline_s, stack=stack, group=group.name)
        for state, number in (group.states or {}).items():
            yield sample("slinky_nodes", number, stack=stack, group=group.name, state=state)
        if group.invalid is not None:
            yield sample("slinky_nodes_invalid", group.invalid, stack=stack, group=group.name)


def _drains(status: Status) -> Iterator[Sample]:
    stack, rows = status.stack, status.drains
    if rows is None:
        return
    owners = sorted({(row.group, row.owner or MARKED) for row in rows})
    for group, owner in owners:
        own = [row for row in rows if (row.group, row.owner or MARKED) == (group, owner)]
        yield sample("slinky_drain_nodes", len(own), stack=stack, group=group, owner=owner)
        ages = [status.taken_at - row.since for row in own if row.since is not None]
        if ages:
            yield sample("slinky_drain_age_seconds", max(*ages, 0), stack=stack, group=group, owner=owner)
    for group in (nodeset.name for nodeset in status.groups if nodeset.kind == "nodeset"):
        waiting = [row for row in rows if row.group == group and row.owner == "this stack" and row.jobs]
        yield sample("slinky_gate_wait_nodes", len(waiting), stack=stack, nodeset=group)
        jobs = {job for row in waiting for job in row.jobs}
        yield sample("slinky_gate_wait_jobs", len(jobs), stack=stack, nodeset=group)
