"""A NodeSet in DaemonSet mode on a real engine and a real API server: what its gate has written no update of the custom
resource takes back, and a change of the mode replaces it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lab.charts import crd_dir
from slinky_iac import names
from tests.integration.engine import Project
from tests.integration.kube_api import KubeApi, served
from tests.integration.test_older_state import PLURAL, Stack, resource
from tests.stacks import minimal

NAME = "each"
WRITTEN = {
    "scalingMode": "DaemonSet",
    "template": {"spec": {"nodeSelector": {"pool": "gpu"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}},
}
POD = {"nodeSelector": {"pool": "gpu"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeApi]:
    with served(tmp_path_factory.mktemp("api")) as made:
        made.kubectl("create", "namespace", "slurm")
        made.kubectl("create", "--validate=false", "-f", str(crd_dir("1.1.0") / f"{names.GROUP}_nodesets.yaml"))
        made.kubectl("wait", "--for=condition=Established", f"crd/{PLURAL}", "--timeout=30s")
        yield made


class DaemonStack(Stack):
    """The same with a NodeSet on each node."""

    name = NAME

    def sets(self, **settings: Any) -> None:
        self._has({"scalingMode": "DaemonSet", **settings})

    def has_number(self, replicas: int) -> None:
        self._has({"replicas": replicas})

    def _has(self, settings: dict[str, Any]) -> None:
        found = minimal(nodesets={self.name: settings}, operator={"version": "1.1.0"})
        (self.project.folder / "stack.json").write_text(json.dumps(found))

    def has_pods(self, count: int) -> None:
        """The operator counts so many."""
        status = json.dumps({"status": {"replicas": count, "selector": "app=x", "nodeSetHash": "1"}})
        self.api.kubectl(
            "patch", PLURAL, resource(self.name), "-n", "slurm", "--subresource=status", "--type=merge", "-p", status
        )

    def live(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.api.kubectl("get", PLURAL, resource(NAME), "-n", "slurm", "-o", "json"))
        return found

    def written_by_the_gate(self) -> None:
        words = ("--type=merge", "--field-manager=slinky-iac", "-p", json.dumps({"spec": WRITTEN}))
        self.api.kubectl("patch", PLURAL, resource(NAME), "-n", "slurm", *words)

    def fits(self) -> dict[str, Any]:
        spec = self.live()["spec"]
        pod = spec["template"]["spec"]
        template = {"spec": {key: pod[key] for key in ("nodeSelector", "affinity", "tolerations") if key in pod}}
        return {"scalingMode": spec["scalingMode"], "template": template}


def test_what_the_gate_wrote_stays_and_a_change_of_the_mode_replaces(project: Project, api: KubeApi) -> None:
    stack = DaemonStack(project, api)
    stack.sets(pod=POD)
    stack.run("up", NAME)
    made = stack.live()
    assert made["spec"]["scalingMode"] == "StatefulSet", "of no pod, until its gate has drained and written"
    assert made["spec"]["replicas"] == 0
    assert not {"nodeSelector", "tolerations"} & made["spec"]["template"]["spec"].keys()

    stack.written_by_the_gate()
    stack.sets(pod=POD, image="registry.example/slurmd:other")
    stack.run("up", NAME)
    assert stack.fits() == WRITTEN, "an update of another field"
    assert stack.live()["spec"]["slurmd"]["image"] == "registry.example/slurmd:other"
    assert stack.live()["metadata"]["uid"] == made["metadata"]["uid"]

    stack.sets(pod={"nodeSelector": {"pool": "cpu"}}, image="registry.example/slurmd:third")
    stack.run("up", NAME)
    assert stack.fits() == WRITTEN, "another selection is the gate's to write"

    stack.run("refresh", NAME)
    stack.sets(pod=POD, image="registry.example/slurmd:fourth")
    stack.run("up", NAME)
    assert stack.fits() == WRITTEN, "after a refresh"
    assert stack.live()["spec"]["slurmd"]["image"] == "registry.example/slurmd:fourth"

    stack.has_pods(3)
    stack.has_number(2)
    said = stack.run("preview", NAME)
    assert "replace" in said
    assert "older than the NodeSet" not in said, "that it has pods is what the plan is about"


def test_a_nodeset_with_a_number_is_replaced_too_and_another_number_replaces_nothing(project: Project, api: KubeApi) -> None:
    stack = DaemonStack(project, api)
    stack.name = "number"
    stack.has_number(2)
    stack.run("up", stack.name)
    stack.has_number(3)
    assert "replace" not in stack.run("preview", stack.name)
    stack.gate_writes(stack.name, 3)
    stack.sets(pod=POD)
    said = stack.run("preview", stack.name)
    assert "replace" in said
    assert "older than the NodeSet" not in said
