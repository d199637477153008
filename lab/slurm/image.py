"""The container image `slinky-lab/slurm:26.05`: one image for every Slurm container that slurm-operator makes.

Made from the hosts' root file system without MariaDB's server, Perl, apt and systemd; entrypoint.sh finds the role,
so a custom resource names the image and nothing else. The archive (`docker load`, `ctr images import`) has one layer
and lies in CACHE/images under a key of everything that decides its content.
"""

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

from lab import images, paths
from lab.slurm import rootfs
from lab.slurm.layers import Layer
from lab.slurm.rootfs import Recipe, Say

NAME = "slinky-lab/slurm:26.05"
ENTRYPOINT = Path(__file__).with_name("entrypoint.sh")
TREE = Path(__file__).with_name("image-tree.sh")
UNWANTED = (
    "mariadb-*", "galera-*", "libdbi-perl", "libdbd-*", "perl", "perl-base", "perl-modules-*", "libperl5*", "apt",
    "libapt-pkg*", "sqv", "systemd", "libsystemd-shared", "libc-gconv-modules-extra", "rsync", "socat", "psmisc",
    "adduser", "debconf", "gawk", "tzdata", "openssl",
)  # fmt: skip
PACK = "import sys; from lab.slurm.image import pack; pack(*sys.argv[1:])"
COMMAND = ("tini", "-g", "--", "/usr/local/bin/slurm-entrypoint")


def key(recipe: Recipe) -> str:
    """Twelve hex digits of what decides the image: the root file system's recipe, both scripts, the package list."""
    parts = [recipe.key(), ENTRYPOINT.read_text(), TREE.read_text(), repr(UNWANTED), repr(COMMAND)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def ensure(recipe: Recipe | None = None, *, say: Say = rootfs.tell) -> images.Image:
    """The image of `recipe`, without one the lab's; its archive made if it is not there. Raises LabError when a program in
    it does not run."""
    recipe = recipe or rootfs.wanted()
    folder = paths.CACHE / "images"
    ready = folder / f"slurm-{key(recipe)}.tar"
    if ready.exists():
        return images.Image(NAME, ready)
    lower = rootfs.ensure(recipe, say=say)
    folder.mkdir(parents=True, exist_ok=True)
    with rootfs.alone(folder / "slurm.lock"):
        if not ready.exists():
            say(f"slurm: image {NAME} is being packed (about 10 seconds, 95 MB)")
            work = folder / "slurm.work"
            work.mkdir(exist_ok=True)  # a mount point, used in a mount namespace only
            pack = ["env", f"PYTHONPATH={paths.REPO}", sys.executable, "-c", PACK]
            tree = ["sh", str(TREE), str(lower), str(ENTRYPOINT), str(work), str(ready), " ".join(UNWANTED), *pack]
            rootfs.sealed(tree, folder / "slurm.log")
            work.rmdir()
    return images.Image(NAME, ready)


def over(layer: Layer, parts: Sequence[str], name: str, *, start: images.Start | None = None, say: Say) -> images.Image:
    """The image with the ``parts`` of a layer above it, made if it is not in CACHE. ``start``: what it starts instead."""
    base, upper = ensure(say=say), layer.ensure(say=say)
    digest = hashlib.sha256(f"{base.archive.name} {layer.key()}".encode()).hexdigest()[:12]
    folder = paths.CACHE / "images"
    with rootfs.alone(folder / "slurm.lock"):
        return images.pack_over(base, upper, parts, name, folder / f"slurm-{layer.name}-{digest}.tar", start=start)


def pack(root: str, out: str) -> None:
    """Archive the finished tree; image-tree.sh calls it in the namespace where the tree is mounted."""
    start = images.Start(entrypoint=COMMAND)
    images.pack_rootfs(Path(root), NAME, Path(out), start=start, exclude=("./run/*", "./tmp/*"))
