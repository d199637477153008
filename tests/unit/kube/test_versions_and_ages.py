"""What a status asks of Kubernetes: its release, a Deployment's images, a Secret's age."""

from __future__ import annotations

import httpx
import pytest

from slinky_iac.errors import KubeNotFound
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
