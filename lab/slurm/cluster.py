"""The outside cluster as a whole: write configuration, start hosts and daemons in order, and take all of it down.

Order: MariaDB, slurmdbd (a first slurmctld without it has no TRES and refuses), slurmctld, then the rest at once.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lab.errors import LabError
from lab.slurm import conf, daemons, keys, needs, rootfs, topology
from lab.slurm.daemons import Daemon
from lab.slurm.hosts import Bind, Hosts
from lab.slurm.network import Outside
from lab.slurm.site import LAB as LAB_SITE
from lab.slurm.site import Site
from lab.slurm.topology import Host

ACCOUNT = "research"
SLURM = needs.SLURM_UID
Say = Callable[[str], None]


@dataclass(frozen=True)
class Cluster:
    """The lab's Slurm outside Kubernetes, at one site."""

    site: Site
    hosts: Hosts = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hosts", Hosts(self.site))

    def up(self, *, say: Say = rootfs.tell) -> None:
        """Bring up what is not up. Safe to repeat; raises LabError with the log's end when a daemon does not come."""
        lower = rootfs.ensure(say=say)
        with self._alone():
            self.write()
            Outside(self.site.network).up()
            for host in self.members():
                self.hosts.up(host, lower, self._binds(host.name))
            self._start([daemons.MARIADB])
            self._database()
            self._start([daemons.SLURMDBD])
            self._start([daemon for daemon in self.daemons() if daemon.name == "slurmctld"])
            self._start(self.daemons())
            self._accounts()
            say("slurm: outside hosts are up: " + ", ".join(host.name for host in self.members()))

    def down(self, *, network_there: bool = True) -> None:
        """End every host with all that runs in it, remove the network and the state. Finds what a killed `up` left, too.

        Nothing is asked to end in order: what the daemons would save goes with the state. Without ``network_there`` no
        interface is looked for: their namespace is gone, and what is here is another lab's.
        """
        supervisor, label = self.site.supervisor, f"{self.site.label}-"
        found = True
        while found:  # a process that a killed `up` had just started may record itself only now
            mine = [name for name in supervisor.recorded() if name.startswith(label)]
            for name in mine:
                supervisor.resume(name)
            for name in sorted(mine, key=len):  # a host before its daemons, which end with it
                supervisor.stop(name, timeout=2.0)
            found = bool(supervisor.sweep(label)) or bool(mine)
        if network_there:
            Outside(self.site.network).down()
        shutil.rmtree(self.site.folder, ignore_errors=True)
        self.site.names.unlink(missing_ok=True)

    def status(self) -> dict[str, bool]:
        """Every host and daemon that belongs to the cluster, and whether it lives: `{"ctl": True, "ctl/slurmctld": …}`."""
        found = {host.name: self.hosts.is_up(host.name) for host in self.members()}
        for daemon in self.daemons():
            process = self.hosts.process(daemon.host, daemon.name)
            found[f"{daemon.host}/{daemon.name}"] = self.site.supervisor.alive(process)
        return found

    # -- who belongs ---------------------------------------------------------------------------------------------

    def members(self) -> tuple[Host, ...]:
        """The hosts of this state: the fixed ones, the backup controller if enabled, the metal hosts added."""
        fixed = [host for host in topology.HOSTS if host.name not in topology.OPTIONAL or self._flag(host.name).exists()]
        added = [topology.metal(path.name) for path in sorted(self.site.folder.glob("added/metal-*"))]
        return tuple(dict.fromkeys([*fixed, *added]))

    def daemons(self) -> tuple[Daemon, ...]:
        """The daemons of this state, in the order in which they start."""
        names = [host.name for host in self.members()]
        first = [daemons.MARIADB, daemons.SLURMDBD, daemons.SLURMCTLD]
        backup = [daemons.BACKUP] if daemons.BACKUP.host in names else []
        metal = [daemons.slurmd(name) for name in names if topology.METAL.fullmatch(name)]
        return (*first, *backup, *metal, daemons.SACKD, daemons.SLURMRESTD)

    def add_metal_host(self, name: str) -> None:
        """One more bare-metal host (metal-3 to metal-10): configuration, host, slurmd. Returns when it is ready."""
        topology.metal(name)
        with self._alone():
            keys.put(self.site.folder / "added" / name, b"", mode=0o644)
            self.write()
            host = topology.metal(name)
            self.hosts.up(host, rootfs.ensure(), self._binds(name))
            self.reconfigure()
            self._start([daemons.slurmd(name)])

    def enable_backup(self) -> None:
        """Start ctl-2, a backup slurmctld on the shared state; it takes over SlurmctldTimeout (10 s) after ctl falls."""
        with self._alone():
            keys.put(self._flag("ctl-2"), b"", mode=0o644)
            self.write()
            host = next(host for host in self.members() if host.name == "ctl-2")
            self.hosts.up(host, rootfs.ensure(), self._binds("ctl-2"))
            self.restart("ctl", "slurmctld")
            self._start([daemons.BACKUP])
            self.restart("rest", "slurmrestd")
            self.reconfigure()
            ping = ["scontrol", "ping"]
            self.site.supervisor.await_true(
                "login-1 knows ctl-2", lambda: "ctl-2" in self.hosts.run("login-1", ping, check=False).stdout, 20.0
            )

    def disable_backup(self) -> None:
        """Take ctl-2 away again. ctl's slurmctld must be the one in charge."""
        with self._alone():
            self.stop("ctl-2", "slurmctld")
            self.hosts.down("ctl-2")
            self._flag("ctl-2").unlink(missing_ok=True)
            self.write()
            for host, daemon in (("ctl", "slurmctld"), ("rest", "slurmrestd")):
                self.restart(host, daemon)
            self.reconfigure()

    # -- one daemon ----------------------------------------------------------------------------------------------

    def start(self, host: str, daemon: str) -> None:
        """Start a daemon and wait until it is ready."""
        self._start([self._daemon(host, daemon)])

    def stop(self, host: str, daemon: str, timeout: float = 20.0) -> None:
        """Ask a daemon to end and wait for it; killed after `timeout` seconds. A paused one is woken for that."""
        process = self.hosts.process(host, self._daemon(host, daemon).name)
        if self.site.supervisor.alive(process):
            self.site.supervisor.resume(process)
        self.site.supervisor.stop(process, timeout)

    def restart(self, host: str, daemon: str) -> None:
        """Stop, start, wait until ready."""
        self.stop(host, daemon)
        self.start(host, daemon)

    def kill(self, host: str, daemon: str) -> None:
        """SIGKILL, as a crash would; returns when it is gone."""
        self.site.supervisor.kill(self.hosts.process(host, self._daemon(host, daemon).name))

    def pause(self, host: str, daemon: str) -> None:
        """SIGSTOP: alive, its port accepts, and it answers nothing from here on."""
        self.site.supervisor.pause(self.hosts.process(host, self._daemon(host, daemon).name))

    def resume(self, host: str, daemon: str) -> None:
        """SIGCONT after `pause`."""
        self.site.supervisor.resume(self.hosts.process(host, self._daemon(host, daemon).name))

    # -- configuration -------------------------------------------------------------------------------------------

    def set_nodesets_conf(self, text: str) -> None:
        """Take the stack's NodeSet= and PartitionName= lines into slurm.conf; `reconfigure` makes them count."""
        self.site.folder.mkdir(parents=True, exist_ok=True)
        keys.put(self.site.nodesets, text.encode(), mode=0o644)
        self.write()

    def apply_nodesets_conf(self, text: str) -> None:
        """The same, and let all daemons read it."""
        self.set_nodesets_conf(text)
        self.reconfigure()

    def reconfigure(self) -> None:
        """`scontrol reconfigure` on ctl: slurmctld reads slurm.conf again and sends it to every configless daemon."""
        self.hosts.run("ctl", ["scontrol", "reconfigure"])

    def write(self) -> None:
        """Write every configuration file that follows from this state. Files that are right are left alone."""
        site = self.site
        made = keys.ensure(site.keys)
        if not site.nodesets.exists():
            keys.put(site.nodesets, conf.DEFAULT_NODESETS.encode(), mode=0o644)
        members = self.members()
        address = {host.name: str(site.network.address(host.offset)) for host in members}
        controllers = tuple(conf.Controller(name, address[name]) for name in ("ctl", "ctl-2") if name in address)
        metal = tuple(conf.Metal(name, address[name]) for name in address if topology.METAL.fullmatch(name))
        slurm_conf = conf.slurm_conf(controllers, metal, site.nodesets.read_text(), site.cluster)
        for host in members:
            etc = site.etc(host.name)
            etc.mkdir(parents=True, exist_ok=True)
            if host.name == "rest":
                keys.put(etc / "slurm.conf", conf.rest_conf(controllers, site.cluster).encode(), mode=0o644)
                continue
            keys.put(etc / conf.KEY, made.slurm, mode=0o600, owner=SLURM)
            if host.name in ("ctl", "ctl-2", "dbd"):
                keys.put(etc / conf.JWT_KEY, made.jwt, mode=0o600, owner=SLURM)
            if host.name in ("ctl", "ctl-2"):
                keys.put(etc / "slurm.conf", slurm_conf.encode(), mode=0o644)
                keys.put(etc / "cgroup.conf", conf.cgroup_conf().encode(), mode=0o644)
            if host.name == "dbd":
                keys.put(etc / "slurmdbd.conf", conf.slurmdbd_conf(made.database).encode(), mode=0o600, owner=SLURM)
        site.state_save.mkdir(exist_ok=True)
        os.chown(site.state_save, SLURM, SLURM)
        keys.put(site.folder / "resolv.conf", topology.resolv_conf().encode(), mode=0o644)
        # Bound into the hosts as a file, so it is rewritten in place: a new file would not be seen there.
        (site.folder / "etc-hosts").write_text(topology.etc_hosts(site.network, members))
        keys.put(site.names, topology.names_file(site.network, members).encode(), mode=0o644)

    # -- inside --------------------------------------------------------------------------------------------------

    def _binds(self, name: str) -> list[Bind]:
        binds = [
            Bind(self.site.etc(name), conf.ETC),
            Bind(self.site.folder / "etc-hosts", "/etc/hosts"),
            Bind(self.site.folder / "resolv.conf", "/etc/resolv.conf"),
        ]
        if name in ("ctl", "ctl-2"):
            binds.append(Bind(self.site.state_save, conf.STATE_SAVE))
        return binds

    def _start(self, wanted: Sequence[Daemon]) -> None:
        """Start the daemons together, then wait for each."""
        address = {host.name: str(self.site.network.address(host.offset)) for host in self.members()}
        for daemon in wanted:
            self.hosts.spawn(daemon.host, daemon.name, daemon.argv, user=daemon.user)
        for daemon in wanted:
            self.site.supervisor.await_true(
                f"{daemon.name} on {daemon.host} is ready ({daemon.ready.value})",
                lambda daemon=daemon: daemons.is_ready(self.hosts, daemon, address[daemon.host]),  # type: ignore[misc]
                daemon.seconds,
                log=self.hosts.process(daemon.host, daemon.name),
            )

    def _daemon(self, host: str, name: str) -> Daemon:
        for daemon in self.daemons():
            if (daemon.host, daemon.name) == (host, name):
                return daemon
        known = ", ".join(f"{daemon.host}/{daemon.name}" for daemon in self.daemons())
        raise LabError(f"there is no {name} on {host}; this lab has {known}")

    def _flag(self, name: str) -> Path:
        return self.site.folder / "enabled" / name

    def _database(self) -> None:
        """slurmdbd's account in MariaDB; from the pod network too, for the form with slurmdbd in Kubernetes.

        The database is made here: libmariadb 3.4.10 forgets its limits when slurmdbd connects a second time on one
        handle, after it had to create the database itself ("Number of columns in result (=1)" and a fatal error).
        """
        password = keys.ensure(self.site.keys).database
        statements = f"CREATE DATABASE IF NOT EXISTS {conf.DATABASE};" + "".join(
            f"CREATE USER IF NOT EXISTS slurm@'{place}' IDENTIFIED BY '{password}';"
            f"GRANT ALL ON `slurm\\_acct\\_db%`.* TO slurm@'{place}';"
            for place in ("localhost", "10.%")
        )
        done = self.hosts.run("dbd", ["mariadb", f"--socket={daemons.SOCKET}"], stdin=statements, check=False)
        if done.returncode:  # what it says quotes the statement, and with it the password
            code = re.search(r"ERROR \d+", done.stderr)
            raise LabError(
                f"MariaDB on dbd refused slurmdbd's account: {code[0] if code else 'no error number'}; "
                f"see {self.site.supervisor.log_path(self.hosts.process('dbd', 'mariadbd'))}"
            )

    def _accounts(self) -> None:
        """Users alice and bob, an operator and an administrator, in slurmdbd; does nothing if they are there."""
        listed = self.hosts.run("ctl", ["sacctmgr", "-nP", "list", "user", "format=user"]).stdout.split()
        if {"alice", "bob", "drainop", "drainadm"} <= set(listed):
            return
        sacctmgr = ["sacctmgr", "-i", "add"]
        self.hosts.run("ctl", [*sacctmgr, "account", ACCOUNT], check=False)
        for user, level in (("alice", "none"), ("bob", "none"), ("drainop", "operator"), ("drainadm", "admin")):
            self.hosts.run("ctl", [*sacctmgr, "user", user, f"account={ACCOUNT}", f"adminlevel={level}"])

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One change at a time; the kernel gives the lock back however its holder ends."""
        self.site.folder.mkdir(parents=True, exist_ok=True)
        with (self.site.folder / "lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


LAB = Cluster(LAB_SITE)
