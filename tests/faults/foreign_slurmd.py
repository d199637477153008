"""A Slurm node of a pod's name whose slurmd runs outside Kubernetes, as where two Kubernetes clusters have one slurmctld."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lab.slurm import conf
from lab.slurm.cluster import LAB
from tests.e2e.slurm import Slurm

HOST = "metal-2"


@contextmanager
def registered_outside(slurm: Slurm, node: str) -> Iterator[str]:
    """On a metal host, in the place of its own slurmd."""
    LAB.stop(HOST, "slurmd")
    server = f"ctl:{conf.CTLD_PORT}"
    argv = ["/usr/sbin/slurmd", "-D", "--conf-server", server, "-Z", "-N", node, "--conf", "Feature=gpu"]
    LAB.hosts.spawn(HOST, "stranger", argv)
    slurm.await_registered(node)
    yield node
    LAB.site.supervisor.stop(LAB.hosts.process(HOST, "stranger"), 10)
    slurm.cancel_all()
    slurm.admin("scontrol", "delete", f"nodename={node}", check=False)
    LAB.start(HOST, "slurmd")
