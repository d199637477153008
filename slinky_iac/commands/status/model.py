"""What one look brought back, question by question, and what one screen says, as frozen values. Times are seconds since
1970."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, TypeVar

from slinky_iac.cluster.snapshot import Workers
from slinky_iac.config.stack import StackConfig
from slinky_iac.drain.own_writers import WriterState
from slinky_iac.slurmrest.controller import Diag, Pings
from slinky_iac.slurmrest.daemons import Cluster
from slinky_iac.slurmrest.lists import JobsAnswer, NodesAnswer

Value_co = TypeVar("Value_co", covariant=True)
Reachable = Literal["up", "down", "unknown"]


@dataclass(frozen=True)
class Answer(Generic[Value_co]):
    """What came back from one question, and how long it took; or why nothing did."""

    value: Value_co | None = None
    ms: int = 0
    trouble: str = ""

    @property
    def known(self) -> bool:
        return self.value is not None


@dataclass(frozen=True)
class Endpoint:
    """Something that answers, or should."""

    name: str
    where: str
    """Address, or through what it was asked."""
    state: Reachable
    latency_ms: int | None = None
    """Of one question over an open connection, proxies between included."""
    text: str = ""
    """What it said, or what is known about its silence."""


@dataclass(frozen=True)
class Version:
    """Release of one daemon, or of several alike."""

    daemon: str
    release: str
    """As it says itself; ``unknown`` where it wasn't told."""
    text: str = ""
    """How many, how it is known, or how to find out."""


@dataclass(frozen=True)
class Group:
    """Slurm nodes that belong together."""

    name: str
    kind: Literal["nodeset", "metal", "other"]
    wanted: int | None = None
    """Replicas that the NodeSet asks for, or hosts in the configuration."""
    pods: int | None = None
    ready: int | None = None
    states: Mapping[str, int] | None = None
    """Nodes by the word of their state; None where slurmctld couldn't be asked."""
    text: str = ""
    registered: int | None = None
    """Pods to stay whose nodes slurmctld knows and that answer; None where it couldn't be asked."""
    invalid: int | None = None
    """Nodes that slurmctld refuses, for they registered with other resources; None where it couldn't be asked."""
    deadline_s: int | None = None
    """How long a run of its gate waits for jobs."""
    paused: bool | None = None
    """Whether its autoscaler is paused; None where the stack makes none, or it couldn't be asked."""


@dataclass(frozen=True)
class Drained:
    """A node that is drained, or marked by a scale-in."""

    node: str
    group: str
    state: str
    owner: str
    """``this stack``, ``stack <other>``, ``slurm-operator``, a user's name, ``somebody else``, or empty for a mark only."""
    reason: str
    returns: str = ""
    """When slurmctld undrains the node without a request, ISO 8601, or empty."""
    jobs: tuple[str, ...] = ()
    since: int | None = None
    """When the drain was set, by slurmctld's clock."""


@dataclass(frozen=True)
class Key:
    """A key by name: never its value."""

    name: str
    secret: str
    """``namespace/name`` of its Secret."""
    fingerprint: str
    """``SHA256:…``, or of an RSA key ``kid …``."""
    made: int | None
    """When its Secret was made; of the token key, whose Secret is changed in place, when it was last written."""
    cluster: Literal["same", "differs", "unknown"]
    """Whether the Secret in the cluster holds what the stack says."""
    text: str = ""
    signs: tuple[str, ...] = ()
    """Whose tokens it signs: ``operator``, ``this stack``, or ``unknown`` where it isn't known if this stack's."""


@dataclass(frozen=True)
class KeyChange:
    """A key that is being replaced."""

    key: str
    how: Literal["under running jobs", "planned stop", "unknown"]
    signs: tuple[str, ...]
    """What tells that it is, in words."""
    besides: tuple[str, ...]
    """Fingerprints of the keys that are handed out beside the one in use; which of them comes or goes isn't told by them."""
    command: str
    """Shows all steps, and the one that is due."""


@dataclass(frozen=True)
class Guarded:
    """Whether a guard stands: for the fence, whether the API server refuses what no gate has drained."""

    state: Literal["stands", "off", "broken", "unknown"]
    """``off``: the stack has none. ``broken``: part of it is gone or changed."""
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class LastUp:
    """The last `pulumi up` of the stack, and what came after it."""

    result: str
    """``succeeded``, ``failed``, ``in-progress``, as the backend says."""
    started: int | None
    ended: int | None
    who: str
    changes: Mapping[str, int] = field(default_factory=dict)
    message: str = ""
    later: str = ""
    """A destroy or refresh since."""


@dataclass(frozen=True)
class Status:
    """The whole screen."""

    taken_at: int
    stack: str
    cluster: str
    holds: int
    """Resources in the stack's state."""
    endpoints: tuple[Endpoint, ...]
    versions: tuple[Version, ...]
    groups: tuple[Group, ...]
    drains: tuple[Drained, ...] | None
    """None where it couldn't be asked."""
    keys: tuple[Key, ...]
    last: LastUp | None
    """None where there was none, or it couldn't be asked (then ``unknown`` says so)."""
    unknown: tuple[str, ...] = ()
    """What could not be asked, with the reason, each cause once."""
    key_changes: tuple[KeyChange, ...] | None = ()
    """None where nothing tells of any, and the configuration, which would, couldn't be read."""
    guards: Mapping[str, Guarded | None] = field(default_factory=dict)
    """By the name of the part; None where the stack has no Slurm to ask."""

    @property
    def broken(self) -> tuple[str, ...]:
        """Names of the guards that don't stand."""
        return tuple(name for name, guard in self.guards.items() if guard is not None and guard.state == "broken")


NOT_ASKED: Final = "not asked: "
"""Begins the trouble of a question whose way was known to be closed; the question that met the cause reports it once."""
NOT_READ: Final = "its Secret isn't read here"


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
    users: str = ""
    """As :attr:`Seen.users_url`, where it is known without ``config``."""


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
    writers: Mapping[str, Mapping[str, Answer[WriterState]]] = field(default_factory=dict)
    """What else of the stack writes the number of a NodeSet, by what it is called."""
    operator: Answer[tuple[str, ...]] = field(default_factory=_nothing)
    guards: Mapping[str, Answer[tuple[str, ...]]] = field(default_factory=dict)
    """What is wrong with each guard; an empty answer: it stands."""
    keys: Mapping[str, Answer[SeenKey]] = field(default_factory=dict)
    configured: Answer[Configured] = field(default_factory=_nothing)
    users_slurmrestd: Answer[str] = field(default_factory=_nothing)
    history: Answer[Sequence[Mapping[str, Any]]] = field(default_factory=_nothing)

    @property
    def config(self) -> StackConfig | None:
        """The stack's configuration; None where it isn't known."""
        return None if self.configured.value is None else self.configured.value.config

    @property
    def users_url(self) -> str:
        """Address of the slurmrestd for users, outside Kubernetes; empty where there is none, or it isn't known."""
        known = "" if self.configured.value is None else self.configured.value.users
        return known if self.config is None else self.config.external.users_url or known

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
            *((name, answer) for name, answer in self.guards.items()),
            *((f"NodeSet {name}", answer) for name, answer in self.workers.items()),
            *((f"{what} of {name}", answer) for name, answers in self.writers.items() for what, answer in answers.items()),
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
