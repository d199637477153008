"""What a status asks of Kubernetes: its release, a Deployment's images, a Secret's age."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from slinky_iac.errors import KubeError, KubeNotFound
from tests.unit.kube.test_client import EPOCH, NOW, always, client_of, status


def test_the_api_servers_release() -> None:
    assert client_of(always(httpx.Response(200, json={"gitVersion": "v1.35.2", "major": "1"}))).release() == "v1.35.2"


def test_images_of_a_deployment_in_order() -> None:
    containers = [{"name": "manager", "image": "a/operator:1.0.1"}, {"name": "x", "image": "b:2"}]
    body = {"metadata": {"name": "slurm-operator"}, "spec": {"template": {"spec": {"containers": containers}}}}
    client = client_of(always(httpx.Response(200, json=body)))
    assert client.deployment_images("slinky", "slurm-operator") == ("a/operator:1.0.1", "b:2")
    with pytest.raises(KubeNotFound):
        client_of(always(status(404, "gone"))).deployment_images("slinky", "slurm-operator")


def test_when_a_secret_was_made_without_reading_it() -> None:
    body = {"metadata": {"name": "keys", "creationTimestamp": NOW}, "data": {"slurm.key": "%%%"}}
    assert client_of(always(httpx.Response(200, json=body))).secret_made_at("slurm", "keys") == EPOCH
    assert client_of(always(httpx.Response(200, json={"data": {}}))).secret_made_at("slurm", "keys") is None


def test_a_secret_in_one_question_with_when_each_entry_was_written() -> None:
    """An entry is as old as its owner's last change, whoever else wrote to the Secret since."""

    def manager(time: str, *entries: str) -> dict[str, Any]:
        return {"manager": "x", "time": time, "fieldsV1": {"f:data": {".": {}, **{f"f:{each}": {} for each in entries}}}}

    labels = {"manager": "y", "time": "2031-01-01T00:00:00Z", "fieldsV1": {"f:metadata": {"f:labels": {}}}}
    managers = [manager(NOW, "token.pem"), manager("2030-01-01T00:00:00Z", "other"), labels, {"manager": "no time"}]
    meta = {"creationTimestamp": "2020-01-01T00:00:00Z", "managedFields": managers}
    body = {"metadata": meta, "data": {"token.pem": "cGVt", "lost": ""}}
    found = client_of(always(httpx.Response(200, json=body))).secret("slurm", "keys")
    assert found.data == {"token.pem": b"pem", "lost": b""}
    assert (found.written("token.pem"), found.written("lost")) == (EPOCH, None)
    assert found.created == 1_577_836_800
    assert "pem" not in repr(found).replace("token.pem", "")


def test_a_secret_whose_entry_is_no_base64_is_not_used() -> None:
    with pytest.raises(KubeError, match="base64"):
        client_of(always(httpx.Response(200, json={"data": {"k": "%%%"}}))).secret("slurm", "keys")
