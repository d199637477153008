"""More Debian packages for some hosts: a folder that lies, as an overlay, on the root file system that all hosts share.

A layer is made once per recipe, lies in CACHE/rootfs-<name>/<key>, and costs a lab that doesn't ask for it nothing.
"""

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from lab import paths
from lab.slurm import rootfs
from lab.slurm.rootfs import Recipe, Say

# Root is an overlay of the hosts' file system and the new layer; apt's caches stay out of it.
INSTALL = """set -eu
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
"""


@dataclass(frozen=True)
class Layer:
    """All that decides what a layer holds. `name` is a word for its folder in CACHE."""

    name: str
    packages: tuple[str, ...]
    finish: str
    """Shell lines after the installation, with the root file system at `$root`: what must run, what must not stay."""

    def key(self, recipe: Recipe | None = None) -> str:
        """Twelve hex digits, the same for the same layer on the same root file system."""
        below = (recipe or rootfs.wanted()).key()
        return hashlib.sha256(repr((below, self.packages, INSTALL + self.finish)).encode()).hexdigest()[:12]

    def ensure(self, recipe: Recipe | None = None, *, say: Say = rootfs.tell) -> Path:
        """The layer as an overlay's lower folder; made if it is not there (half a minute at the most).

        Raises LabError with the end of the log when Debian hasn't the packages.
        """
        lower = rootfs.ensure(recipe, say=say)
        ready = paths.CACHE / f"rootfs-{self.name}" / self.key(recipe)
        if ready.is_dir():
            return ready / "upper"
        ready.parent.mkdir(parents=True, exist_ok=True)
        with rootfs.alone(ready.parent / "lock"):
            if not ready.is_dir():
                part = ready.with_suffix(".part")
                shutil.rmtree(part, ignore_errors=True)
                part.mkdir()
                say(f"slurm: some hosts get {' and '.join(self.packages)} from Debian (half a minute, once)")
                script = ["sh", "-c", INSTALL + self.finish, "layer", str(lower), str(part), *self.packages]
                rootfs.sealed(script, ready.with_suffix(".log"))
                part.rename(ready)
        return ready / "upper"
