"""slurm-operator 1.1.0 for a lab that is up: built, packed and brought to the nodes when somebody asks, never by `lab up`.

No release is this mix: the operator's sources are 1.1.0's, but slurm-client is 1.0.1 in place of 1.1.0, which the
module proxy doesn't serve (the `replace` in toolchain/slurm-operator-1.1/go.mod). What goes through slurm-client is how
the operator asks slurmrestd; specs, pods, the ranking and the order of a drain are the operator's own.
"""

from lab import locks, obtain, own_images, tools
from lab.images import Image
from lab.kubernetes.cluster import Kubernetes
from lab.obtain import Say

VERSION = tools.LATER_OPERATOR
REPOSITORY = own_images.OPERATOR.rsplit(":", 1)[0]
NAME = f"{REPOSITORY}:{VERSION}"


def image(*, say: Say = print) -> Image:
    """The manager's image; built (3 min of CPU time) and packed if it is not in CACHE. Raises LabError if it can't be."""
    binary = obtain.ensure((tools.LATER,), say=say)["manager"]
    with locks.alone("images", lambda: say("images: somebody else is packing them; waiting")):
        return own_images.of_program("manager", binary, NAME)


def load(kubernetes: Kubernetes, *, say: Say = print) -> None:
    """Put the image into the store of every node of a lab that is up. Repeatable, seconds when it is built."""
    kubernetes.load(image(say=say))
