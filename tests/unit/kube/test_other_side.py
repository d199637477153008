"""The other side of a reader's rule. Each test is a fault that once passed all others."""

from __future__ import annotations

import httpx
import msgspec
import pytest

from slinky_iac import names
from slinky_iac.errors import KubeNotFound
from slinky_iac.kube.scalers import ScaledObject
from tests.unit import builders
from tests.unit.kube.test_client import client_of, status


@pytest.mark.parametrize(("text", "paused"), [("true", True), ("True", True), ("", True), ("yes", True), ("false", False)])
def test_any_text_but_false_pauses_keda(text: str, *, paused: bool) -> None:
    meta = builders.meta("gpu", annotations={names.KEDA_PAUSED: text})
    spec = {"scaleTargetRef": {"kind": "NodeSet", "name": "hpc-worker-gpu", "apiVersion": names.API_VERSION}}
    assert msgspec.convert({"metadata": meta, "spec": spec}, ScaledObject).paused is paused


def test_an_api_server_without_autoscalers_is_an_error_and_one_without_keda_none() -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        if "horizontalpodautoscalers" in request.url.path:
            return status(404, "the server could not find the requested resource")
        return httpx.Response(200, json={"items": []})

    with pytest.raises(KubeNotFound):
        client_of(handle).scalers_of("slurm", "lab-worker-gpu")
