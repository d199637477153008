"""Who made an object is asked without reading what it holds."""

from __future__ import annotations

import httpx
import pytest

from slinky_iac.kube import marks
from slinky_iac.names import ANNOTATION_POD_CORDON
from tests.unit.kube.test_client import always, client_of, meta


def test_a_secret_is_asked_for_its_labels_without_its_contents() -> None:
    asked: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        body = {"metadata": meta("one", labels={"status": "pending-install"})}
        listed = {"metadata": {}, "items": [body]} if request.url.path.endswith("/secrets") else body
        return httpx.Response(200, json=listed)

    client = client_of(handle)
    (found,) = marks.secrets(client, "slinky", {"owner": "helm", "name": "slurm-operator"})
    assert (found.name, found.uid, found.labels["status"]) == ("one", "uid-one", "pending-install")
    assert marks.secret(client, "slurm", "one").name == "one"
    assert asked[0].url.params["labelSelector"] == "owner=helm,name=slurm-operator"
    assert all("as=PartialObjectMetadata" in request.headers["accept"] for request in asked)


def test_no_secret_at_all_is_null_where_metadata_is_asked_for() -> None:
    """Seen with Kubernetes 1.35: a list of whole objects would be empty here."""
    client = client_of(always(httpx.Response(200, json={"kind": "PartialObjectMetadataList", "items": None})))
    assert marks.secrets(client, "slinky", {"owner": "helm"}) == ()


def test_an_object_says_who_made_it() -> None:
    body = {"metadata": meta("slurm", annotations={"slinky-iac/stack": "prod"})}
    client = client_of(always(httpx.Response(200, json=body)))
    assert marks.namespace(client, "slurm").annotations == {"slinky-iac/stack": "prod"}
    assert marks.custom(client, "slurm", "restapis", "slurm").uid == "uid-slurm"
    assert marks.definition(client, "servicemonitors.monitoring.coreos.com").name == "slurm"


@pytest.mark.parametrize(
    ("cordoned_by", "theirs"),
    [("manager", True), ("kubectl-annotate", False), ("", False)],
    ids=["slurm-operator", "a person", "unknown"],
)
def test_who_cordoned_a_pod_is_known_by_its_field_managers(cordoned_by: str, theirs: bool) -> None:
    """slurm-operator made the pod, so what the pod's maker has written is the operator's."""
    asked: list[httpx.Request] = []
    made = {"manager": "manager", "fieldsV1": {"f:metadata": {"f:ownerReferences": {".": {}}, "f:annotations": {".": {}}}}}
    cordon = {"f:metadata": {"f:annotations": {f"f:{ANNOTATION_POD_CORDON}": {}}}}
    body = {**meta("gpu-1"), "managedFields": [made, {"manager": cordoned_by, "fieldsV1": cordon}]}

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={"items": [{"metadata": body}]})

    client = client_of(handle)
    assert marks.is_makers(client, "slurm", "gpu-1", ANNOTATION_POD_CORDON) is theirs
    assert asked[0].url.params["fieldSelector"] == "metadata.name=gpu-1"


@pytest.mark.parametrize("fields", [{}, {"f:metadata": 1}, {"f:metadata": {"f:annotations": "all"}}])
def test_field_managers_of_another_shape_tell_nothing(fields: dict[str, object]) -> None:
    body = {**meta("gpu-1"), "managedFields": [{"manager": "manager", "fieldsV1": fields}]}
    client = client_of(always(httpx.Response(200, json={"items": [{"metadata": body}]})))
    assert not marks.is_makers(client, "slurm", "gpu-1", ANNOTATION_POD_CORDON)


def test_a_pod_that_is_gone_was_cordoned_by_no_one() -> None:
    client = client_of(always(httpx.Response(200, json={"items": None})))
    assert not marks.is_makers(client, "slurm", "gpu-1", ANNOTATION_POD_CORDON)
