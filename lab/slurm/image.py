"""The container image `slinky-lab/slurm:26.05`: one image for every Slurm container that slurm-operator makes.

Made from the hosts' root file system without MariaDB's server, Perl, apt and systemd; entrypoint.sh finds the role,
so a custom resource names the image and nothing else. The archive (`docker load`, `ctr images import`) has one layer
and lies in CACHE/images under a key of everything that decides its content.
"""

import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab import paths
from lab.slurm import rootfs
from lab.slurm.rootfs import RECIPE, Recipe, Say

NAME = "slinky-lab/slurm:26.05"
ENTRYPOINT = Path(__file__).with_name("entrypoint.sh")
TREE = Path(__file__).with_name("image-tree.sh")
UNWANTED = (
    "mariadb-*", "galera-*", "libdbi-perl", "libdbd-*", "perl", "perl-base", "perl-modules-*", "libperl5*", "apt",
    "libapt-pkg*", "sqv", "systemd", "libsystemd-shared", "libc-gconv-modules-extra", "rsync", "socat", "psmisc",
    "adduser", "debconf", "gawk", "tzdata", "openssl",
)  # fmt: skip
COMMAND = ("tini", "-g", "--", "/usr/local/bin/slurm-entrypoint")


def key(recipe: Recipe = RECIPE) -> str:
    """Twelve hex digits of what decides the image: the root file system's recipe, both scripts, the package list."""
    parts = [recipe.key(), ENTRYPOINT.read_text(), TREE.read_text(), repr(UNWANTED), repr(COMMAND)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def ensure(recipe: Recipe = RECIPE, *, say: Say = print) -> Path:
    """The image archive, made if it is not there. Raises LabError when a program in it does not run."""
    folder = paths.CACHE / "images"
    ready = folder / f"slurm-{key(recipe)}.tar"
    if ready.exists():
        return ready
    lower = rootfs.ensure(recipe, say=say)
    folder.mkdir(parents=True, exist_ok=True)
    with rootfs.alone(folder / "slurm.lock"):
        if ready.exists():
            return ready
        say(f"slurm: image {NAME} is being packed (about 10 seconds)")
        work = folder / "slurm.work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        layer, part = folder / "slurm.layer", folder / "slurm.part"
        rootfs.sealed(["sh", str(TREE), str(lower), str(ENTRYPOINT), str(work), str(layer), *UNWANTED], folder / "slurm.log")
        archive(layer, NAME, part, COMMAND)
        layer.unlink()
        shutil.rmtree(work)
        part.rename(ready)
    return ready


def archive(layer: Path, name: str, out: Path, entrypoint: Sequence[str]) -> None:
    """Write a one-layer image archive (Docker's save format) of the uncompressed tar `layer`."""
    with layer.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    config = _json(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {
                "Entrypoint": list(entrypoint),
                "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"],
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        }
    )
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = _json([{"Config": config_name, "RepoTags": [f"docker.io/{name}"], "Layers": ["layer.tar"]}])
    with tarfile.open(out, "w") as tar:
        tar.add(layer, "layer.tar", filter=_plain)
        for inner, content in ((config_name, config), ("manifest.json", manifest)):
            entry = tarfile.TarInfo(inner)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mtime = entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def _json(value: Any) -> bytes:  # noqa: ANN401 - whatever json takes
    return json.dumps(value, sort_keys=True).encode()
