"""What a preflight has seen, as plain frozen values. None and an empty ``trouble`` never mean the same: what could not be
asked carries the reason. No value here is a secret; keys appear as fingerprints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from slinky_iac.blueprint.places import Place
from slinky_iac.config.slurm.node_records import RecordedNode

if TYPE_CHECKING:  # a program without a cluster doesn't load the clients
    from slinky_iac.cluster.snapshot import Workers
    from slinky_iac.slurmrest.controller import Partition, Ping
    from slinky_iac.slurmrest.daemons import Cluster, SlurmConf
    from slinky_iac.slurmrest.objects import Node


@dataclass(frozen=True)
class Tried:
    """One TCP connection that was tried."""

    place: Place
    trouble: str = ""
    """What came back instead of a connection; empty where there was one."""
    address: str = ""
    """What the name resolved to; empty where it isn't known."""

    @property
    def open(self) -> bool:
        """Somebody took the connection."""
        return not self.trouble


@dataclass(frozen=True)
class Clock:
    """Somebody's clock, read between two readings of ours. All in seconds since 1970."""

    whose: str
    said: int
    before: float
    after: float

    @property
    def skew_s(self) -> int:
        """Seconds that it is certainly ahead of ours (below 0: behind); 0 where the two readings leave it open."""
        if self.said > self.after:
            return int(self.said - self.after)
        return -int(self.before - self.said - 1) if self.said + 1 < self.before else 0


@dataclass(frozen=True)
class PodReport:
    """What one short-lived pod saw."""

    pod: str
    node: str
    """Kubernetes node that it ran on."""
    image: str
    tried: tuple[Tried, ...] = ()
    clock: Clock | None = None
    slurm_uid: int | None = None
    """User id of the user ``slurm`` in that image; None where it has none."""
    slurmd: str = ""
    """Release of the slurmd in that image, as ``26.05.5``; empty where it has none."""
    metrics: tuple[int, int] | None = None
    """HTTP status of slurmctld's metrics, 0 where there was no answer, and the partitions in it; None: not asked."""


@dataclass(frozen=True)
class PodFacts:
    """What the short-lived pods saw, or why there were none."""

    reports: tuple[PodReport, ...] = ()
    trouble: str = ""
    skipped: bool = False
    """The command line asked for none."""


@dataclass(frozen=True)
class Kubelet:
    """How the kubelet of a node with worker pods runs."""

    cpu_policy: str = ""
    """cpuManagerPolicy: none or static."""
    topology_policy: str = ""
    """topologyManagerPolicy."""
    swap: str = ""
    """memorySwap.swapBehavior."""
    trouble: str = ""
    """Why it could not be asked; empty where it was."""


@dataclass(frozen=True)
class PodVerdict:
    """What the API server says of a pod of one custom resource, before it is made."""

    path: str
    """Settings of the custom resource, as ``nodesets.gpu``."""
    namespace: str
    """Where it was asked."""
    refused: str = ""
    """Its own words against the pod."""
    trouble: str = ""
    """Why it judged nothing."""


@dataclass(frozen=True)
class KubeFacts:
    """What the API server says."""

    server: str = ""
    unchecked: bool = False
    """Whether the kubeconfig says that the API server's certificate isn't to be checked."""
    release: str = ""
    trouble: str = ""
    """Why it could not be asked; empty where it was."""
    advice: str = ""
    """What to do about it."""
    namespace: bool | None = None
    """Whether the cluster's namespace is there."""
    restapi: bool | None = None
    """Whether slurmrestd's Deployment is there; None where that isn't known."""
    restapi_pods: int | None = None
    """Pods of slurmrestd that serve now; None where that isn't known."""
    slurmctld: frozenset[str] | None = None
    """Addresses of slurmctld's pods and of the nodes that these are on; empty where it has none, None where not known, or
    where no slurmdbd outside writes them down (:func:`slinky_iac.blueprint.places.registers_outside`)."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Fingerprints of the keys in their Secrets, under the keys' labels; those that are there."""
    keys_trouble: Mapping[str, str] = field(default_factory=dict)
    """Why a Secret's key isn't known, under the same names."""
    keys_age_s: Mapping[str, float] = field(default_factory=dict)
    """Seconds since each key was written to its Secret, or the Secret made; those that Kubernetes tells."""
    asked_at: int = 0
    """When it was asked, in seconds since 1970."""
    workers: Mapping[str, Workers] = field(default_factory=dict)
    """NodeSets with their pods, by their name in the configuration; those that are there."""
    kubelets: Mapping[str, Kubelet] = field(default_factory=dict)
    """By Kubernetes node: some of those with worker pods that have limits of CPUs or memory."""
    pods: tuple[PodVerdict, ...] = ()
    """What the API server says of the pods that the stack's custom resources describe."""
    serves: Mapping[str, bool | None] = field(default_factory=dict)
    """Whether the API server has the kinds of a part, by its name; None where that isn't known."""
    public: Mapping[str, bytes] = field(default_factory=dict)
    """Files of public keys that are there, by name."""
    public_trouble: str = ""
    """Why these aren't known."""


@dataclass(frozen=True)
class CertificateFacts:
    """What a handshake with one slurmrestd at an https address showed."""

    path: str
    """The setting that names the address."""
    url: str
    left_s: int | None = None
    """Seconds that its certificate still holds; None where it wasn't shown, or isn't believed."""
    refused: str = ""
    """Why it isn't believed; empty where it is, or where there was no connection."""
    trouble: str = ""
    """Why there was no connection; empty where there was one."""


Token = Literal["accepted", "refused", "unknown"]
IN_CONFIG, IN_SECRET = "configuration", "Secret"
"""Where a JWT key came from that was tried."""
TOKEN_IN_CONFIG, TOKEN_IN_SECRET = "configuration (RS256)", "Secret (RS256)"
"""The same of an RSA key."""


@dataclass(frozen=True)
class SlurmFacts:
    """What slurmrestd and, through it, slurmctld and slurmdbd say. None: not known, and ``failed`` says why."""

    way: str = ""
    """How slurmrestd was asked; empty where there was no way."""
    inside: bool = False
    """It is the RestApi's own, in Kubernetes, which the operator asks too."""
    trouble: str = ""
    """Why no slurmrestd could be asked; empty where one was."""
    unanswered: Mapping[str, str] = field(default_factory=dict)
    """Ways that were tried before, in vain, and what came back."""
    served: tuple[str, ...] | None = None
    release: str = ""
    """slurmrestd's."""
    tokens: Mapping[str, Token] = field(default_factory=dict)
    """By where the JWT key came from: whether slurmctld accepted a token made with it in an authenticated call."""
    token_trouble: str = ""
    slurmdbd_tokens: Mapping[str, Token] = field(default_factory=dict)
    """The same of slurmdbd, for RSA keys: it has a set of public keys of its own."""
    silent: Mapping[str, str] = field(default_factory=dict)
    """``slurmctld`` and ``slurmdbd``, where slurmrestd answers and they don't: what came back."""
    hung_up: str = ""
    """slurmctld's word, by way of slurmrestd, where it ended the connection at a token; empty where it didn't."""
    admin: str | None = None
    """Why the user of our tokens isn't an administrator of Slurm; empty where it is one."""
    controllers: tuple[Ping, ...] = ()
    """slurmctld's hosts, as slurmrestd's slurm.conf names them: the primary, then its backups."""
    conf: SlurmConf | None = None
    """slurm.conf as slurmctld runs with it (from 26.05 on)."""
    version: str = ""
    """slurmctld's release, where it tells; empty where it doesn't."""
    partitions: tuple[Partition, ...] | None = None
    jobs_by_partition: Mapping[str, int] | None = None
    """Jobs that name each partition, running or waiting; None where that wasn't asked."""
    nodes: tuple[Node, ...] | None = None
    clusters: tuple[Cluster, ...] | None = None
    qos: frozenset[str] | None = None
    """Names of the QOS that slurmdbd has."""
    slurmdbd_answers: bool | None = None
    clock: Clock | None = None
    """slurmctld's."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """By name of the field above: why it is None."""

    def unknown(self, field: str, unasked: str = "slurmctld was not asked") -> str:
        """Why a field is None, for a check of what it says."""
        return f"not known: {self.failed.get(field, unasked)}"


@dataclass(frozen=True)
class HostFacts:
    """What slurmctld's host says of its own files, through `--via`."""

    host: str
    trouble: str = ""
    """Why it could not be asked; empty where it was."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Fingerprints of its key files, under the keys' labels; those that could be read."""
    client: str = ""
    """Release of its own commands, which ask slurmdbd."""
    cgroup: bool | None = None
    """Whether its cgroup.conf suits pods; None where it can't be read."""
    gres: bool | None = None
    """Whether its gres.conf lets slurmd find GPUs; None where it didn't tell."""
    nodes: tuple[RecordedNode, ...] | None = None
    """slurmctld's nodes: their names, features and states, and no more; None where it didn't tell."""


@dataclass(frozen=True)
class DaemonTrial:
    """What a daemon that nothing depends on said of the files that the stack would give it."""

    daemon: str
    verdict: str
    """taken: it read all and was about to serve. refused: it ended. silent: neither, in time."""
    release: str = ""
    said: tuple[str, ...] = ()
    """Its own errors, in order."""
    left: tuple[str, ...] = ()
    """Parameters that could not be tried without what lives: slurmdbd, programs."""


@dataclass(frozen=True)
class TrialFacts:
    """One trial of all daemons."""

    daemons: tuple[DaemonTrial, ...] = ()
    trouble: str = ""
    """Why there was none, or not of each; empty where there was."""


@dataclass(frozen=True)
class Facts:
    """All that one preflight has seen."""

    here: tuple[Tried, ...] = ()
    kube: KubeFacts = KubeFacts()
    pod: PodFacts = PodFacts()
    slurm: SlurmFacts = SlurmFacts()
    keys: Mapping[str, str] = field(default_factory=dict)
    """Fingerprints of the imported keys, under the keys' labels."""
    keys_trouble: str = ""
    """Why imported keys could not be read."""
    public: Mapping[str, bytes] = field(default_factory=dict)
    """Files of public keys that the configuration's keys make, by name; none where these could not be read."""
    certificates: tuple[CertificateFacts, ...] = ()
    """Of each slurmrestd at an https address."""
    trial: TrialFacts | None = None
    """What the daemons said of their files; None where no `--try` was given."""
    host: HostFacts | None = None
    """slurmctld's host; None where no `--via` was given."""
    foreign: tuple[str, ...] | None = None
    """Code in the stack's state that isn't this program's; None: not asked, or not known."""
    foreign_trouble: str = ""
    """Why the state could not be read, or not be decrypted."""
