"""What one look brought back, question by question, before anything is concluded from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac.cluster.snapshot import Workers
from slinky_iac.commands.status.model import Answer
from slinky_iac.config.stack import StackConfig
from slinky_iac.kube.scalers import Scaling
from slinky_iac.slurmrest.accounts import Cluster
from slinky_iac.slurmrest.controller import Diag, Pings
from slinky_iac.slurmrest.lists import JobsAnswer, NodesAnswer

NOT_ASKED: Final = "not asked: "
"""Begins the trouble of a question whose way was known to be closed; its cause is told once, by the question that met it."""


@dataclass(frozen=True)
class SeenKey:
    """The Secret of a key in the cluster."""

    fingerprint: str
    """Empty where there is no such Secret, or no such entry in it."""
    made: int | None
    """When the Secret was made; of one that is changed in place, when the key was written to it at the latest."""
    besides: tuple[str, ...] = ()
    """Other keys that are handed out beside it, by their fingerprints: one of them comes or goes."""
    text: str = ""
    """What is wrong with how it is handed out."""


@dataclass(frozen=True)
class Configured:
    """The stack's configuration, which may be ahead of its state, or between two steps of a rotation."""

    marks: frozenset[str] = frozenset()
    """Names of those secrets that are set only while a key is being replaced."""
    config: StackConfig | None = None
    fault: str = ""
    """Why there is no ``config``."""

    @property
    def users_url(self) -> str:
        """Address of the slurmrestd for users, outside Kubernetes; empty where there is none, or it isn't known."""
        external = None if self.config is None else self.config.external.slurmrestd
        return "" if external is None else external.url


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
    workers: Mapping[str, Answer[Workers]] = field(default_factory=dict)
    scalers: Mapping[str, Answer[Scaling]] = field(default_factory=dict)
    operator: Answer[tuple[str, ...]] = field(default_factory=_nothing)
    fence: Answer[tuple[str, ...]] = field(default_factory=_nothing)
    """What is wrong with the fence; an empty answer: it stands."""
    keys: Mapping[str, Answer[SeenKey]] = field(default_factory=dict)
    configured: Answer[Configured] = field(default_factory=_nothing)
    users_slurmrestd: Answer[str] = field(default_factory=_nothing)
    history: Answer[Sequence[Mapping[str, Any]]] = field(default_factory=_nothing)

    @property
    def users_url(self) -> str:
        """As :attr:`Configured.users_url`."""
        return "" if self.configured.value is None else self.configured.value.users_url

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
            ("fence", self.fence),
            *((f"NodeSet {name}", answer) for name, answer in self.workers.items()),
            *((f"autoscaler of {name}", answer) for name, answer in self.scalers.items()),
            *((name, answer) for name, answer in self.keys.items()),
            ("configuration", self.configured),
            ("configuration", Answer(trouble=self.configured.value.fault if self.configured.value else "")),
            ("history", self.history),
        ]
        first: dict[str, str] = {}
        for what, answer in asked:
            if answer.trouble and not answer.trouble.startswith(NOT_ASKED):
                first.setdefault(answer.trouble, what)
        return tuple(f"{what}: {trouble}" for trouble, what in first.items())
