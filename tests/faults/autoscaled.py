"""A NodeSet that follows its queue by KEDA, from none to three nodes, and a witness of nodes that are drained under work."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import pytest

from lab import keda
from lab import slurm as outside
from lab.demo import nodeset_lines
from slinky_iac.node_demand import METRICS_TYPE
from tests.e2e.gated import NAMESPACE, NODES, RESOURCE, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World
from tests.made.scalers import target

__all__ = ["Autoscaled", "Witness", "autoscaled", "autoscaling"]

COOLDOWN_S = 60
GIVEN_BACK_LOOKS = 8
"""Looks, one a second, within which the operator corrects itself."""
AUTOSCALE = {"poll": "5s", "cooldown": f"{COOLDOWN_S}s", "scaleDown": {"nodes": 3, "every": "15s"}}
KIND = "scaledobjects.keda.sh"


def nodeset(most: int = 3, autoscale: Mapping[str, object] | None = AUTOSCALE) -> dict[str, object]:
    """The NodeSet's settings."""
    made = {} if autoscale is None else {"autoscale": dict(autoscale)}
    return {"owner": "autoscaler", "maxReplicas": most, **made}


@dataclass
class Autoscaled(Gated):
    """The stack, and what KEDA does to it."""

    @property
    def replicas(self) -> int:
        """What was asked for last."""
        (found,) = self.world.objects("nodesets.slinky.slurm.net", NAMESPACE)
        return int(found["spec"]["replicas"])

    def scaler(self) -> dict[str, Any]:
        """The ScaledObject."""
        found: dict[str, Any] = json.loads(self.world.kubectl("get", KIND, "-n", NAMESPACE, RESOURCE, "-o", "json").stdout)
        return found

    def serve_metrics(self, serve: bool = True, more: str = "") -> None:
        """Whether slurmctld answers them; ``more``: lines of slurm.conf."""
        lines = nodeset_lines(str(self.stack.outputs()["outsideSlurmConf"]))
        outside.apply_nodesets_conf(lines + (f"MetricsType={METRICS_TYPE}\n" if serve else "") + more)

    def submit(self, *options: str) -> int:
        """A job that runs until it is finished, alone on its nodes."""
        return self.slurm.submit("-p", "gpu", "--exclusive", "-t", "30", *options)

    def nodes_of(self, job: int) -> str:
        """Where a job runs."""
        return self.slurm.job_nodes(job)

    def await_replicas(self, wanted: int, timeout: float = 240) -> None:
        """Wait until the autoscaler asks for so many and the pods are there."""
        await_true(f"{wanted} replicas", lambda: (self.replicas, len(self.pods())) == (wanted, wanted), timeout, every=2)

    def await_pods_of(self, *nodes: str, seconds: float = 240) -> None:
        """Wait until exactly these nodes' pods are left."""
        await_true(f"the pods are exactly {nodes}", lambda: self.pods() == sorted(nodes), seconds, every=2)

    def three_nodes(self) -> None:
        """Three idle nodes."""
        job = self.submit("-N3")
        self.slurm.await_running(job, timeout=240)
        self.slurm.finish(job)
        (row,) = self.slurm.await_completed(job)
        assert row.state == "COMPLETED"

    def empty(self) -> None:
        """No job, no node."""
        self.slurm.cancel_all()
        self.await_replicas(0, 300)


@pytest.fixture(scope="module")
def autoscaled(world: World, slurm: Slurm) -> Iterator[Autoscaled]:
    with autoscaling(world, slurm) as found:
        yield found


@contextmanager
def autoscaling(world: World, slurm: Slurm, settings: Mapping[str, object] = AUTOSCALE) -> Iterator[Autoscaled]:
    """The stack and KEDA, inside of it; ``settings`` of its `autoscale`."""
    world.vacate()
    with keda.running():
        found = Autoscaled(world, slurm, world.named("autoscaled"))
        found.up(0, nodeset=nodeset(autoscale=settings))
        found.serve_metrics()
        yield found
        slurm.cancel_all()
        keda.start(keda.programs())
        found.serve_metrics(serve=False)  # by an output, which a destroyed stack has no more
        found.stack.destroy()


@dataclass
class Witness:
    """Notes, each second, every node that stays drained while a job runs on it, and every number that was asked for.

    slurm-operator 1.0.1 may take a busy pod in the first sync after a lower number, and gives it back in the next one, two
    seconds later (watched): it writes pod-deadline in the sync that ranks by it.
    """

    found: Autoscaled
    drained_under_work: set[str] = field(default_factory=set)
    drained_busy_looks: int = 0
    """Nodes that were drained while a job ran there, summed over all looks: node-seconds."""
    for_looks: dict[str, int] = field(default_factory=dict)
    numbers: list[int] = field(default_factory=list)
    looks: int = 0
    _end: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join(60)

    def _watch(self) -> None:
        while not self._end.wait(1):
            for name, states in self.found.slurm.states().items():
                stays = name in NODES and "DRAIN" in states and bool(states & {"ALLOCATED", "MIXED"})
                self.drained_busy_looks += stays
                self.for_looks[name] = self.for_looks.get(name, 0) + 1 if stays else 0
                if self.for_looks[name] > GIVEN_BACK_LOOKS:
                    self.drained_under_work.add(name)
            now = self.found.replicas
            if self.numbers[-1:] != [now]:
                self.numbers.append(now)
            self.looks += 1

    def await_looks(self, seconds: int) -> None:
        """Go on watching for so long at the least."""
        began = self.looks
        await_true(f"{seconds} more looks", lambda: self.looks >= began + seconds, 4 * seconds + 60, every=1)


@contextmanager
def recipe(found: Autoscaled, cooldown_s: int, settings: Mapping[str, object] = AUTOSCALE) -> Iterator[None]:
    """The ScaledObject that slurm-operator's guide shows, on the NodeSet instead of ours: it goes by pending jobs alone. Its
    metric comes from slurmctld itself, and its waits are as ours, which has ``settings`` again after it."""
    window = {"scaleDown": {"stabilizationWindowSeconds": cooldown_s}}
    address = found.scaler()["spec"]["triggers"][0]["metadata"]["url"]
    where = {"url": address, "format": "prometheus", "valueLocation": 'slurm_partition_jobs_pending{partition="gpu"}'}
    spec = {
        "scaleTargetRef": target(RESOURCE),
        "pollingInterval": 5,
        "cooldownPeriod": cooldown_s,
        "idleReplicaCount": 0,
        "minReplicaCount": 1,
        "maxReplicaCount": 3,
        "advanced": {"horizontalPodAutoscalerConfig": {"behavior": window}},
        "triggers": [{"type": "metrics-api", "metricType": "Value", "metadata": where | {"targetValue": "1"}}],
    }
    meta = {"name": "scale-gpu", "namespace": NAMESPACE}
    made = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": meta, "spec": spec}
    found.up(0, nodeset=nodeset(autoscale=None))
    found.world.kubectl("apply", "-f", "-", stdin=json.dumps(made))
    try:
        yield
    finally:
        found.world.kubectl("delete", KIND, "-n", NAMESPACE, "scale-gpu")
        found.up(0, nodeset=nodeset(autoscale=settings))
