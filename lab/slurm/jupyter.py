"""An image with JupyterHub, its proxy, KubeSpawner, JupyterLab, munged and Slurm's commands: for tests of a real hub.

A site has three images for that (the hub's, the proxy's, its notebooks'); here one is enough. It is made when somebody asks
for it, and an ordinary lab knows nothing of it.
"""

import hashlib
from pathlib import Path

from lab import images, paths
from lab.images import Image, Start
from lab.slurm import image as slurm_image
from lab.slurm import munge, rootfs
from lab.slurm.layers import Layer
from lab.slurm.rootfs import Say

NAME = "slinky-lab/slurm-jupyter:26.05"
NODE_NAME = "slinky-lab/slurm-jupyter-node:26.05"
FOLDER = "/opt/jupyter"
REQUIREMENTS = Path(__file__).with_name("jupyter-requirements.txt")
# pip trusts whom this machine trusts: its certificates and its pip.conf are mounted for as long as the installation takes.
_FINISH = f"""{munge.LAYER.finish}
mount --bind /etc/ssl/certs "$root/etc/ssl/certs"
if [ -e /etc/pip.conf ]; then
    touch "$root/etc/pip.conf"
    mount --bind /etc/pip.conf "$root/etc/pip.conf"
fi
cat > "$root/tmp/requirements.txt" <<'END'
{{requirements}}
END
chroot "$root" python3 -m venv {FOLDER}
chroot "$root" {FOLDER}/bin/pip install --quiet --no-cache-dir -r /tmp/requirements.txt
chroot "$root" {FOLDER}/bin/pip check
chroot "$root" {FOLDER}/bin/python -c 'import jupyterhub, jupyterlab, jupyterlab_slurm, kubespawner, sqlite3'
chroot "$root" configurable-http-proxy --version
"""
START = Start(
    entrypoint=("tini", "-g", "--"),
    command=("jupyter", "lab"),
    env=(images.PATH.replace("PATH=", f"PATH={FOLDER}/bin:"), "LANG=C.UTF-8"),
)


def layer() -> Layer:
    """What lies on the hosts' root file system in the image; the pins are part of its key."""
    packages = (*munge.LAYER.packages, "python3-venv", "node-configurable-http-proxy")
    return Layer("jupyter", packages, _FINISH.replace("{requirements}", REQUIREMENTS.read_text().strip()))


def image(*, say: Say = rootfs.tell) -> Image:
    """The image, its archive made if it is not there (about 2 minutes, 670 MB, and as much unpacked, once).

    Raises LabError with the end of the log where Debian or PyPI hasn't what is needed.
    """
    return _image(NAME, START, say)


def node_image(*, say: Say = rootfs.tell) -> Image:
    """The same layers, started as the lab's Slurm image is: for NodeSets whose jobs are notebooks."""
    return _image(NODE_NAME, None, say)


def _image(name: str, start: Start | None, say: Say) -> Image:
    base, more = slurm_image.ensure(say=say), layer()
    upper = more.ensure(say=say)
    key = hashlib.sha256(f"{base.archive.name} {more.key()} {start}".encode()).hexdigest()[:12]
    folder = paths.CACHE / "images"
    with rootfs.alone(folder / "slurm.lock"):
        return images.pack_over(base, upper, ("usr", "opt"), name, folder / f"slurm-jupyter-{key}.tar", start=start)
