"""A site that gates look at: NodeSets in an API server in memory, and a slurmrestd behind it; both note what is asked."""

from __future__ import annotations

import collections
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from slinky_iac.cluster.reach import Reach
from slinky_iac.drain import preview
from slinky_iac.drain.plan import Seen
from tests.api_server import ApiServer
from tests.made.rows import NOW, job, node
from tests.unit.drain.model_session import settings
from tests.unit.slurmrest.fake import KEY, FakeSlurm, Ticks

AT = "2026-01-01T00:00:00Z"
PODS = "/api/v1/namespaces/slurm/pods"
SCALED = "/apis/keda.sh/v1alpha1/namespaces/slurm/scaledobjects"
HPAS = "/apis/autoscaling/v2/namespaces/slurm/horizontalpodautoscalers"
NODESETS = "/apis/slinky.slurm.net/v1beta1/namespaces/slurm/nodesets"
EACH = 3
"""Pods of each NodeSet."""


def nodeset_body(number: int, each: int = EACH, **meta: object) -> dict[str, object]:
    name = f"hpc-worker-g{number}"
    plain = {"name": name, "uid": name, "resourceVersion": "1", "generation": 1, "creationTimestamp": AT}
    return {
        "metadata": {**plain, **meta},
        "spec": {"replicas": each, "controllerRef": {"name": "hpc"}},
        "status": {
            "replicas": each,
            "observedGeneration": 1,
            "selector": f"app.kubernetes.io/instance={name},app.kubernetes.io/name=slurmd",
        },
    }


def pod_body(number: int, ordinal: int) -> dict[str, object]:
    owner = f"hpc-worker-g{number}"
    return {
        "metadata": {
            "name": f"{owner}-{ordinal}",
            "uid": f"{owner}-{ordinal}",
            "resourceVersion": "1",
            "creationTimestamp": AT,
            "labels": {"nodeset.slinky.slurm.net/pod-hostname": f"g{number}-{ordinal}"},
            "ownerReferences": [{"uid": owner, "controller": True}],
        },
        "spec": {"nodeName": "machine", "hostname": f"g{number}-{ordinal}"},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": AT}]},
    }


class Site:
    """N NodeSets of :data:`EACH` pods (or ``each``). A job runs on the second node of each; ``full``: on every node."""

    def __init__(self, count: int, each: int = EACH, *, full: bool = False) -> None:
        self.each = each
        self.slurm = FakeSlurm(ticks=Ticks(now=time.time() - NOW + 1000))
        self.server = ApiServer(slurm=self.slurm.handle)
        self.server.put("jwt", {"jwt.key": KEY}, at=AT)
        self.server.objects |= {HPAS: {"items": []}, SCALED: {"items": []}}
        self.server.objects[PODS] = {
            "metadata": {},
            "items": [pod_body(number, ordinal) for number in range(count) for ordinal in range(each)],
        }
        self.server.objects |= {f"{PODS}/{body['metadata']['name']}": body for body in self.server.objects[PODS]["items"]}
        for number in range(count):
            self.server.objects[f"{NODESETS}/hpc-worker-g{number}"] = nodeset_body(number, each)
            self.slurm.add(*(node(f"g{number}-{ordinal}") for ordinal in range(each)))
            busy = range(each) if full else (1,)
            self.slurm.add(*(job(number * each + ordinal + 1, nodes=f"g{number}-{ordinal}") for ordinal in busy))

    def reach(self, folder: Path) -> Reach:
        return Reach("slurm", "hpc-restapi", "jwt", "jwt.key", kubeconfig=self.server.kubeconfig(folder))

    def preview(self, folder: Path, count: int, target: int, **changes: object) -> list[Seen]:
        reach = self.reach(folder)

        def one(number: int) -> Seen:
            found = settings(target, resource=f"hpc-worker-g{number}", reach=reach, **changes)
            return preview.nodeset_scale(found, {"replicas": self.each})

        with ThreadPoolExecutor(16) as pool:
            return list(pool.map(one, range(count)))

    def asked(self) -> collections.Counter[str]:
        return collections.Counter(kind(path) for path in self.server.asked)


def kind(path: str) -> str:
    _, proxied, rest = path.partition("/proxy/")
    if proxied:
        return re.sub(r"v0\.0\.\d+", "v", rest)
    return "NodeSet" if path.startswith(NODESETS) else path.rpartition("/")[2]
