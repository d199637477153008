"""What one look brought back, question by question, before anything is concluded from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac.kube.models import NodeSetState, Pod
from slinky_iac.slurmrest.models import Cluster, Diag, JobsAnswer, NodesAnswer, Pings
from slinky_iac.status.model import Answer

NOT_ASKED: Final = "not asked: "
"""Begins the trouble of a question whose way was known to be closed; its cause is told once, by the question that met it."""


@dataclass(frozen=True)
class SeenNodeSet:
    """A NodeSet and its pods; ``state`` None: there is none (any more)."""

    state: NodeSetState | None
    pods: tuple[Pod, ...] = ()


@dataclass(frozen=True)
class SeenKey:
    """The Secret of a key in the cluster."""

    fingerprint: str
    made: int | None


def _nothing() -> Answer[Any]:
    return Answer(trouble=f"{NOT_ASKED}the stack has none")


@dataclass(frozen=True)
class Seen:
    """All answers. A question that the stack gives no reason for has trouble that begins with NOT_ASKED."""

    now: int
    kube: Answer[str] = field(default_factory=_nothing)
    slurmrestd: Answer[Pings] = field(default_factory=_nothing)
    token: Answer[Diag] = field(default_factory=_nothing)
    served: Answer[tuple[str, ...]] = field(default_factory=_nothing)
    slurmdbd: Answer[tuple[Cluster, ...]] = field(default_factory=_nothing)
    nodes: Answer[NodesAnswer] = field(default_factory=_nothing)
    jobs: Answer[JobsAnswer] = field(default_factory=_nothing)
    nodesets: Mapping[str, Answer[SeenNodeSet]] = field(default_factory=dict)
    operator: Answer[tuple[str, ...]] = field(default_factory=_nothing)
    keys: Mapping[str, Answer[SeenKey]] = field(default_factory=dict)
    users_url: str = ""
    """Address of the slurmrestd for users, outside Kubernetes."""
    users_slurmrestd: Answer[str] = field(default_factory=_nothing)
    history: Answer[Sequence[Mapping[str, Any]]] = field(default_factory=_nothing)

    def troubles(self) -> tuple[str, ...]:
        """What could not be asked, each cause once."""
        asked: list[tuple[str, Answer[Any]]] = [
            ("Kubernetes API", self.kube),
            ("slurmrestd", self.slurmrestd),
            ("slurmctld", self.token),
            ("REST versions", self.served),
            ("slurmdbd", self.slurmdbd),
            ("Slurm's nodes", self.nodes),
            ("Slurm's jobs", self.jobs),
            ("slurm-operator", self.operator),
            *((f"NodeSet {name}", answer) for name, answer in self.nodesets.items()),
            *((name, answer) for name, answer in self.keys.items()),
            ("configuration", self.users_slurmrestd) if not self.users_url else ("", Answer("")),
            ("history", self.history),
        ]
        told: dict[str, str] = {}
        for what, answer in asked:
            if answer.trouble and not answer.trouble.startswith(NOT_ASKED):
                told.setdefault(answer.trouble, what)
        return tuple(f"{what}: {trouble}" for trouble, what in told.items())
