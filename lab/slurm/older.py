"""A Slurm that is too old, outside Kubernetes: what a site has that has not updated. Debian 13 with its own Slurm 24.11.

One host beside those of the lab's own cluster: slurmctld with auth/slurm and auth/jwt, and slurmrestd, with the lab's own
keys; no slurmdbd and no slurmd. `up` of the lab does not start it, `down` takes it along.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from lab.slurm import conf, daemons, keys, needs, rootfs
from lab.slurm.cluster import LAB as CLUSTER
from lab.slurm.cluster import Cluster
from lab.slurm.daemons import Daemon, Ready
from lab.slurm.hosts import Bind
from lab.slurm.rootfs import Say
from lab.slurm.topology import Host

NAME = "elder"
RELEASE = "24.11"
HOST = Host("elder-ctl", 43)
RECIPE = replace(
    rootfs.RECIPE,
    suite="trixie",
    packages=(
        "slurmctld", "slurmrestd", "slurm-client", "slurm-wlm-basic-plugins", "slurm-wlm-jwt-plugin", "iproute2", "adduser",
        "tini",
    ),
    users=(rootfs.User("mysql", 2099),),  # host-init.sh makes a folder for it on every host
)  # fmt: skip
CONF = f"""\
ClusterName={NAME}
SlurmctldHost={HOST.name}
SlurmUser=slurm
SlurmctldPort={conf.CTLD_PORT}
AuthType=auth/slurm
CredType=cred/slurm
AuthInfo=use_client_ids
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key={conf.ETC}/{conf.JWT_KEY}
SlurmctldParameters=enable_configless
StateSaveLocation={conf.STATE_SAVE}
SlurmctldLogFile=/var/log/slurm/slurmctld.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MaxNodeCount=1024
ReturnToService=2
{conf.DEFAULT_NODESETS}"""
SLURMCTLD = Daemon(HOST.name, "slurmctld", ("/usr/sbin/slurmctld", "-D", "-i"), Ready.TCP, conf.CTLD_PORT)
# Its plugin for slurmdbd ends it where there is none, so the configuration names the one to load.
SLURMRESTD = replace(
    daemons.SLURMRESTD, host=HOST.name, argv=(*daemons.SLURMRESTD.argv[:-1], "-s", "slurmctld", daemons.SLURMRESTD.argv[-1])
)


def root(*, say: Say = rootfs.tell) -> Path:
    """Its root file system, made once. Raises LabError where Debian 13 has another Slurm by now."""
    return rootfs.ensure(RECIPE, say=say, faults=_faults)


def _faults(made: Path) -> list[str]:
    done = subprocess.run(["chroot", str(made), "slurmctld", "-V"], capture_output=True, text=True, check=False, timeout=60)
    found = re.search(r"\d+\.\d+", done.stdout)
    got = found[0] if found else "nothing"
    faults = [] if got == RELEASE else [f"Slurm is {got}, and {RELEASE} is what the test of an older one is written for"]
    plugins = {file.stem for file in made.glob(needs.PLUGIN_FILES)}
    return faults + [f"plugin {name}.so is not there" for name in ("auth_slurm", "auth_jwt") if name not in plugins]


@dataclass(frozen=True)
class Older:
    """The host with the older Slurm, beside one lab's own cluster."""

    beside: Cluster

    @property
    def address(self) -> str:
        """Its address. Only it knows its name."""
        return str(self.beside.site.network.address(HOST.offset))

    def up(self, *, say: Say = rootfs.tell) -> None:
        """Make it from nothing; returns when slurmctld and slurmrestd take connections."""
        self.down()
        hosts, site = self.beside.hosts, self.beside.site
        made, etc = keys.ensure(site.keys), site.etc(HOST.name)
        keys.put(etc / "slurm.conf", CONF.encode(), mode=0o644)
        keys.put(etc / conf.KEY, made.slurm, mode=0o600, owner=needs.SLURM_UID)
        keys.put(etc / conf.JWT_KEY, made.jwt, mode=0o600, owner=needs.SLURM_UID)
        # With no server to ask for names: slurmrestd asks for those of its clients, and Debian's own file names a server.
        files = {"hosts": f"127.0.0.1 localhost\n{self.address} {HOST.name}\n", "resolv.conf": ""}
        for name, text in files.items():
            keys.put(site.host(HOST.name) / name, text.encode(), mode=0o644)
        binds = [Bind(etc, conf.ETC), *(Bind(site.host(HOST.name) / name, f"/etc/{name}") for name in files)]
        hosts.up(HOST, root(say=say), binds)
        hosts.run(HOST.name, ["install", "-d", "-o", "slurm", "-g", "slurm", "-m", "755", conf.STATE_SAVE])
        for daemon in (SLURMCTLD, SLURMRESTD):
            process = hosts.process(HOST.name, daemon.name)
            hosts.spawn(HOST.name, daemon.name, daemon.argv)
            site.supervisor.await_true(f"{daemon.name} {RELEASE} is ready", partial(self._ready, daemon), 60.0, log=process)
        say(f"slurm: slurmctld and slurmrestd {RELEASE} are up on {HOST.name}")

    def down(self) -> None:
        """End the host and forget its disk. Repeatable."""
        hosts, site = self.beside.hosts, self.beside.site
        hosts.down(HOST.name)
        for daemon in (SLURMCTLD, SLURMRESTD):
            site.supervisor.stop(hosts.process(HOST.name, daemon.name), timeout=2.0)
        shutil.rmtree(site.host(HOST.name), ignore_errors=True)

    def _ready(self, daemon: Daemon) -> bool:
        return daemons.is_ready(self.beside.hosts, daemon, self.address)


LAB = Older(CLUSTER)
