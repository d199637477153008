"""Inputs of gates in a preview, the plan among them (written by ``slinky_iac/drain/plan.py`` and ``preview.py``).

A preview has a placeholder where a value isn't known yet, so an input of another shape counts as absent. A plan is taken
whole or not at all: of one that can't be read nothing is known.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any

from msgspec import Meta, Struct, convert, field
from msgspec.structs import fields

from slinky_iac.commands.plan.model import Job, Node
from slinky_iac.commands.plan.wire import Json
from slinky_iac.text import moment

Whole = Annotated[int, Meta(ge=-(10**15), le=10**15)]
"""Providers get their numbers as floats."""
Texts = tuple[str, ...]


class PlannedJob(Struct, frozen=True):
    """One job that is waited for."""

    job: str = ""
    user: str = ""
    partition: str = ""
    state: str = ""
    started: str = ""
    ends_by: str = ""
    stack_job: str = ""
    waits: bool = False

    def at(self, now: int) -> Job:
        """With the user, the stack's job that it is, where it is one."""
        user = self.user or "unknown"
        return Job(
            label=self.job,
            user=f"{user} ({self.stack_job})" if self.stack_job else user,
            partition=self.partition,
            state=self.state,
            started=moment(self.started, now),
            ends_by=None if self.waits else moment(self.ends_by, now),
        )


class PlannedNode(Struct, frozen=True):
    """One node that is selected."""

    node: str = ""
    pod: str = ""
    kind: str = ""
    free_at: str = ""
    jobs: Texts = ()
    jobs_total: Whole = 0

    def at(self, now: int) -> Node:
        """The same with times."""
        total = max(self.jobs_total, len(self.jobs))
        return Node(self.node, self.pod, self.kind, moment(self.free_at, now), self.jobs, total)


class Rolls(Struct, frozen=True):
    """A rollout's part of a plan."""

    at_once: Whole = 0


class GatePlan(Struct, frozen=True):
    """The plan of any gate; each kind of gate writes some of it."""

    nodeset: str = ""
    current: Whole = field(default=0, name="from")
    target: Whole = field(default=0, name="to")
    known: bool = False
    """False too where there is no plan, or none that can be read."""
    nodes: tuple[PlannedNode, ...] | None = None
    jobs: tuple[PlannedJob, ...] = ()
    jobs_total: Whole = 0
    free_at: str = ""
    blocks: Texts = ()
    warnings: Texts = ()
    gives_back: Texts = ()
    rolls: Rolls | None = None
    drains: Texts | None = None
    returns: Texts = ()
    refused: Texts = ()
    notices: Texts = ()
    partitions: Texts = ()
    hosts: Texts = ()
    changed: Texts = ()
    steps: Texts = ()

    def jobs_at(self, now: int) -> tuple[Job, ...]:
        """The jobs with times."""
        return tuple(each.at(now) for each in self.jobs)


class Removals(Struct, frozen=True):
    """What `slinky drain plan --json` prints."""

    plans: tuple[GatePlan, ...]

    @classmethod
    def of(cls, raw: object) -> Removals:
        """Raises ValueError where it is something else."""
        return convert(raw, cls)


class Policy(Struct, frozen=True):
    """How long a gate waits, and what it does then."""

    deadline_s: Whole | None = None
    on_deadline: str = "keep"


class Metadata(Struct, frozen=True):
    """A Kubernetes object's."""

    name: str = ""


class Inputs(Struct, frozen=True, rename="camel"):
    """Inputs of the resources that drains are read from."""

    nodeset: str = ""
    resource: str = ""
    replicas: Whole = 0
    max_replicas: Whole = 0
    owner: str = ""
    template: str = ""
    due: Any = None
    policy: Policy = Policy()
    plan: GatePlan = GatePlan()
    hosts: dict[str, Any] = {}
    partitions: dict[str, Any] = {}
    outside: bool = False
    metadata: Metadata = Metadata()

    @classmethod
    def of(cls, raw: Json) -> Inputs:
        """Each as far as it has its shape."""
        found = {}
        for each in fields(cls):
            if each.encode_name in raw:
                with suppress(ValueError):
                    found[each.name] = convert(raw[each.encode_name], each.type, strict=False)
        return cls(**found)

    @property
    def target(self) -> int:
        """Most nodes that the NodeSet may have."""
        return self.max_replicas if self.owner == "autoscaler" else self.replicas

    def deadline_at(self, now: int) -> int | None:
        """End of a wait that begins now; None where there is none."""
        wait = self.policy.deadline_s or 0
        return now + wait if wait > 0 else None


def fresh(old: Json, new: Json) -> bool:
    """Whether there is a plan that is another one than before, in whatever part."""
    return bool(new.get("plan")) and new.get("plan") != old.get("plan")
