"""A list is all of its pages, whoever asks for it: what is on the second one is there too."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from slinky_iac.cluster.kube_connection import KubeConnection, kube_source
from slinky_iac.kube import machines, marks, pods, scalers
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.wire import Clock
from slinky_iac.names import API_VERSION
from slinky_iac.parts.autoscale import keda
from tests.api_server import ApiServer, Json
from tests.gate_site import AT, HPAS, NODESETS, PODS, SCALED, nodeset_body, pod_body
from tests.made.scalers import target
from tests.tree import python_modules, syntax_tree

COUNT = 5
SECRETS = "/api/v1/namespaces/slurm/secrets"


def scaler(number: int) -> Json:
    meta = {"name": f"each-{number}", "uid": "u", "resourceVersion": "1", "creationTimestamp": AT}
    return {"metadata": meta, "spec": {"scaleTargetRef": target("hpc-worker-g0")}}


def controller(number: int) -> Json:
    meta = nodeset_body(number, namespace="slurm")["metadata"]
    return {"metadata": meta, "spec": {}}


def mounting(number: int) -> Json:
    body = pod_body(0, number)
    return {**body, "spec": {**body["spec"], "volumes": [{"name": "keys", "secret": {"secretName": "jwt"}}]}}


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """Lists of five, two an answer."""
    made = ApiServer(page=2)
    each = range(COUNT)
    made.objects |= {
        PODS: {"items": [mounting(number) for number in each]},
        NODESETS: {"items": [nodeset_body(number) for number in each]},
        HPAS: {"items": [scaler(number) for number in each]},
        SCALED: {"items": []},
        SECRETS: {"items": [{"metadata": nodeset_body(number)["metadata"]} for number in each]},
        "/api/v1/nodes": {"items": [{"metadata": nodeset_body(number)["metadata"]} for number in each]},
        f"/apis/{API_VERSION}/controllers": {"items": [controller(number) for number in each]},
    }
    with made:
        yield made


LISTS: dict[str, Callable[[KubeClient], Collection[object]]] = {
    "pods of a NodeSet": lambda kube: kube.pods_of("slurm", kube.nodesets("slurm")[0]),
    "worker pods": lambda kube: kube.worker_pods("slurm"),
    "pods without a label": lambda kube: kube.pods_without("slurm", "slurmd", "label"),
    "NodeSets": lambda kube: kube.nodesets("slurm"),
    "Controllers": lambda kube: kube.controllers(),
    "autoscalers": lambda kube: scalers.all_scalers(kube, "slurm"),
    "HPAs of a NodeSet": lambda kube: keda.autoscalers(kube, "slurm", "hpc-worker-g0"),
    "Kubernetes nodes": machines.machines,
    "hosts of a login set": lambda kube: pods.hosts_of(kube, "slurm", "a=b"),
    "pods that mount a Secret": lambda kube: pods.pods_with_secret(kube, "slurm", "jwt"),
    "metadata of pods": lambda kube: marks.pods(kube, "slurm", "a=b"),
    "metadata of Secrets": lambda kube: marks.secrets(kube, "slurm", {"a": "b"}),
}


@pytest.mark.parametrize("listed", LISTS)
def test_what_is_on_a_later_page_is_in_the_list(server: ApiServer, tmp_path: Path, listed: str) -> None:
    with KubeConnection(kube_source(server.kubeconfig(tmp_path), None), clock=Clock()) as way, way.kube(10, 1) as kube:
        assert len(LISTS[listed](kube)) == COUNT


def test_short_lived_pods_are_all_listed(server: ApiServer, tmp_path: Path) -> None:
    with (
        KubeConnection(kube_source(server.kubeconfig(tmp_path), None), clock=Clock()) as way,
        pods.ShortPodClient(way.access) as kube,
    ):
        assert len(kube.short_pods("slurm", "a=b")) == COUNT


def test_one_function_reads_lists() -> None:
    """A list that is asked for as an object would end with its first page."""
    asks: list[str] = []
    for module in python_modules():
        calls = [each for each in ast.walk(syntax_tree(module)) if isinstance(each, ast.Call)]
        for call in calls:
            name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if name != "listed" and any(isinstance(each, ast.Subscript) and _is_page(each) for each in call.args):
                asks.append(f"{module.name}:{call.lineno}")
    assert asks == [], "lists are asked for by KubeRequests.listed"


def _is_page(each: ast.Subscript) -> bool:
    return isinstance(each.value, ast.Name) and each.value.id in {"Listed", "PartlyListed"}
