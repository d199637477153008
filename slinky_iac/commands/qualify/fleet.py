"""The rung's nodes in Slurm: as a slurmd of each pod would, a record comes with a ready pod and goes with it.

In a pod without a machine no slurmd runs, so this loop takes its place: it makes records as EXTERNAL nodes with the pods'
names and addresses, and deletes those whose pods are gone, as the preStop hook of a slurmd pod does. It also puts a pod's
readiness back where slurm-operator has overwritten it, as a kubelet does and kwok doesn't (run: 29 of 144 pods).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from slinky_iac.cluster.connection import Connection, connected
from slinky_iac.cluster.reach import Reach
from slinky_iac.commands.qualify.settings import NODESET
from slinky_iac.errors import KubeConflict, KubeNotFound, SlinkyError
from slinky_iac.kube.client import WORKERS
from slinky_iac.kube.fake_nodes import restore_readiness
from slinky_iac.kube.objects import Listed
from slinky_iac.kube.pods import AddressedPod
from slinky_iac.kube.requests import place
from slinky_iac.slurmrest.objects import Node

PAUSE_S: Final = 2.0
BUDGET_S: Final = 30.0
RUNNING: Final = "Running"
"""Phase of a pod whose containers have started; its readiness isn't a condition for a slurmd."""


def missing(pods: Iterable[AddressedPod], records: Mapping[str, Node]) -> dict[str, str]:
    """Nodes that a slurmd would register now, by name: the addresses of their pods."""
    return {
        pod.slurm_node: pod.status.pod_ip
        for pod in pods
        if pod.status.phase == RUNNING and pod.status.pod_ip and not pod.terminating and pod.slurm_node not in records
    }


def overwritten(pods: Iterable[AddressedPod]) -> tuple[AddressedPod, ...]:
    """Pods that run and have no condition on readiness at all, neither true nor false: none that a kubelet has written."""
    return tuple(pod for pod in pods if pod.status.phase == RUNNING and not pod.terminating and pod.ready_changed is None)


def ended(pods: Iterable[AddressedPod], records: Mapping[str, Node], made_for: Mapping[str, str]) -> tuple[str, ...]:
    """Records whose pods are gone, or replaced by others of their names. ``made_for``: uids of pods, by record."""
    there = {pod.slurm_node: pod.metadata.uid for pod in pods}
    return tuple(
        name
        for name, record in records.items()
        if not record.alloc_cpus and (name not in there or made_for.get(name, there[name]) != there[name])
    )


def of_ladder(nodes: Iterable[Node]) -> dict[str, Node]:
    """The ladder's own nodes, by name."""
    return {node.name: node for node in nodes if NODESET in node.active_features and "EXTERNAL" in node.state}


class Fleet:
    """Keeps records as pods are, in a thread, inside of ``with``."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="qualify-fleet")
        self._made_for: dict[str, str] = {}
        self.trouble = ""
        """Why the last look failed; empty where it didn't."""
        self.broken = False
        """No look comes any more."""

    def __enter__(self) -> Fleet:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(2 * BUDGET_S)

    def _run(self) -> None:
        try:
            self._keep_all()
        except Exception:  # the ladder would wait for half an hour for what can't come any more
            self.trouble, self.broken = "a fault of this program, with its traceback above", True
            raise

    def _keep_all(self) -> None:
        while not self._over.is_set():
            try:
                with connected(self._reach, budget_s=BUDGET_S, tries=1) as connection:
                    while not self._over.is_set():
                        self.keep(connection)
                        self.trouble = ""
                        self._over.wait(PAUSE_S)
            except SlinkyError as error:  # slurmrestd is not there yet, or not any more
                self.trouble = str(error)
            self._over.wait(PAUSE_S)

    def keep(self, connection: Connection) -> None:
        """One look, and what follows from it."""
        space = self._reach.namespace
        pods = connection.kube.listed(
            place("Pod", space), Listed[AddressedPod], f"worker pods of {space}", {"labelSelector": WORKERS}
        )
        for pod in overwritten(pods):
            with suppress(KubeConflict, KubeNotFound):  # replaced or gone since: the next look has it
                restore_readiness(connection.kube, space, pod, connection.now())
        records = of_ladder(connection.slurm.nodes(allow_none=True).nodes)
        for name in ended(pods, records, self._made_for):
            connection.slurm.delete_node(name)
            del records[name]
        if wanted := missing(pods, records):
            connection.slurm.create_external(wanted, NODESET)
            self._made_for |= {pod.slurm_node: pod.metadata.uid for pod in pods if pod.slurm_node in wanted}
