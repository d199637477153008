"""An API server in which pods of a trial have ended as soon as they are made, with words that a test gives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from tests.api_server import ApiServer

PODS = "/api/v1/namespaces/slurm/pods"
RECORD = "/api/v1/namespaces/slurm/configmaps/slurm-trial"
SENTENCE = "fatal: Can't find plugin for switch/hpe_slingshot"
REFUSED = f"release slurmctld slurm 26.05.5\nverdict slurmctld refused\nsaid slurmctld {SENTENCE}\n"
TAKEN = "release slurmctld slurm 26.05.5\nverdict slurmctld taken\n"


@dataclass
class TrialServer(ApiServer):
    """``said``: the last words of each pod. ``forbids``: no pod may be made."""

    said: str = REFUSED
    forbids: bool = False
    made: int = 0

    def __post_init__(self) -> None:
        self.objects |= {
            PODS: {"items": []},
            "/api/v1/namespaces/slurm": {"metadata": {"name": "slurm"}},
            "/api/v1/namespaces/kube-system": {"metadata": {"name": "kube-system", "uid": "uid-of-the-cluster"}},
        }

    @property
    def there(self) -> list[str]:
        """Paths of the pods that are there."""
        return [path for path in self.objects if path.startswith(f"{PODS}/")]

    def _answer(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        path, _, query = url.partition("?")
        if method == "POST" and path == PODS and self.forbids:
            return 403, json.dumps({"kind": "Status", "message": "pods is forbidden", "code": 403}).encode()
        if method == "POST" and path == PODS and "dryRun=All" in query:
            return 201, body
        if method == "POST" and path == PODS:
            self.made += 1
            pod = json.loads(body)
            ended = {"name": "try", "state": {"terminated": {"message": self.said, "exitCode": 0}}}
            pod["status"] = {"phase": "Succeeded", "containerStatuses": [ended]}
            self.objects[f"{PODS}/{pod['metadata']['name']}"] = pod
            return 201, json.dumps(pod).encode()
        if method == "DELETE" and path in self.there:
            del self.objects[path]
            return 200, b"{}"
        return super()._answer(method, url, body, headers)
