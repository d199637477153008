"""The section controller: slurmctld in Kubernetes, or an outside host."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field, model_validator

from slinky_iac import names
from slinky_iac.config.base import Section
from slinky_iac.config.fields import DnsLabel, Host, PartitionConf, Port, Quantity
from slinky_iac.config.raw import Raw
from slinky_iac.config.resources import ContainerResources
from slinky_iac.config.sections import ExternalHost, PodSettings, Service

METRICS_PATHS: Final = ("/metrics/jobs", "/metrics/nodes", "/metrics/partitions", "/metrics/scheduler")
"""What slurmctld answers on its own port. ``jobs-users-accts`` has a series for each user, so it is left out."""


class ExternalSlurmctld(ExternalHost):
    """slurmctld outside Kubernetes."""

    port: Port = names.SLURMCTLD_PORT
    """SlurmctldPort, which all hosts of a slurmctld have in common."""
    backups: tuple[Host, ...] = ()
    """Hosts of backup slurmctlds, as pods reach them, in the order of their SlurmctldHost lines behind that of `host`."""

    @model_validator(mode="after")
    def _each_host_once(self) -> ExternalSlurmctld:
        """A backup that is the primary, too, would take over from itself."""
        if len({self.host, *self.backups}) <= len(self.backups):
            raise ValueError("a host is named twice; name each once, the primary in host and the others in backups")
        return self


class Persistence(Section):
    """slurmctld's StateSaveLocation: the job queue lives here."""

    enabled: bool = True
    """Keep the state in a volume; without it a pod restart forgets every job."""
    existing_claim: DnsLabel | None = None
    """Use this claim instead of making one."""
    storage_class: str | None = None
    """StorageClass of the claim, by default Kubernetes' own default; an empty text takes a volume that is there already."""
    access_modes: tuple[Literal["ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"], ...] = ("ReadWriteOnce",)
    """Access modes of the claim."""
    size: Quantity = "4Gi"
    """Size of the claim."""


class FileTrial(Section):
    """Whether slurmctld and slurmdbd of the stack's images read new files in short-lived pods before they are written."""

    enabled: bool = False
    """Previews, and each update before its first change, try slurm.conf, slurmdbd.conf and `configFiles` where they, or the
    images, aren't those of the last trial (slurmctld in Kubernetes only). Without a trial the update stops."""
    namespace: DnsLabel | None = None
    """Namespace of these pods: one without Secrets, since an account that may make pods can mount every Secret beside them.
    By default the cluster's own."""


class Controller(Section):
    """slurmctld: in Kubernetes, or an outside host (`external`)."""

    external: ExternalSlurmctld | None = None
    """The outside slurmctld. The outside admin then sets what the other settings here would set."""
    extra_conf: PartitionConf = Field(default_factory=dict)
    """More slurm.conf parameters (in Kubernetes only). Those this program or the operator owns are refused."""
    config_files: dict[str, str] = Field(default_factory=dict)
    """More files for /etc/slurm by name, e.g. cgroup.conf, which needs `IgnoreSystemd=yes` where slurmd is in pods (in
    Kubernetes only). Names of slurm.conf and keys are refused."""
    prolog: dict[str, str] = Field(default_factory=dict)
    """Prolog scripts by name, e.g. 10-gpu.sh (in Kubernetes only). They are in /etc/slurm, beside slurm.conf."""
    epilog: dict[str, str] = Field(default_factory=dict)
    """Epilog scripts by name, e.g. 90-tmp.sh (in Kubernetes only). They are in /etc/slurm, beside slurm.conf."""
    trial: FileTrial = FileTrial()
    """A trial of the files above before they change (in Kubernetes only)."""
    persistence: Persistence = Persistence()
    """State volume (in Kubernetes only)."""
    service: Service = Service()
    """Service of slurmctld (in Kubernetes only); outside slurmd and sackd hosts need to reach it."""
    metrics: bool = False
    """Serve /metrics for Prometheus (in Kubernetes only)."""
    resources: ContainerResources | None = None
    """CPU and memory of slurmctld (in Kubernetes only)."""
    pod: PodSettings = PodSettings()
    """Placement (in Kubernetes only)."""
    raw: Raw = Raw()
    """Raw pieces of its pod, container and Service, for what has no setting (in Kubernetes only)."""
