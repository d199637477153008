"""A second Slurm cluster outside Kubernetes, with auth/munge: what a site has whose Jupyter pods are to submit to it.

Two hosts beside those of the lab's own cluster: munge-ctl (munged, slurmdbd, slurmctld) and munge-1 (munged, slurmd). Each
has munge.key, slurm.conf and munged as such hosts do, and no slurm.key. slurmdbd keeps its database in the lab's MariaDB.
`up` of the lab starts none of it, `down` takes it along.

alice is 20001 there, as at a site whose numbers come from a directory, while the container image has an alice of its own.
"""

import base64
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from lab.images import Image
from lab.slurm import conf, daemons, keys, needs, rootfs, topology
from lab.slurm import image as slurm_image
from lab.slurm.cluster import LAB as CLUSTER
from lab.slurm.cluster import Cluster
from lab.slurm.daemons import Daemon, Ready
from lab.slurm.hosts import Bind, Hosts
from lab.slurm.layers import Layer
from lab.slurm.rootfs import Say
from lab.slurm.topology import Host

NAME = "atlas"
CTL, METAL = Host("munge-ctl", 41), Host("munge-1", 42)
HOSTS = (CTL, METAL)
USER, UID = "alice", 20001
DATABASE = f"{conf.DATABASE}_munge"
KEY = "etc/munge/munge.key"
SOCKET = "run/munge/munge.socket.2"
IMAGE = "slinky-lab/slurm-munge:26.05"
# Debian's package makes a key when it is installed. It would be in the image, and every host's.
LAYER = Layer("munge", ("munge",), f'chroot "$root" munged --version\nrm -f "$root/{KEY}"\n')
# Reads munge.key from standard input, as base64.
_SET_UP = f"""set -eu
umask 077
base64 -d > /{KEY}
chown munge:munge /{KEY}
chmod 400 /{KEY}
install -d -o munge -g munge -m 755 /run/munge
install -d -o slurm -g slurm -m 755 {conf.STATE_SAVE}
usermod -u {UID} {USER}
groupmod -g {UID} {USER}
"""


def image(*, say: Say = rootfs.tell) -> Image:
    """The lab's Slurm image with munged in one more layer: what a notebook's image is on a munge cluster."""
    return slurm_image.over(LAYER, ("usr",), IMAGE, say=say)


@dataclass(frozen=True)
class MungeCluster:
    """The munge cluster beside the lab's own one, whose network and MariaDB it uses."""

    beside: Cluster

    @property
    def hosts(self) -> Hosts:
        """To run commands on munge-ctl and munge-1."""
        return self.beside.hosts

    def address(self, host: Host) -> str:
        """A host's address; pods reach it there. Cluster DNS doesn't know its name."""
        return str(self.beside.site.network.address(host.offset))

    def key(self) -> bytes:
        """munge.key as the hosts have it. A secret: never print it."""
        return self.hosts.inside(CTL.name, KEY).read_bytes()

    def up(self, *, say: Say = rootfs.tell) -> None:
        """Make the cluster from nothing, with a new key, and return when its node may run jobs.

        Raises LabError with the log's end when a daemon does not come.
        """
        self.down()
        lower = f"{LAYER.ensure(say=say)}:{rootfs.ensure(say=say)}"
        key = base64.b64encode(secrets.token_bytes(1024)).decode()
        for host in HOSTS:
            self._write(host)
            self.hosts.up(host, Path(lower), self._binds(host))
            self.hosts.run(host.name, ["sh", "-c", _SET_UP], stdin=key)
            self.hosts.spawn(host.name, "munged", ["munged", "--foreground"], user="munge")
        for host in HOSTS:
            self._await(host, "munged", self.hosts.inside(host.name, SOCKET).is_socket)
        self._sql(f"CREATE DATABASE {DATABASE};")  # slurmdbd's own attempt ends it: see Cluster._database
        for daemon in self._daemons():
            self.hosts.spawn(daemon.host, daemon.name, daemon.argv)
            self._await_daemon(daemon)
        sacctmgr = ["sacctmgr", "-i", "add"]
        self.hosts.run(CTL.name, [*sacctmgr, "account", "research"])
        self.hosts.run(CTL.name, [*sacctmgr, "user", USER, "account=research"])
        say(f"slurm: the munge cluster {NAME} is up: {', '.join(host.name for host in HOSTS)}")

    def down(self) -> None:
        """End both hosts, forget their disks and the database. Repeatable."""
        supervisor = self.beside.site.supervisor
        for host in HOSTS:
            self.hosts.down(host.name)
            for name in ("munged", *(daemon.name for daemon in self._daemons())):
                supervisor.stop(self.hosts.process(host.name, name), timeout=2.0)
            shutil.rmtree(self.beside.site.host(host.name), ignore_errors=True)
        if self.hosts.is_up(daemons.MARIADB.host):
            self._sql(f"DROP DATABASE IF EXISTS {DATABASE};")

    def _daemons(self) -> tuple[Daemon, ...]:
        """In the order in which they start: a first slurmctld without slurmdbd has no TRES and refuses."""
        slurmd = Daemon(METAL.name, "slurmd", ("/usr/sbin/slurmd", "-D"), Ready.HTTP, conf.SLURMD_PORT)
        return replace(daemons.SLURMDBD, host=CTL.name), replace(daemons.SLURMCTLD, host=CTL.name), slurmd

    def _await_daemon(self, daemon: Daemon) -> None:
        host = CTL if daemon.host == CTL.name else METAL
        self._await(host, daemon.name, lambda: daemons.is_ready(self.hosts, daemon, self.address(host)))

    def _await(self, host: Host, daemon: str, check: Callable[[], bool]) -> None:
        process = self.hosts.process(host.name, daemon)
        self.beside.site.supervisor.await_true(f"{daemon} on {host.name} is ready", check, 60.0, log=process)

    def _sql(self, statement: str) -> None:
        self.hosts.run(daemons.MARIADB.host, ["mariadb", f"--socket={daemons.SOCKET}"], stdin=statement)

    def _binds(self, host: Host) -> list[Bind]:
        folder = self.beside.site.host(host.name)
        return [
            Bind(self.beside.site.etc(host.name), conf.ETC),
            Bind(folder / "etc-hosts", "/etc/hosts"),
            # slurmctld asks for the name of each client's address, and answers late where the name server is out of reach.
            Bind(self.beside.site.folder / "resolv.conf", "/etc/resolv.conf"),
        ]

    def _write(self, host: Host) -> None:
        site = self.beside.site
        etc = site.etc(host.name)
        keys.put(etc / "slurm.conf", self._slurm_conf().encode(), mode=0o644)
        keys.put(etc / "cgroup.conf", conf.cgroup_conf().encode(), mode=0o644)
        if host == CTL:
            dbd = self._slurmdbd_conf(keys.ensure(site.keys).database)
            keys.put(etc / "slurmdbd.conf", dbd.encode(), mode=0o600, owner=needs.SLURM_UID)
        names = topology.etc_hosts(site.network, (*self.beside.members(), *HOSTS))
        keys.put(site.host(host.name) / "etc-hosts", names.encode(), mode=0o644)

    def _slurm_conf(self) -> str:
        return f"""\
ClusterName={NAME}
SlurmUser=slurm
SlurmctldHost={CTL.name}({self.address(CTL)})
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation={conf.STATE_SAVE}
SlurmdSpoolDir=/var/spool/slurmd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={CTL.name}
NodeName={METAL.name} NodeAddr={self.address(METAL)} CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES State=UP
"""

    def _slurmdbd_conf(self, password: str) -> str:
        return f"""\
DbdHost={CTL.name}
SlurmUser=slurm
AuthType=auth/munge
StorageType=accounting_storage/mysql
StorageHost={daemons.MARIADB.host}
StorageUser=slurm
StoragePass={password}
StorageLoc={DATABASE}
"""


LAB = MungeCluster(CLUSTER)
