"""One NodeSet of at most one pod, played: slurm-operator on a real API server, and its node in the played Slurm."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.charts import crd_dir
from slinky_iac import names
from slinky_iac.kube.client import WORKERS
from tests.integration import kube_api, two_gates
from tests.integration.kube_api import KubeApi
from tests.integration.two_gates import World
from tests.made.rows import node
from tests.raw_keys import text_key

NODESET = "slurm-worker-cpu"
POD = "cpu-0"
SELECTOR = f"{WORKERS},{names.LABEL_INSTANCE}={NODESET}"
KINDS = "nodesets,controllers,restapis,pods,secrets,configmaps,services,endpointslices"


@contextmanager
def api_of_operator(folder: Path) -> Iterator[KubeApi]:
    """A real API server with the operator's CRDs and the stack's namespace."""
    with kube_api.served(folder) as made:
        made.kubectl("apply", "--server-side", "-f", str(crd_dir("1.1.0")))
        made.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        made.kubectl("create", "namespace", "slurm")
        made.kubectl("create", "serviceaccount", "default", "-n", "slurm")
        yield made


@contextmanager
def empty_slurm(cluster: str) -> Iterator[tuple[World, str]]:
    """A played Slurm without nodes and jobs, under a ClusterName, and where its slurmrestd is."""
    world = World()
    world.slurm.keys, world.slurm.controller = (text_key("jwtKey"),), cluster
    world.slurm.nodes.clear()
    world.slurm.jobs.clear()
    with two_gates.served(world) as served:
        yield served


class Operator:
    """Plays slurm-operator for one NodeSet of at most one pod, which is a node of the played Slurm, and Kubernetes' garbage
    collector, for which every deletion in the foreground waits."""

    def __init__(self, api: KubeApi, world: World) -> None:
        self.api, self.world, self.over = api, world, threading.Event()
        self.thread = threading.Thread(target=self.follow, daemon=True)

    def __enter__(self) -> Operator:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join(30)

    def follow(self) -> None:
        while not self.over.wait(0.5):
            there = json.loads(self.api.kubectl("get", KINDS, "-n", "slurm", "-o", "json"))["items"]
            has_pod = any(each["kind"] == "Pod" for each in there)
            for each in there:
                leaves = "deletionTimestamp" in each["metadata"]
                if each["kind"] == "RestApi" and not leaves:
                    self.run_slurmrestd(each["metadata"]["name"])
                if each["kind"] == "NodeSet":
                    self.reconcile(each, 0 if leaves else each["spec"]["replicas"], has_pod)
                if leaves and each["metadata"].get("finalizers"):
                    what = (each["kind"], each["metadata"]["name"], "-n", "slurm")
                    self.api.kubectl("patch", *what, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')

    def run_slurmrestd(self, restapi: str) -> None:
        """The Deployment that the operator makes of a RestApi: gates ask whether it is available."""
        labels = {"app": "slurmrestd"}
        pod = {"containers": [{"name": "slurmrestd", "image": "example.org/slurmrestd"}]}
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": f"{restapi}-restapi", "namespace": "slurm"},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
        }
        self.api.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(body))
        status = {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}
        self.patch_status("deployment", f"{restapi}-restapi", status)

    def reconcile(self, nodeset: dict[str, Any], wanted: int, has_pod: bool) -> None:
        if wanted and not has_pod:
            with self.world.lock:
                self.world.slurm.add(node(POD))
            self.make_pod(nodeset)
        if not wanted and has_pod:
            self.api.kubectl("delete", "pod", POD, "-n", "slurm", "--force", "--grace-period=0")
            with self.world.lock:
                self.world.slurm.nodes.pop(POD, None)
        counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas"), wanted)
        seen = {"observedGeneration": nodeset["metadata"]["generation"], "nodeSetHash": "x", "selector": SELECTOR}
        self.patch_status("nodeset", NODESET, {**counts, **seen})

    def make_pod(self, nodeset: dict[str, Any]) -> None:
        meta = nodeset["metadata"]
        owner = {"apiVersion": names.API_VERSION, "kind": "NodeSet", "name": meta["name"], "uid": meta["uid"]}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": POD,
                "namespace": "slurm",
                "labels": dict(each.split("=") for each in SELECTOR.split(",")) | {names.LABEL_POD_INDEX: "0"},
                "ownerReferences": [owner | {"controller": True}],
            },
            "spec": {
                "nodeName": "k-1",
                "hostname": POD,
                "automountServiceAccountToken": False,
                "containers": [{"name": "slurmd", "image": "example.org/slurmd"}],
            },
        }
        self.api.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(pod))
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        self.patch_status("pod", POD, {"phase": "Running", "conditions": [ready]})

    def patch_status(self, kind: str, name: str, status: dict[str, Any]) -> None:
        change = json.dumps({"status": status})
        self.api.kubectl("patch", kind, name, "-n", "slurm", "--subresource=status", "--type=merge", "-p", change)
