"""The gates' ConfigMap on a real API server, as a user with no more rights than `rights` prints: it is made, changed and
removed only as it was seen, so two runs never both have the lease."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from slinky_iac.cluster.kube_connection import KubeConnection, kube_source
from slinky_iac.cluster.partition_closing import place
from slinky_iac.commands.rights.table import rights
from slinky_iac.errors import KubeConflict, KubeForbidden, KubeNotFound
from slinky_iac.kube.client import KubeClient
from slinky_iac.specs.rights import Use
from tests.integration.kube_api import KubeApi
from tests.stacks import form

NAME, SPACE = place("slurm"), "record"


@pytest.fixture(scope="module")
def gate(kube: KubeApi, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeClient]:
    """A client with the rights of the gates' ConfigMap, and no other."""
    kube.kubectl("create", "namespace", SPACE)
    kube.kubectl("create", "serviceaccount", "gate", "-n", SPACE)
    rows = [each for each in rights(form("all-in-kubernetes"), Use.APPLY) if NAME in each.names]
    rules = [{"apiGroups": [""], "resources": [r.resource], "resourceNames": [NAME], "verbs": list(r.verbs)} for r in rows]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "gate"}, "rules": rules}
    kube.kubectl("create", "-n", SPACE, "-f", "-", stdin=json.dumps(role))
    kube.kubectl("create", "rolebinding", "gate", "-n", SPACE, "--role=gate", f"--serviceaccount={SPACE}:gate")
    found = json.loads(kube.kubeconfig.read_text())
    found["users"] = [{"name": "one", "user": {"token": kube.kubectl("create", "token", "gate", "-n", SPACE).strip()}}]
    file = Path(tmp_path_factory.mktemp("gate")) / "kubeconfig"
    file.write_text(json.dumps(found))
    with KubeConnection(kube_source(str(file), None)) as way:
        yield way.kube()
    kube.kubectl("delete", "namespace", SPACE, "--wait=false")


def test_the_record_is_made_changed_and_removed_only_as_it_was_seen(gate: KubeClient) -> None:
    with pytest.raises(KubeNotFound):
        gate.config_map(SPACE, NAME)
    gate.write_config_map(SPACE, NAME, None, {"run": "a"})
    with pytest.raises(KubeConflict):
        gate.write_config_map(SPACE, NAME, None, {"run": "b"})
    first = gate.config_map(SPACE, NAME)
    assert first.data == {"run": "a"}
    gate.write_config_map(SPACE, NAME, first, {"held": "x"})
    for late in ({"run": "b"}, {"run": None}):
        with pytest.raises(KubeConflict):
            gate.write_config_map(SPACE, NAME, first, late)
    second = gate.config_map(SPACE, NAME)
    assert second.data == {"run": "a", "held": "x"}
    gate.write_config_map(SPACE, NAME, second, {"held": None})
    with pytest.raises(KubeConflict):
        gate.write_config_map(SPACE, NAME, second, {"run": None, "held": None})
    gate.write_config_map(SPACE, NAME, gate.config_map(SPACE, NAME), {"run": None})
    with pytest.raises(KubeNotFound):
        gate.config_map(SPACE, NAME)


def test_its_rights_are_for_this_one_and_no_other(gate: KubeClient) -> None:
    with pytest.raises(KubeForbidden):
        gate.write_config_map(SPACE, "another", None, {"run": "a"})
