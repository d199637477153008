"""What this program says of Kubernetes' objects without a cluster is what a real API server says of them.

The server is the oracle: it is asked for each piece with ``dryRun=All``, sound or not, and no verdict is written here.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from slinky_iac.config.kubernetes import types as kubernetes_types
from slinky_iac.config.kubernetes.gates import GATES, dropped
from slinky_iac.specs.refused import pod_faults
from tests.integration.kube_api import TOKEN, KubeApi
from tests.kubernetes_pieces import BY_OTHERS, pieces, whole_pod

NAMESPACE = "rules"
PIECES = pieces()


@pytest.fixture(scope="module")
def server(kube: KubeApi) -> Iterator[httpx.Client]:
    """A client of the API server, and a namespace where pods may be made."""
    make_namespace(kube, NAMESPACE)
    config = json.loads(kube.kubeconfig.read_text())
    url = config["clusters"][0]["cluster"]["server"]
    with httpx.Client(base_url=url, verify=False, headers={"authorization": f"Bearer {TOKEN}"}) as made:
        yield made


def make_namespace(kube: KubeApi, name: str, **labels: str) -> None:
    """A namespace with the ServiceAccount that a controller would make."""
    for body in (
        {"kind": "Namespace", "metadata": {"name": name, "labels": labels}},
        {"kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}},
    ):
        kube.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", **body}))


def refusal(server: httpx.Client, kind: str, value: dict[str, Any]) -> str:
    """The API server's words against a piece; empty where it takes it. A field that it drops is refused, too."""
    metadata = {"name": f"a-{secrets.token_hex(4)}"}
    if kind == "SERVICE":
        body: dict[str, Any] = {"kind": "Service", "spec": {"ports": [{"port": 80}], "selector": {"a": "b"}, **value}}
    elif kind == "DEPLOYMENT":
        selector, template = {"matchLabels": {"a": "b"}}, {"metadata": {"labels": {"a": "b"}}, "spec": whole_pod("", {})[1]}
        body = {"kind": "Deployment", "spec": {"selector": selector, "template": template, **value}}
    elif kind == "CLAIM":
        body = {"kind": "PersistentVolumeClaim", "spec": value}
    else:
        more, spec = whole_pod(kind, value)
        metadata |= more
        body = {"kind": "Pod", "spec": spec}
    group = "apps/v1" if kind == "DEPLOYMENT" else "v1"
    path = f"/{'apis' if '/' in group else 'api'}/{group}/namespaces/{NAMESPACE}/{body['kind'].lower()}s"
    asked = {"dryRun": "All", "fieldValidation": "Strict"}
    answer = server.post(path, params=asked, json={"apiVersion": group, **body, "metadata": metadata})
    assert answer.status_code in {201, 400, 403, 422}, answer.text
    return "" if answer.status_code == 201 else str(answer.json()["message"])


def ours(kind: str, value: dict[str, Any]) -> list[tuple[str, str]]:
    """The same question, without a cluster."""
    if kind in {"SERVICE", "CLAIM"}:
        of = {"SERVICE": "ServiceSpec", "CLAIM": "PersistentVolumeClaimSpec"}[kind]
        return [*kubernetes_types.faults(of, value, whole=True)]
    if kind == "DEPLOYMENT":
        return [*kubernetes_types.faults("LoginSet.strategy", value.get("strategy"), line="1.2")]
    metadata, spec = whole_pod(kind, value)
    return [*pod_faults(spec, metadata), *kubernetes_types.faults("ObjectMeta", metadata)]


@pytest.mark.parametrize(("name", "kind", "value"), PIECES, ids=[name for name, *_ in PIECES])
def test_the_answer_without_a_cluster_is_the_api_servers(
    server: httpx.Client, name: str, kind: str, value: dict[str, Any]
) -> None:
    theirs, own = refusal(server, kind, value), ours(kind, value)
    if name in BY_OTHERS:
        assert not theirs, f"the server says {theirs!r}: take it out of BY_OTHERS"
        assert own
        return
    assert bool(own) == bool(theirs), f"the server says {theirs!r}, and we {own}"


def test_the_table_has_sound_pieces_and_wrong_ones(server: httpx.Client) -> None:
    wrong = [name for name, kind, value in PIECES if refusal(server, kind, value)]
    assert len(wrong) > 100
    assert len(PIECES) - len(wrong) > 70
    assert BY_OTHERS.keys() <= {name for name, *_ in PIECES}


@pytest.mark.parametrize(("kind", "field"), GATES)
def test_a_field_behind_a_gate_is_dropped_without_a_word(server: httpx.Client, kind: str, field: str) -> None:
    piece: dict[str, Any] = {
        ("Lifecycle", "stopSignal"): {
            "os": {"name": "linux"},
            "containers": [{"name": "daemon", "image": "a:1", "lifecycle": {"stopSignal": "SIGUSR1"}}],
        },
        ("PodSpec", "workloadRef"): {"workloadRef": {"name": "a", "podGroup": "b"}},
        ("VolumeProjection", "clusterTrustBundle"): _projected({"clusterTrustBundle": {"name": "a", "path": "ca.crt"}}),
        ("VolumeProjection", "podCertificate"): _projected(
            {"podCertificate": {"signerName": "example.org/a", "keyType": "ED25519", "credentialBundlePath": "a"}}
        ),
    }[kind, field]
    assert [gate for _, gate in dropped("PodSpec", piece)] == [GATES[kind, field]]
    body = {"metadata": {"name": "gated"}, "spec": {"containers": [{"name": "daemon", "image": "a:1"}], **piece}}
    answer = server.post(f"/api/v1/namespaces/{NAMESPACE}/pods", params={"dryRun": "All"}, json=body)
    assert answer.status_code == 201, answer.text
    assert field not in json.dumps(answer.json()["spec"])


def _projected(source: dict[str, Any]) -> dict[str, Any]:
    return {"volumes": [{"name": "v", "projected": {"sources": [source]}}]}
