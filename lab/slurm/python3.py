"""The lab's Slurm image with Python in one more layer: for pods that run a program of the examples. An ordinary lab knows
nothing of it."""

from lab.images import Image
from lab.slurm import image as slurm_image
from lab.slurm import rootfs
from lab.slurm.layers import Layer
from lab.slurm.rootfs import Say

IMAGE = "slinky-lab/slurm-python:26.05"
LAYER = Layer("python", ("python3",), 'chroot "$root" python3 -c "import json, ssl, urllib.request"\n')


def image(*, say: Say = rootfs.tell) -> Image:
    """The image, its archive made if it is not there (half a minute, once)."""
    return slurm_image.over(LAYER, ("usr",), IMAGE, say=say)
