"""What stacks with all of Slurm in Kubernetes need of the lab: a volume for slurmctld's queue, a database, a login pod."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import yaml

from lab import paths
from lab.kubernetes import layout, machine
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.slurm import cluster, daemons
from tests.e2e.slurm import await_true
from tests.e2e.test_two_stacks import INSIDE, exec_in
from tests.e2e.world import World, ready

NODE = layout.NODES[0]
FOLDER = f"/srv/{paths.STATE.name}-slurmctld-queue"
"""Nodes of all labs see one file system, so each lab has its own."""
VOLUME = "slurmctld-queue"
SSSD = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "sssd", "namespace": INSIDE},
    "stringData": {"sssd.conf": "[sssd]\n"},
}
"""What a login set can't do without; made after the stack's namespace."""


@contextmanager
def queue_volume(world: World) -> Iterator[None]:
    """A volume for slurmctld's queue, since the lab has no provisioner. Whatever claims it must be gone before the end."""
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE.name]}]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "hostPath": {"path": FOLDER},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": VOLUME}, "spec": spec}
    world.kubectl("create", "-f", "-", stdin=yaml.safe_dump(volume))
    _on_node(["rm", "-rf", FOLDER])  # a run that was killed leaves its queue, which would be taken up
    _on_node(["install", "-d", "-o", "401", "-g", "401", FOLDER])
    try:
        yield
    finally:
        world.kubectl("delete", "persistentvolume", VOLUME)
        _on_node(["rm", "-rf", FOLDER])


@contextmanager
def database(name: str) -> Iterator[None]:
    """An empty database on the lab's server: slurmdbd's own attempt to make one ends it, see lab/slurm/cluster.py."""
    _sql(f"CREATE DATABASE {name};")
    try:
        yield
    finally:
        _sql(f"DROP DATABASE {name};")


def bring_login(world: World) -> None:
    """Give the login set its sssd.conf, and wait for its pod."""
    world.kubectl("create", "-f", "-", stdin=yaml.safe_dump(SSSD))
    await_login(world)


def await_login(world: World) -> None:
    """Wait until the login set's only pod is ready."""

    def there() -> bool:
        pods = [pod for pod in world.objects("pods", INSIDE) if pod["metadata"]["name"].startswith("inside-login-main")]
        return len(pods) == 1 and ready(pods[0])

    await_true("the login pod is ready", there, 120)


def answered(world: World, *argv: str) -> str:
    """What a command beside slurmctld says, once slurmctld answers: operator 1.2 restarts it over a changed slurm.conf."""
    found: list[str] = []

    def said() -> bool:
        with suppress(subprocess.CalledProcessError):
            found.append(exec_in(world, *argv))
        return bool(found)

    await_true(f"slurmctld's pod runs {argv[0]}", said, 120)
    return found[0]


def pairs(row: str) -> dict[str, str]:
    """The parameters of one row of `scontrol -o show`."""
    return dict(word.partition("=")[::2] for word in row.split())


def _on_node(argv: list[str]) -> None:
    subprocess.run(machine.entered(KUBERNETES.home, NODE, argv), check=True, cwd="/", timeout=60)


def _sql(statement: str) -> None:
    cluster.LAB.hosts.run(daemons.MARIADB.host, ["mariadb", f"--socket={daemons.SOCKET}"], stdin=statement)
