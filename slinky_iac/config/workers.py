"""Sections that occur many times: NodeSets, login sets, partitions, outside hosts; and how drains wait."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import Field, model_validator

from slinky_iac.config.base import Section
from slinky_iac.config.fields import (
    Cpus,
    DnsLabel,
    Feature,
    FilePath,
    Gres,
    Host,
    Image,
    Memory,
    NodeConf,
    NodeName,
    NodeSetName,
    PartitionConf,
    Share,
    SlurmName,
    UpToAMonth,
    UpToAYear,
    Url,
)
from slinky_iac.config.raw import Raw
from slinky_iac.config.resources import ContainerResources, SecretReference
from slinky_iac.config.sections import PodSettings, Service
from slinky_iac.config.slurm.slurmd_hosts import SlurmdHost
from slinky_iac.parts.autoscale.settings import Autoscale
from slinky_iac.selection import DAEMON

_PERCENT: Final = re.compile("0*([1-9][0-9]?|100)%")


class Resources(Section):
    """What a slurmd container gets. Requests equal limits, so that Slurm's and the kernel's view agree."""

    cpus: Cpus | None = None
    """CPUs; whole numbers where Slurm shares cores among jobs."""
    memory: Memory | None = None
    """Memory; jobs of users count against it, and beyond it the whole slurmd pod is killed."""
    extended: dict[str, int] = Field(default_factory=dict)
    """Device plugin resources, e.g. nvidia.com/gpu: 8."""


class NodeSetPartition(Section):
    """The partition of a NodeSet, named after it. With an outside slurmctld it is rendered for its admin instead."""

    enabled: bool = True
    """Whether the NodeSet has a partition of its own."""
    config: PartitionConf = Field(default_factory=dict)
    """Parameters of the PartitionName= line, e.g. MaxTime: UNLIMITED."""


class RollingUpdate(Section):
    """How pods are replaced when their template changes."""

    type: Literal["Gated", "RollingUpdate", "OnDelete"] = "Gated"
    """Gated: `pulumi up` drains and replaces pods by the rules of `drain`, and a preview shows whose jobs it waits for.
    RollingUpdate: slurm-operator does, in its own time and without limit, deadline or preview; it doesn't count suspended
    jobs. OnDelete: you delete pods yourself."""
    max_unavailable: int | str = "25%"
    """Pods that may be away at once: a number above 0 or a percentage. Not read with OnDelete."""

    @model_validator(mode="after")
    def _above_zero(self) -> RollingUpdate:
        value = self.max_unavailable
        if isinstance(value, str):
            if _PERCENT.fullmatch(value) is None:
                raise ValueError("maxUnavailable is a number above 0 or a percentage from 1% to 100%")
        elif value < 1:
            raise ValueError("maxUnavailable must be above 0, else no pod is ever updated (the webhook refuses it)")
        return self


class Volume(Section):
    """A volume in the slurmd or the login container."""

    name: DnsLabel
    """Volume name."""
    mount_path: str = Field(pattern=r"^/\S*$")
    """Where it is mounted."""
    source: dict[str, Any]
    """Volume source as in a PodSpec, e.g. {hostPath: {path: /scratch}} or {persistentVolumeClaim: {claimName: home}}."""
    read_only: bool = False
    """Mount read-only."""
    sub_path: str = Field(default="", pattern=r"^([^/\s][^\s]*)?$")
    """A folder of the volume, in the place of all of it."""
    mount_propagation: Literal["", "None", "HostToContainer", "Bidirectional"] = ""
    """mountPropagation, for file systems that are mounted below it later."""


class Ssh(Section):
    """sshd in worker pods (operator 1.1 or newer)."""

    enabled: bool = False
    """Run sshd beside slurmd."""
    sssd_conf_from: SecretReference | None = None
    """Where sssd.conf for it is; by default that of `identity.sssd`."""
    extra_sshd_config: str = ""
    """More lines for sshd_config."""


class DrainLimits(Section):
    """What a scale-in may touch at the most; beyond it already the preview fails."""

    max_share: Share | None = None
    """Share of the NodeSet that is selected for removal at once, above 0 to 1, or as 50%."""
    max_jobs: int | None = Field(default=None, ge=0, le=1_000_000_000)
    """Jobs on the nodes that are selected for removal."""
    max_job_age: UpToAYear | None = None
    """No job that has run longer than this may be on them."""


class Drain(Section):
    """How long and how a scale-in, a removal or a destroy waits for jobs."""

    deadline: UpToAYear = 1800
    """Longest wait of one `pulumi up` for the jobs of this NodeSet, in seconds or as 30m, 2h; 365d at the most."""
    on_deadline: Literal["keep", "undo", "requeue", "cancel"] = "keep"
    """keep: fail, leave the nodes drained, the next `pulumi up` continues. undo: fail and return them. requeue: requeue the
    jobs. cancel: signal them, then cancel after `grace`. Only the last two touch jobs."""
    grace: UpToAMonth = 60
    """Between the signal and the cancel, with onDeadline: cancel; 30d at the most."""
    signal: Literal["SIGTERM", "SIGUSR1", "SIGUSR2", "SIGINT"] = "SIGTERM"
    """Signal sent at the deadline, with onDeadline: cancel."""
    max_at_once: int | None = Field(default=None, ge=1, le=1_000_000)
    """Nodes drained at the same time while jobs still run on them; the others follow as these get free, and the pods go
    together at the end, in one write of replicas. By default all."""
    register_deadline: UpToAYear = 300
    """How long new nodes may take to register with slurmctld after a scale-out."""
    start_at_once: int | None = Field(default=None, ge=1, le=1_000_000)
    """Pods of a scale-out that start at the same time; the others follow as these register. By default all, of which
    slurm-operator creates up to 250 in one pass. Doesn't bind an autoscaler."""
    limits: DrainLimits = DrainLimits()
    """What blocks a preview."""
    show_users: bool = True
    """Name the users whose jobs are waited for, in plans, stack outputs, change orders and progress. With false each has a
    short hash in place of the name, as user-3f2a: for sites where Slurm's PrivateData hides whose jobs run."""


class NodeSet(Section):
    """Slurm compute nodes as pods, all alike."""

    replicas: int = Field(ge=0)
    """Number of pods, each on a Kubernetes node of its own. Lowered only after the nodes that are selected for removal
    are drained. None with scalingMode: DaemonSet."""
    scaling_mode: Literal["StatefulSet", "DaemonSet"] = "StatefulSet"
    """StatefulSet: `replicas` pods. DaemonSet: a pod on each Kubernetes node that fits `pod.nodeSelector`, `pod.affinity`
    and `pod.tolerations`, under the Kubernetes node's name (operator 1.1 or newer). Nodes that no longer fit are drained
    before these three are written. A change of the mode replaces the NodeSet, drained."""
    owner: Literal["stack", "autoscaler"] = "stack"
    """Who sets replicas after creation: this stack, or an autoscaler (HPA, KEDA)."""
    max_replicas: int | None = Field(default=None, ge=0)
    """With owner: autoscaler, the most it may ask for; with scalingMode: DaemonSet, how many Kubernetes nodes may fit.
    Counted against MaxNodeCount."""
    autoscale: Autoscale | None = None
    """The autoscaler that this stack makes for `owner: autoscaler`. By default you make it yourself."""
    image: Image | None = None
    """slurmd image; by default cluster.images.slurmd."""
    resources: Resources = Resources()
    """CPUs, memory and devices."""
    partition: NodeSetPartition = NodeSetPartition()
    """The partition named after this NodeSet."""
    features: tuple[Feature, ...] = ()
    """Slurm features besides the NodeSet's name, which every node has."""
    gres: tuple[Gres, ...] = ()
    """Generic resources as a list, e.g. ["gpu:a100:8"]; their devices are `resources.extended`."""
    extra_conf: NodeConf = Field(default_factory=dict)
    """More node parameters for slurmd --conf, e.g. Weight: 10."""
    pod: PodSettings = PodSettings()
    """Placement, grace period, host network."""
    privileged: bool | None = None
    """Run slurmd privileged; by default what the operator sets, which is true, with SYS_ADMIN, NET_ADMIN and BPF beside it:
    anyone who becomes root in such a pod is close to root on its Kubernetes node. false is refused where the release
    drops it."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment of the slurmd container. No secrets: pod specs are readable. Nothing that runs other code (PATH)."""
    volumes: tuple[Volume, ...] = ()
    """Volumes in the slurmd container."""
    update_strategy: RollingUpdate = RollingUpdate()
    """How changed pods are replaced."""
    ssh: Ssh = Ssh()
    """sshd in worker pods."""
    drain: Drain = Drain()
    """How scale-in waits for jobs."""
    raw: Raw = Raw()
    """Raw pieces of its pod, container and custom resource, for what has no setting."""

    @model_validator(mode="before")
    @classmethod
    def _no_number(cls, given: object) -> object:
        """In DaemonSet mode the field, which all other NodeSets need, is 0."""
        if not isinstance(given, Mapping) or DAEMON not in (given.get("scalingMode"), given.get("scaling_mode")):
            return given
        if given.get("replicas"):
            raise ValueError(
                "replicas: with scalingMode: DaemonSet slurm-operator makes a pod on each Kubernetes node that fits, and"
                " reads no number. Take `replicas` out, of nodesetDefaults too, and select nodes by pod.nodeSelector"
            )
        return {**given, "replicas": 0}

    @model_validator(mode="after")
    def _maximum(self) -> NodeSet:
        if self.max_replicas is not None and self.max_replicas < self.replicas:
            raise ValueError(
                f"maxReplicas: got {self.max_replicas}, below replicas {self.replicas}; the autoscaler would begin above its"
                " own limit"
            )
        return self

    @property
    def most(self) -> int:
        """The most pods."""
        return self.replicas if self.max_replicas is None else self.max_replicas

    @property
    def scaled_by_others(self) -> bool:
        """Whether something else than this stack sets replicas after creation."""
        return self.owner == "autoscaler"

    @property
    def has_pods(self) -> bool:
        """Whether the stack itself gives it pods."""
        return (self.replicas > 0 or self.on_each_node) and self.owner == "stack"

    @property
    def on_each_node(self) -> bool:
        return self.scaling_mode == DAEMON

    @property
    def slurmd_conf(self) -> dict[str, str]:
        """Parameters after ``slurmd --conf`` besides the feature that the operator adds: features, GRES, extraConf."""
        parameters = dict(self.extra_conf)
        if self.features:
            parameters["Features"] = ",".join(self.features)
        if self.gres:
            parameters["Gres"] = ",".join(self.gres)
        return parameters


class NodeSetDefaults(NodeSet):
    """What NodeSets have that say nothing else: the fields of a NodeSet. A mapping of a NodeSet's own is laid over it
    field by field; a list or a single value replaces it."""

    replicas: int = Field(default=0, ge=0)
    """Number of pods of a NodeSet that names none."""


class Partition(Section):
    """A partition over several NodeSets or outside hosts."""

    nodesets: tuple[str, ...]
    """Names of NodeSets or of outside slurmd hosts, of these also hostlists such as metal-[001-250], or ALL for every node
    of the cluster. None keeps the partition and its queue without a node."""
    config: PartitionConf = Field(default_factory=dict)
    """Parameters of the PartitionName= line."""


class LoginSet(Section):
    """Login pods: sackd and sshd."""

    replicas: int = Field(default=1, ge=0)
    """Number of pods."""
    image: Image | None = None
    """Login image; by default cluster.images.login."""
    root_authorized_keys: str = ""
    """Public keys that may log in as root."""
    extra_sshd_config: str = ""
    """More lines for sshd_config."""
    sssd_conf_from: SecretReference | None = None
    """Where sssd.conf is; by default that of `identity.sssd`. One of the two is needed."""
    service: Service = Service()
    """Service of sshd."""
    resources: ContainerResources | None = None
    """CPU and memory of a login pod: what its users' shells share."""
    raw: Raw = Raw()
    """Raw pieces of its pod, container and Service, for what has no setting."""
    pod: PodSettings = PodSettings()
    """Placement."""
    volumes: tuple[Volume, ...] = ()
    """More volumes, such as /home."""
    interrupt_sessions: bool = False
    """Let login pods be replaced and removed while srun or salloc runs in them. By default an update stops before the login
    set, and its removal waits, since their jobs end with the pod. Shells without a job are not seen."""


class LoginSetDefaults(LoginSet):
    """What login sets have that say nothing else, laid under them in the same way."""


class LoginHost(Section):
    """A login host outside Kubernetes (sackd)."""

    name: NodeName
    """Host name."""
    address: Host | None = None
    """Address."""


class SlurmrestdAddress(Section):
    """How an address of slurmrestd is protected: certificates of an https one."""

    ca_file: FilePath | None = None
    """Certificate authority of the address, as a file."""
    client_cert_file: FilePath | None = None
    """Client certificate of this program, as a PEM file, where the address asks for one. Read at each request."""
    client_key_file: FilePath | None = None
    """Key of it, as a PEM file without a passphrase."""
    allow_plain_http: bool = False
    """Send tokens to an http address of another host at `url`: they can be read on the network, and answers changed."""


class ExternalSlurmrestd(SlurmrestdAddress):
    """A slurmrestd outside Kubernetes, for users; the operator always uses the one inside. Preflight tries it."""

    url: Url
    """Base address, e.g. https://slurmrestd.example.org:6820."""


class External(Section):
    """What of the cluster lives outside Kubernetes besides slurmctld and slurmdbd."""

    slurmrestd: ExternalSlurmrestd | None = None
    """An outside slurmrestd."""
    slurmd_hosts: tuple[SlurmdHost, ...] = ()
    """Bare-metal slurmd hosts."""
    login_hosts: tuple[LoginHost, ...] = ()
    """Login hosts."""

    @property
    def users_url(self) -> str:
        """Address of the slurmrestd for users; empty where there is none outside."""
        return "" if self.slurmrestd is None else self.slurmrestd.url

    def expanded(self) -> External:
        """The same with a host for each name of a hostlist: so all that goes by hosts sees them."""
        every = tuple(host for number, host_group in enumerate(self.slurmd_hosts) for host in host_group.each(number))
        return self.model_copy(update={"slurmd_hosts": every})


NodeSets = dict[NodeSetName, NodeSet]
LoginSets = dict[DnsLabel, LoginSet]
Partitions = dict[SlurmName, Partition]
