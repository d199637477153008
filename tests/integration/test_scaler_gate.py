"""A gate beside KEDA's ScaledObject, on the real engine: paused while nodes are drained, and given back or left to go."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from slinky_iac.kube.scalers import KEDA_HPA
from slinky_iac.names import ANNOTATION_PAUSED_BY
from slinky_iac.parts.autoscale.keda import PAUSED
from tests.integration.engine import Project, eventually
from tests.integration.test_two_gates import GATES
from tests.integration.two_gates import PROPS, World, kubeconfig, served
from tests.made.rows import Json
from tests.made.scalers import target
from tests.stacks import ROOT

NAME = "hpc-worker-a"
TARGET = target(NAME)


class WithKeda(World):
    """The world, with an autoscaler of NodeSet ``a`` that does as it is asked at once."""

    def __init__(self) -> None:
        super().__init__()
        self.maximum = 2
        self.written_while_scaled: list[tuple[str, int]] = []

    @property
    def own(self) -> dict[str, str]:
        """Annotations of the ScaledObject."""
        return self.annotations.setdefault("scaler", {})

    @property
    def paused(self) -> bool:
        return self.own.get(PAUSED) == "true"

    def kubernetes(self, method: str, path: str, query: str, body: Json) -> httpx.Response | None:
        if path.endswith(f"/scaledobjects/{NAME}"):
            if method == "PATCH":
                self.annotate("scaler", body)
                self.maximum = body.get("spec", {}).get("maxReplicaCount", self.maximum)
            return httpx.Response(200, json=self.scaled_object())
        if path.endswith("/scaledobjects"):
            return httpx.Response(200, json={"items": [self.scaled_object()]})
        if path.endswith("/horizontalpodautoscalers"):
            hpa = {"metadata": self.meta(f"{KEDA_HPA}{NAME}", {}), "spec": {"scaleTargetRef": TARGET}}
            return httpx.Response(200, json={"items": [] if self.paused else [hpa]})
        if (
            method == "PATCH"
            and path.endswith(f"/nodesets/{NAME}")
            and "replicas" in body.get("spec", {})
            and not self.paused
        ):
            self.written_while_scaled.append(("a", body["spec"]["replicas"]))
        return super().kubernetes(method, path, query, body)

    def scaled_object(self) -> Json:
        conditions = [{"type": "Paused", "status": "True" if self.paused else "False"}]
        spec = {"scaleTargetRef": TARGET, "maxReplicaCount": self.maximum}
        return {"metadata": self.meta(NAME, self.own), "spec": spec, "status": {"conditions": conditions}}


@pytest.fixture
def world() -> Iterator[tuple[WithKeda, str]]:
    with served(WithKeda()) as made:
        yield made


@pytest.fixture
def gate(project: Project, world: tuple[WithKeda, str], monkeypatch: pytest.MonkeyPatch) -> Project:
    """The gate in the state, with its autoscaler."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    project.write(main=GATES.format(root=str(ROOT)))
    write(project, world[1], maximum=2)
    project.up()
    return project


def write(project: Project, url: str, *, maximum: int | None = None, replicas: int = 0) -> None:
    """An autoscaler's number up to ``maximum``, or the stack's."""
    folder = Path(project.folder)
    own: dict[str, Any] = {"kubeconfig": kubeconfig(folder, url), "url": url, "nodeset": "a", "resource": NAME}
    if maximum is None:
        own |= {"owner": "stack", "replicas": replicas, "maxReplicas": replicas}
    else:
        own |= {"owner": "autoscaler", "replicas": 0, "maxReplicas": maximum}
        own |= {"autoscaler": NAME, "autoscalerStep": 4, "autoscalerMinimum": 0}
    (folder / "gates.json").write_text(json.dumps({"a": {**PROPS, **own}}))


def test_a_lower_maximum_is_previewed_and_carried_out_while_keda_stands_still(
    gate: Project, world: tuple[WithKeda, str]
) -> None:
    now, url = world
    gate.preview("--expect-no-changes")
    write(gate, url, maximum=1)
    said = gate.preview()
    assert "2 nodes busy" in said.stdout + said.stderr
    run = gate.spawn("up", "--yes", "--skip-preview")
    eventually("a node is drained", lambda: now.drained("a-1"))
    assert now.own[ANNOTATION_PAUSED_BY].startswith("test/a ")
    now.end_job("a-1")
    assert run.wait() == 0, run.output
    assert (now.pods["a"], now.maximum, now.own) == (["a-0"], 1, {})
    assert (now.written, now.written_while_scaled) == ([("a", 1)], [])
    gate.preview("--expect-no-changes")


def test_the_stack_takes_the_number_over_and_the_pause_stays_for_the_engine_to_remove(
    gate: Project, world: tuple[WithKeda, str]
) -> None:
    now, url = world
    write(gate, url, replicas=1)
    said = gate.preview()
    assert f"the autoscaler {NAME} is removed" in said.stdout + said.stderr
    run = gate.spawn("up", "--yes", "--skip-preview")
    eventually("a node is drained", lambda: now.drained("a-1"))
    now.end_job("a-1")
    assert run.wait() == 0, run.output
    assert (now.pods["a"], now.paused) == (["a-0"], True)
    assert (now.written, now.written_while_scaled) == ([("a", 1)], [])
    assert "formerAutoscaler" not in gate.resources()["a"]["outputs"]
