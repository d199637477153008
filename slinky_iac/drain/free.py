"""Is a Slurm node free? Stricter than the operator's own question, and never by guess.

The rule (facts/slurmrestd.md#when-a-node-is-free): the record of the *list* says DRAIN and nothing else that works, and the
job list asked for *after* it names no job that holds the node. The second half matters: a suspended job leaves its node
``IDLE+DRAIN`` with no CPU allocated, so slurm-operator's IsNodeDrained calls it drained and the job would die.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.text import iso
from slinky_iac.slurmrest.objects import BUSY_STATES, CALM_STATES, Job, Node

HOLD_MARGIN_S: Final = 300
"""A drain that ends by itself within this many seconds holds nothing: the operator needs its 30 s look and the pod its
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


def verdict(node: str, cluster: ClusterView, now: int) -> Verdict:
    """What the two lists say of ``node``. A node without a record is free: no job can be placed on what isn't there."""
    jobs = cluster.jobs(node)
    if jobs:
        return Busy(jobs, f"{len(jobs)} job(s) hold it")
    if cluster.unplaced and cluster.unplaced[0].trouble:
        return Unknown(f"{cluster.unplaced[0].trouble}; it may be on any node")
    if cluster.unplaced:
        return Unknown(f"job {cluster.unplaced[0].label} runs and Slurm doesn't say on which nodes")
    record = cluster.nodes.get(node)
    if record is None:
        return Free("slurmctld has no record of it")
    return _of_record(record, now)


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
