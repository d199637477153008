"""The part of the lab that stands outside Kubernetes: Slurm hosts, each a network namespace of this machine.

`up` and `down` are safe to repeat; `images` gives the archive of the one container image that every Slurm container
of the operator uses. For tests: `lab.slurm.hosts.run` runs a command in a host; `daemon_*`, `pause` and `resume` take
a host and a daemon (`"ctl", "slurmctld"`).
"""

from lab.images import Image
from lab.slurm import cluster, image
from lab.slurm.rootfs import Say, tell

up = cluster.LAB.up
down = cluster.LAB.down
status = cluster.LAB.status
set_nodesets_conf = cluster.LAB.set_nodesets_conf
apply_nodesets_conf = cluster.LAB.apply_nodesets_conf
reconfigure = cluster.LAB.reconfigure
add_metal_host = cluster.LAB.add_metal_host
enable_backup = cluster.LAB.enable_backup
disable_backup = cluster.LAB.disable_backup
daemon_start = cluster.LAB.start
daemon_stop = cluster.LAB.stop
daemon_restart = cluster.LAB.restart
daemon_kill = cluster.LAB.kill
pause = cluster.LAB.pause
resume = cluster.LAB.resume


def images(*, say: Say = tell) -> list[Image]:
    """The image of every Slurm container, for the Kubernetes nodes; made if it is not there."""
    return [image.ensure(say=say)]
