"""Blank hosts: what an admin has before a host joins. Debian with Slurm's packages, nothing set up, no daemon, no key.

They boot systemd, as machines do, and belong to no cluster: slurm.conf and the other hosts' /etc/hosts know nothing of
them, `up` starts none and `down` of the lab takes them along. On top of the other hosts' root file system they have Python
and cloud-init, as machines do that Ansible or a cloud sets up; that layer is made once, when a blank host is asked for.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from lab import paths
from lab.errors import LabError
from lab.kubernetes import machine
from lab.slurm import rootfs, topology
from lab.slurm.cluster import LAB as CLUSTER
from lab.slurm.cluster import Cluster
from lab.slurm.hosts import Bind
from lab.slurm.layers import Layer
from lab.slurm.rootfs import Say

LAYER = Layer(
    "blank",
    ("python3", "cloud-init"),
    """chroot "$root" python3 -c 'import json, zipfile'
chroot "$root" cloud-init --version
""",
)


@dataclass(frozen=True)
class Blank:
    """The blank hosts beside one cluster."""

    cluster: Cluster

    def up(self, name: str, *, say: Say = rootfs.tell) -> str:
        """Start a blank host: `metal-3` to `metal-10`, `login-2` to `login-9`. Returns its address.

        Its disk begins empty. Names of the cluster's hosts it learns from the lab's DNS. Raises LabError for a name that
        has no place.
        """
        host = topology.blank(name)
        self.down(name)
        lower = f"{LAYER.ensure(say=say)}:{rootfs.ensure(say=say)}"
        resolver = Bind(self.cluster.site.folder / "resolv.conf", "/etc/resolv.conf")
        self.cluster.hosts.up(host, Path(lower), [resolver], cgroup=_unified() / self._cgroup(name))
        ready = ["systemctl", "is-active", "--quiet", "basic.target"]
        self.cluster.site.supervisor.await_true(
            f"systemd of {name} has booted", lambda: self.cluster.hosts.run(name, ready, check=False).returncode == 0, 30.0
        )
        return str(self.cluster.site.network.address(host.offset))

    def down(self, name: str) -> None:
        """End the host with all that runs in it, and forget its disk. Repeatable."""
        host = topology.blank(name)
        self.cluster.hosts.down(host.name)
        machine.clear_cgroups(self._cgroup(name))
        shutil.rmtree(self.cluster.site.host(host.name), ignore_errors=True)

    def _cgroup(self, name: str) -> str:
        return f"{paths.CGROUP}/{self.cluster.site.label}-{name}"


def _unified() -> Path:
    """This machine's cgroup2 tree, the only kind that systemd takes. Raises LabError where there is none."""
    found = [tree for tree in machine.hierarchies() if (tree / "cgroup.controllers").exists()]
    if not found:
        raise LabError(f"{machine.CGROUPS} holds no cgroup2 tree, and blank hosts boot systemd in one: mount it there")
    return found[0]


LAB = Blank(CLUSTER)
