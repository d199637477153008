"""Where one set of outside hosts lives: its folders, its network, its supervisor. Tests make sites of their own."""

from dataclasses import dataclass, field
from pathlib import Path

from lab import paths, supervise
from lab.slurm import conf
from lab.slurm.topology import Network


@dataclass(frozen=True)
class Site:
    """Folders and network of one set of hosts. Nothing is created here."""

    folder: Path
    names: Path
    """Hosts file for CoreDNS."""
    network: Network = field(default_factory=Network)
    supervisor: supervise.Supervisor = supervise.LAB
    label: str = "slurm"
    """First part of the names of the supervised processes."""
    cluster: str = conf.CLUSTER
    """ClusterName."""

    @property
    def keys(self) -> Path:
        """slurm.key, jwt_hs256.key and the database's password, readable by root only."""
        return self.folder / "keys"

    @property
    def nodesets(self) -> Path:
        """The stack's NodeSet= and PartitionName= lines, which slurm.conf ends with."""
        return self.folder / "nodesets.conf"

    @property
    def state_save(self) -> Path:
        """slurmctld's state, shared by the primary and the backup."""
        return self.folder / "state-save"

    def host(self, name: str) -> Path:
        """A host's own folder: disk, pid, configuration."""
        return self.folder / "hosts" / name

    def etc(self, name: str) -> Path:
        """What the host has at /etc/slurm."""
        return self.host(name) / "etc-slurm"


LAB = Site(paths.STATE / "slurm", paths.HOSTS)
