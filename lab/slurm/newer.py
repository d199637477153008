"""Debian's Slurm as a second image of the lab: what a cluster in Kubernetes is upgraded to.

In a lab with a Slurm of the user's own (lab.given_slurm), this one is of another release; in any other it is the same Slurm
under another name. It comes when somebody asks, never by `lab up`.
"""

from lab import given_slurm, images
from lab.images import Image
from lab.kubernetes.cluster import Kubernetes
from lab.slurm import image as slurm_image
from lab.slurm import rootfs
from lab.slurm.rootfs import Say

RELEASE = given_slurm.DEBIANS
NAME = f"slinky-lab/slurm-newer:{RELEASE}-ubuntu24.04"
"""Its tag has the form of Slinky's own images, VERSION-OS, from which the program reads the release."""


def image(*, say: Say = rootfs.tell) -> Image:
    """The image; packed if it is not in CACHE."""
    base = slurm_image.ensure(rootfs.RECIPE, say=say)
    with rootfs.alone(base.archive.parent / "slurm.lock"):
        digest = images.digest_of((), base.archive.name, NAME)
        return images.named(base, NAME, base.archive.with_name(f"slurm-newer-{digest}.tar"))


def load(kubernetes: Kubernetes, *, say: Say = rootfs.tell) -> None:
    """Put it into the store of every node of a lab that is up. Repeatable."""
    kubernetes.load(image(say=say))
