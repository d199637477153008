"""What KEDA's objects say, and what `status` says of an autoscaler that doesn't do its work."""

from __future__ import annotations

import httpx
import msgspec
import pytest

from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.kubeconfig import KubeAccess, KubeUser
from slinky_iac.parts.autoscale.keda import PAUSED, Autoscaler, ScaledObject, state_of
from tests.made.kubernetes import meta as made_meta
from tests.made.scalers import target
from tests.unit.kube.test_client import always, client_of, scaler, status

META = {
    "name": "slurm-worker-gpu",
    "uid": "u",
    "resourceVersion": "1",
    "creationTimestamp": "2026-01-01T00:00:00Z",
}
TARGET = target("slurm-worker-gpu")
TROUBLE = "unable to get external metric slurm/s0-composite: metric 'slurm_partition_nodes_alloc' not found"


def answers(annotations=None, conditions=(), failures=0, trouble=""):
    """A client of an API server with one ScaledObject and KEDA's HorizontalPodAutoscaler."""
    keda = {
        "metadata": META | {"annotations": annotations or {}},
        "spec": {"scaleTargetRef": TARGET, "maxReplicaCount": 4},
        "status": {
            "conditions": [
                {"type": "Ready", "status": "False" if failures else "True"},
                *({"type": each, "status": "True"} for each in conditions),
            ],
        },
    }
    active = {"type": "ScalingActive", "status": "False" if trouble else "True", "message": trouble}
    hpas = {"items": [{"metadata": META, "spec": {"scaleTargetRef": TARGET}, "status": {"conditions": [active]}}]}

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=keda if "keda.sh" in request.url.path else hpas)

    access = KubeAccess("https://k", None, False, None, None, "default", KubeUser(), "the test")
    return KubeClient(access, transport=httpx.MockTransport(answer))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, ()),
        (
            {"annotations": {"autoscaling.keda.sh/paused": "true", "slinky-iac/paused-by": "dev/gpu 1a2b"}},
            ("KEDA is paused by gate dev/gpu",),
        ),
        ({"annotations": {"autoscaling.keda.sh/paused": "true"}}, ("KEDA is paused by a person",)),
        ({"annotations": {"autoscaling.keda.sh/paused": "false"}}, ()),
        ({"failures": 2, "trouble": TROUBLE}, (f"KEDA gets no metric, so the number stays: {TROUBLE}",)),
        ({"conditions": ("Fallback",)}, ("KEDA gets no metric, so the number stays",)),
    ],
)
def test_a_pause_and_a_missing_metric_are_told(given, said):
    with answers(**given) as kube:
        assert state_of(kube, "slurm", "slurm-worker-gpu", "slurm-worker-gpu").said == said


def test_a_missing_one_is_told():
    with client_of(always(status(404, "no such ScaledObject"))) as kube:
        found = state_of(kube, "slurm", "slurm-worker-gpu", "slurm-worker-gpu")
    assert found.said[0].startswith("its ScaledObject is missing")
    assert not found.paused


@pytest.mark.parametrize(("text", "paused"), [("true", True), ("True", True), ("", True), ("yes", True), ("false", False)])
def test_any_text_but_false_pauses_keda(text: str, *, paused: bool) -> None:
    meta = made_meta("gpu", annotations={PAUSED: text})
    spec = {"scaleTargetRef": target("hpc-worker-gpu")}
    assert msgspec.convert({"metadata": meta, "spec": spec}, ScaledObject).paused is paused


@pytest.mark.parametrize(("active", "trouble"), [("False", "no metric"), ("True", "")])
def test_an_autoscaler_that_acts_has_no_trouble(active: str, trouble: str) -> None:
    body = scaler("HorizontalPodAutoscaler", "mine")
    body["status"] = {"conditions": [{"type": "ScalingActive", "status": active, "message": "no metric"}]}
    assert msgspec.convert(body, Autoscaler).trouble == trouble
