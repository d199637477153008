"""A plan as it is written and read: input ``plan`` of every gate, in states and previews, and `slinky drain plan --json`.

The names of its fields stand here alone. Each kind of gate writes those that it has something to say of; the others are
``UNSET``. Of a plan that can't be read, its reader has ``Plan()``: nothing is known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType, field, to_builtins
from msgspec.structs import replace

from slinky_iac import hostlist
from slinky_iac.errors import HostlistError

SCHEMA: Final = 1
ROWS: Final = 20
"""Nodes, and jobs, that an output of the stack names one by one: `pulumi` prints ten lines for each in every preview."""
Whole = Annotated[int, Meta(ge=-(10**15), le=10**15)]
"""Providers get their numbers as floats."""
Texts = tuple[str, ...]


class Written(Struct, frozen=True, kw_only=True):
    """Base of what is JSON outside."""

    @property
    def props(self) -> dict[str, Any]:
        """As JSON has it: lists, and no field that is absent."""
        document: dict[str, Any] = json.loads(json.dumps(to_builtins(self)))
        return document


class PlannedJob(Written, frozen=True):
    """One job that is waited for; ``job`` as squeue writes it. A time that isn't known is ``unknown``."""

    job: str = ""
    user: str = ""
    partition: str = ""
    state: str = ""
    nodes: Whole = 0
    started: str = ""
    ends_by: str = ""
    stack_job: str | UnsetType = UNSET
    """Which of the stack's own jobs it is."""
    waits: bool | UnsetType = UNSET
    """Whether it is in the queue; of jobs on nodes it isn't said."""


class PlannedNode(Written, frozen=True):
    """One node that is selected."""

    node: str = ""
    pod: str = ""
    kind: str = ""
    """Why it was picked: ``idle``, ``busy`` …"""
    free_at: str = ""
    """A time, ``now`` or ``unknown``."""
    jobs: Texts = ()
    jobs_total: Whole = 0


class Rolls(Written, frozen=True):
    """Pods of an earlier template, of so many of the NodeSet, that are replaced."""

    pods: Texts = ()
    of: Whole = 0
    at_once: Whole = 0
    held: Texts = ()
    """A sentence for each that stays."""
    text: str = ""


class Raises(Written, frozen=True):
    """A number of replicas that becomes larger."""

    current: Whole = field(default=0, name="from")
    target: Whole = field(default=0, name="to")


class Plan(Written, frozen=True):
    """The plan of any gate."""

    schema: Whole | UnsetType = UNSET
    nodeset: str | UnsetType = UNSET
    """In :attr:`removals` it may be a host of sessions."""
    current: Whole | UnsetType = field(default=UNSET, name="from")
    target: Whole | UnsetType = field(default=UNSET, name="to")
    drains: Texts | UnsetType = UNSET
    """Bare-metal hosts that are drained."""
    returns: Texts | UnsetType = UNSET
    """Those that go back to work."""
    partitions: Texts | UnsetType = UNSET
    """What slurm.conf loses, to :attr:`changed`."""
    hosts: Texts | UnsetType = UNSET
    changed: Texts | UnsetType = UNSET
    """Hosts whose lines get another node range."""
    known: bool | UnsetType = UNSET
    """False where Slurm gave no answer."""
    nodes: tuple[PlannedNode, ...] | UnsetType = UNSET
    jobs: tuple[PlannedJob, ...] | UnsetType = UNSET
    """The first of those that are waited for."""
    jobs_total: Whole | UnsetType = UNSET
    free_at: str | UnsetType = UNSET
    """When all is free: a time, ``now`` or ``unknown``."""
    blocks: Texts | UnsetType = UNSET
    warnings: Texts | UnsetType = UNSET
    rolls: Rolls | UnsetType = UNSET
    outside: bool | UnsetType = UNSET
    """Whether an admin writes slurm.conf, by :attr:`steps`."""
    steps: Texts | UnsetType = UNSET
    raises: Raises | UnsetType = UNSET
    gives_back: Texts | UnsetType = UNSET
    """What an earlier run drained or closed, and this one opens."""
    why: str | UnsetType = UNSET
    refused: Texts | UnsetType = UNSET
    notices: Texts | UnsetType = UNSET
    removals: tuple[Plan, ...] | UnsetType = UNSET
    """What leaves the program."""

    def completed(self, other: Plan | None) -> Plan:
        """With what another one says of the fields that this one lacks."""
        missing = (name for name in self.__struct_fields__ if getattr(self, name) is UNSET)
        return self if other is None else replace(self, **{name: getattr(other, name) for name in missing})


class Plans(Written, frozen=True):
    """What `slinky drain plan --json` prints."""

    plans: tuple[Plan, ...]


def overview(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan as the output ``scaleInPlans`` has it: its first :data:`ROWS` nodes and jobs. Where there are more,
    ``nodes_total`` counts the nodes and ``more_nodes`` is a hostlist of the others. ``jobs_total`` counts all jobs."""
    excerpt = dict(plan)
    nodes, jobs = excerpt.get("nodes") or [], excerpt.get("jobs") or []
    if len(jobs) > ROWS:
        excerpt["jobs"] = jobs[:ROWS]
    if len(nodes) > ROWS:
        excerpt |= {"nodes": nodes[:ROWS], "nodes_total": len(nodes), "more_nodes": _names(nodes[ROWS:])}
    return excerpt


def _names(nodes: list[Mapping[str, Any]]) -> str:
    names = [str(node.get("node", "")) for node in nodes]
    try:
        return hostlist.compress(names)
    except HostlistError:  # a name that Slurm has and no host can have
        return ",".join(names)
