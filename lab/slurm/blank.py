"""Blank hosts: what an admin has before a host joins. Debian with Slurm's packages, nothing set up, no daemon, no key.

They boot systemd, as machines do, and belong to no cluster: slurm.conf and the other hosts' /etc/hosts know nothing of
them, `up` starts none and `down` of the lab takes them along. On top of the other hosts' root file system they have Python
and cloud-init, as machines do that Ansible or a cloud sets up; that layer is made once, when a blank host is asked for.
"""

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import paths
from lab.errors import LabError
from lab.kubernetes import machine
from lab.slurm import rootfs, topology
from lab.slurm.cluster import LAB as CLUSTER
from lab.slurm.cluster import Cluster
from lab.slurm.hosts import Bind
from lab.slurm.rootfs import RECIPE, Recipe, Say

PACKAGES = ("python3", "cloud-init")
# Root is an overlay of the hosts' file system and the new layer; apt's caches stay out of it.
SCRIPT = """set -eu
lower=$1 layer=$2
shift 2
mkdir -p "$layer/upper" "$layer/work" "$layer/root"
mount -t overlay -o "lowerdir=$lower,upperdir=$layer/upper,workdir=$layer/work" layer "$layer/root"
root=$layer/root
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/var/lib/apt/lists"
mount -t tmpfs tmpfs "$root/var/cache/apt"
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
chroot "$root" apt-get update -qq
chroot "$root" apt-get install -y -qq --no-install-recommends "$@"
chroot "$root" python3 -c 'import json, zipfile'
chroot "$root" cloud-init --version
"""


def layer(recipe: Recipe = RECIPE, packages: Sequence[str] = PACKAGES, *, say: Say = rootfs.tell) -> Path:
    """What blank hosts have beyond `recipe`, as an overlay's lower folder; made if it is not there (half a minute).

    Raises LabError with the end of the log when Debian hasn't the packages.
    """
    lower = rootfs.ensure(recipe, say=say)
    key = hashlib.sha256(repr((recipe.key(), tuple(packages), SCRIPT)).encode()).hexdigest()[:12]
    ready = paths.CACHE / "rootfs-blank" / key
    if ready.is_dir():
        return ready / "upper"
    ready.parent.mkdir(parents=True, exist_ok=True)
    with rootfs.alone(ready.parent / "lock"):
        if not ready.is_dir():
            part = ready.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            say(f"slurm: {' and '.join(packages)} are being installed for blank hosts (half a minute, once)")
            rootfs.sealed(["sh", "-c", SCRIPT, "layer", str(lower), str(part), *packages], ready.with_suffix(".log"))
            part.rename(ready)
    return ready / "upper"


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
        lower = f"{layer(say=say)}:{rootfs.ensure(say=say)}"
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
