"""An image with this program, for pods that run `slinky`: the lab's Slurm image with one more layer, made by the RUN lines
of examples/image/Containerfile. The image that the file begins with can't be had here: Debian's Python replaces it."""

import hashlib
import re
import shutil
from pathlib import Path

from lab import images, paths
from lab.images import Image, Start
from lab.slurm import image as slurm_image
from lab.slurm import rootfs
from lab.slurm.layers import Layer
from lab.slurm.rootfs import Say

NAME = "slinky-lab/slinky-iac:0"
RECIPE = paths.REPO / "examples" / "image" / "Containerfile"
LOCK = paths.REPO / "requirements.lock"
FOLDER = "/opt/slinky"
START = Start(entrypoint=("slinky",), env=(images.PATH.replace("PATH=", f"PATH={FOLDER}/bin:"), "LANG=C.UTF-8"))
# pip trusts whom this machine trusts: its certificates and its pip.conf are mounted for as long as the installation takes.
_FINISH = f"""mount --bind /etc/ssl/certs "$root/etc/ssl/certs"
if [ -e /etc/pip.conf ]; then
    touch "$root/etc/pip.conf"
    mount --bind /etc/pip.conf "$root/etc/pip.conf"
fi
cp {{given}}/* "$root/tmp/"
chroot "$root" python3 -m venv {FOLDER}
export PATH="{FOLDER}/bin:$PATH"
{{run}}
chroot "$root" pip check
"""


def run_lines(recipe: str) -> list[str]:
    """Commands of a Containerfile's RUN lines."""
    return re.findall(r"^RUN (.+)$", recipe, re.MULTILINE)


def layer(given: Path) -> Layer:
    """What lies on the hosts' root file system. ``given``: a folder with the lock and the wheel, named after a digest."""
    run = "\n".join(f"chroot \"$root\" sh -euc '{line}'" for line in run_lines(RECIPE.read_text()))
    return Layer("program", ("python3-venv",), _FINISH.replace("{given}", str(given)).replace("{run}", run))


def image(wheel: Path, *, say: Say = rootfs.tell) -> Image:
    """The image with this wheel, its archive made if it is not there (a minute); those of other wheels are removed."""
    digest = images.digest_of([LOCK, wheel], wheel.name)
    given = paths.CACHE / "program" / digest
    given.mkdir(parents=True, exist_ok=True)
    for each in (LOCK, wheel):
        shutil.copy(each, given)
    base, more = slurm_image.ensure(say=say), layer(given)
    upper = more.ensure(say=say)
    key = hashlib.sha256(f"{base.archive.name} {more.key()} {START}".encode()).hexdigest()[:12]
    folder = paths.CACHE / "images"
    archive = folder / f"slinky-program-{key}.tar"
    with rootfs.alone(folder / "slurm.lock"):
        for old in (*folder.glob("slinky-program-*.tar"), *given.parent.iterdir(), *upper.parent.parent.glob("*/")):
            if old not in (archive, given, upper.parent):
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        return images.pack_over(base, upper, ("usr", "opt"), NAME, archive, start=START)
