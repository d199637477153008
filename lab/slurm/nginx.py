"""The image `slinky-lab/slurm-nginx:26.05`: the lab's Slurm image with nginx in one more layer, for TLS before slurmrestd.

A site takes nginx's own image. Its configuration, and how it is started, come from the stack alike.
"""

from lab.images import Image
from lab.slurm import image as slurm_image
from lab.slurm import rootfs
from lab.slurm.layers import Layer
from lab.slurm.rootfs import Say

IMAGE = "slinky-lab/slurm-nginx:26.05"
LAYER = Layer("nginx", ("nginx",), 'chroot "$root" nginx -V\n')


def image(*, say: Say = rootfs.tell) -> Image:
    """The image, made if it is not in CACHE."""
    return slurm_image.over(LAYER, ("usr", "etc/nginx"), IMAGE, say=say)
