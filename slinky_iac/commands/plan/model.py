"""A change order as frozen values: what changes, who waits for whom until when, what can't be undone, who objects.

Times are whole seconds since the epoch. Texts are as the cluster gave them, so they may hold anything: every renderer
escapes them (:mod:`slinky_iac.text`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Op = Literal["create", "update", "replace", "delete", "import", "refresh", "read", "other"]
DrainKind = Literal["scale-in", "rollout", "removal", "hosts", "namespace", "slurm-conf", "sessions"]


@dataclass(frozen=True)
class Change:
    """One resource that changes."""

    op: Op
    kind: str
    """In a person's words: ``NodeSet``, ``Secret``, ``NodeSet scale``."""
    name: str
    """Logical name."""
    fields: tuple[str, ...] = ()
    """Paths of what differs, with old and new value where these are numbers, flags, images or versions."""
    undo: str = ""
    """Why this can't be taken back by the next update; empty where it can."""


@dataclass(frozen=True)
class Job:
    """One job that is waited for."""

    label: str
    """As squeue writes it."""
    user: str
    partition: str
    state: str
    started: int | None
    """None: not known."""
    ends_by: int | None
    """When its time limit ends it; None: no limit, or not known."""


@dataclass(frozen=True)
class Node:
    """One node that is selected for removal."""

    name: str
    pod: str
    kind: str
    """Why it was picked, in the planner's word: ``idle``, ``busy`` …"""
    free_at: int | None
    """None: not known. A node that is free already has the time of the preview."""
    jobs: tuple[str, ...] = ()
    """Labels of jobs on it; ``jobs_total`` may be more."""
    jobs_total: int = 0


@dataclass(frozen=True)
class Drain:
    """Nodes that are drained together: by a scale-in, by the removal of a NodeSet, or bare-metal hosts; or a namespace that
    goes with whatever runs in it."""

    kind: DrainKind
    what: str
    """Name of the NodeSet or of the namespace, or ``outside-hosts``."""
    known: bool
    """False: there was no answer, so nodes and jobs are not complete."""
    before: int = 0
    after: int = 0
    nodes: tuple[Node, ...] = ()
    jobs: tuple[Job, ...] = ()
    jobs_total: int = 0
    free_at: int | None = None
    """When the last node is free; None: not known, or nothing has to be waited for."""
    deadline_at: int | None = None
    """End of the wait if the update begins at the time of the preview."""
    on_deadline: str = "keep"
    blocks: tuple[str, ...] = ()
    """What blocks the drain."""
    warnings: tuple[str, ...] = ()
    returns: tuple[str, ...] = ()
    """Bare-metal hosts that go back to work."""
    at_once: int = 0
    """Of a rollout, how many nodes are away at the same time."""

    @property
    def unlisted(self) -> int:
        """Jobs that the plan counts and doesn't list."""
        return self.jobs_total - len(self.jobs)

    @property
    def gone(self) -> int:
        """Nodes that are selected for removal, or away at the same time."""
        return self.at_once if self.kind == "rollout" else max(self.before - self.after, len(self.nodes))

    @property
    def share(self) -> float:
        """Their share of the NodeSet, 0 to 1; 0 where the number before isn't known."""
        return self.gone / self.before if self.before > 0 else 0.0

    @property
    def late(self) -> tuple[Job, ...]:
        """Jobs that may run on after the deadline."""
        if self.deadline_at is None:
            return ()
        return tuple(job for job in self.jobs if job.ends_by is None or job.ends_by > self.deadline_at)

    @property
    def late_nodes(self) -> tuple[Node, ...]:
        """Nodes that may not be free at the deadline; none where there is no deadline, or nodes and jobs aren't known."""
        if self.deadline_at is None or not self.known:
            return ()
        late = {job.label for job in self.late}
        return tuple(
            node for node in self.nodes if node.free_at is None or node.free_at > self.deadline_at or late & set(node.jobs)
        )

    def jobs_on(self, node: Node) -> tuple[Job, ...]:
        """The listed jobs of one node."""
        return tuple(self.jobs[at] for at in sorted({at for label in node.jobs for at in self._places.get(label, ())}))

    @functools.cached_property
    def _places(self) -> Mapping[str, list[int]]:
        """Positions of the jobs of a label in the list."""
        positions: dict[str, list[int]] = {}
        for at, job in enumerate(self.jobs):
            positions.setdefault(job.label, []).append(at)
        return positions


@dataclass(frozen=True)
class Policy:
    """A policy that objects."""

    level: str
    """``mandatory`` stops the update; ``advisory`` doesn't; ``remediate`` has changed the resource."""
    name: str
    pack: str
    resource: str
    message: str


@dataclass(frozen=True)
class Policies:
    """What the policy packs said."""

    violations: tuple[Policy, ...] = ()
    passed: int = 0
    """Rules that judged something and found no fault."""


@dataclass(frozen=True)
class Message:
    """One sentence of the program or of a provider."""

    severity: str
    text: str


@dataclass(frozen=True)
class ChangeOrder:
    """All of it."""

    project: str
    stack: str
    taken_at: int
    """When the preview was taken."""
    changes: tuple[Change, ...] = ()
    unchanged: int = 0
    drains: tuple[Drain, ...] = ()
    policies: Policies | None = None
    """None: this form of the preview doesn't say."""
    messages: tuple[Message, ...] = ()
    gives_back: tuple[str, ...] = ()
    """Nodes that an earlier, interrupted run drained and that this update returns."""
    failed: bool = False
    """The preview itself ended with an error: there is nothing to approve."""

    @property
    def known(self) -> bool:
        """Whether it is known what drains and whose jobs are waited for: of a preview that failed it never is."""
        return not self.failed and all(drain.known for drain in self.drains)

    @property
    def undo(self) -> tuple[tuple[str, str], ...]:
        """What can't be taken back: what, and why."""
        rows = [(f"{change.op} {change.kind} {change.name}", change.undo) for change in self.changes if change.undo]
        return (*rows, *(row for drain in self.drains for row in _harm(drain)))


def _harm(drain: Drain) -> tuple[tuple[str, str], ...]:
    """Jobs that the update itself ends, by the deadline's policy."""
    if drain.on_deadline not in ("requeue", "cancel") or not drain.late:
        return ()
    jobs = ", ".join(f"{job.label} of {job.user}" for job in drain.late)
    act = "cancelled" if drain.on_deadline == "cancel" else "requeued where they allow it, and lose what they have done"
    return ((f"jobs of {drain.what} after the deadline", f"{jobs}: {act}"),)
