"""A gate records in which Kubernetes cluster it was made. `pulumi destroy` runs no program that could guard it: in a shell
with another kubeconfig all would be gone already, the state would be emptied, and the cluster would run on without one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.cluster.which import NAMESPACE, answering
from slinky_iac.commands import cli, drain
from slinky_iac.drain.conf_gates import ControllerGateProvider, QueueGateProvider
from slinky_iac.drain.gates import ClusterGate, NodeSetScaleProvider, OutsideHostsProvider, SessionsProvider
from slinky_iac.engine.provider import Gate
from slinky_iac.errors import DrainBlocked, SlinkyError, StateError
from slinky_iac.identity import IdentityProvider
from slinky_iac.names import NODESET_SCALE
from tests.api_server import ApiServer
from tests.gate_site import AT, NODESETS

SYSTEM = f"/api/v1/namespaces/{NAMESPACE}"
CONTROLLER = "/apis/slinky.slurm.net/v1beta1/namespaces/slurm/controllers/hpc"
PROPS: dict[str, Any] = {
    "schema": 1,
    "stack": "dev",
    "urn": "urn:x",
    "policy": {},
    "namespace": "slurm",
    "restapiService": "hpc-restapi",
    "jwtSecret": "jwt",
    "jwtEntry": "jwt.key",
    "controller": "hpc",
    "cluster": "hpc",
    "nodeset": "gpu",
    "resource": "hpc-worker-gpu",
    "replicas": 2.0,
    "maxReplicas": 2.0,
    "owner": "stack",
    "operatorVersion": "1.1.0",
    "hosts": {},
    "podNamespace": "slurm",
    "podSelector": "app=x",
    "kind": "LoginSet",
    "host": "login",
    "interrupts": False,
    "context": "",
}
GATES = [NodeSetScaleProvider, OutsideHostsProvider, SessionsProvider, ControllerGateProvider, QueueGateProvider]


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with ApiServer(objects={SYSTEM: {"metadata": {"name": NAMESPACE, "uid": "uid-1"}}}) as made:
        yield made


@pytest.fixture
def props(api: ApiServer, tmp_path: Path) -> dict[str, Any]:
    return PROPS | {"kubeconfig": api.kubeconfig(tmp_path)}


@pytest.mark.parametrize("gate", GATES)
def test_a_gate_records_the_cluster_that_answers_and_keeps_what_it_knows_where_none_does(
    gate: type[Gate], props: dict[str, Any], tmp_path: Path
) -> None:
    assert issubclass(gate, ClusterGate)
    assert gate().recorded({}, props) == props | {"kubernetes": "uid-1"}
    nowhere = props | {"kubeconfig": str(tmp_path / "none")}
    assert gate().recorded({"kubernetes": "uid-1"}, nowhere) == nowhere | {"kubernetes": "uid-1"}
    assert gate().recorded({}, nowhere) == nowhere


@pytest.mark.parametrize("gate", GATES)
def test_a_destroy_in_another_cluster_stops_before_anything_is_asked(
    gate: type[Gate], api: ApiServer, props: dict[str, Any]
) -> None:
    with pytest.raises(StateError, match=r"UID uid-1, and the state has uid-0\. Nothing was changed") as why:
        gate().delete("id", props | {"kubernetes": "uid-0"})
    assert "Set $KUBECONFIG" in str(why.value)
    assert api.asked == [SYSTEM]
    assert api.written == []


def test_a_destroy_in_its_own_cluster_and_one_that_was_never_recorded_go_on(api: ApiServer, props: dict[str, Any]) -> None:
    for known in ("uid-1", ""):
        QueueGateProvider().delete("id", props | {"kubernetes": known})
    assert api.asked.count(CONTROLLER) == 2, "there is none any more"


def test_a_process_asks_once(api: ApiServer, props: dict[str, Any]) -> None:
    for _ in range(3):
        assert answering(props["kubeconfig"], "") == "uid-1"
    assert api.asked == [SYSTEM]


def test_the_record_of_the_cluster_and_its_gates_ask_once_which_cluster_answers(
    api: ApiServer, props: dict[str, Any]
) -> None:
    given = {"kubeconfig": props["kubeconfig"], "context": "", "namespace": "slurm"}
    IdentityProvider().read("hpc", given)
    assert answering(props["kubeconfig"], "") == "uid-1"
    assert api.asked == [SYSTEM]


def test_an_object_that_cannot_be_read_ends_the_call_with_what_was_got_and_the_next_command(
    api: ApiServer, props: dict[str, Any]
) -> None:
    meta = {"name": "hpc-worker-gpu", "uid": "u", "resourceVersion": "1", "creationTimestamp": AT}
    api.objects[f"{NODESETS}/hpc-worker-gpu"] = {"metadata": meta, "spec": {"replicas": "two"}}
    with pytest.raises(
        DrainBlocked, match=r"dev/gpu: NodeSet slurm/hpc-worker-gpu: .*Expected `int`.*spec\.replicas"
    ) as why:
        NodeSetScaleProvider().delete("id", props)
    assert "what is drained or closed stays so, as `slinky drain status` shows" in str(why.value)
    assert str(why.value).endswith("then run the same command again")
    assert api.written == []


@pytest.mark.parametrize("gate", [ControllerGateProvider, QueueGateProvider])
def test_a_controller_that_cannot_be_read_is_no_controller_that_is_gone(
    gate: type[Gate], api: ApiServer, props: dict[str, Any]
) -> None:
    meta = {"name": "hpc", "uid": "u", "resourceVersion": "1", "creationTimestamp": AT}
    api.objects[CONTROLLER] = {"metadata": meta, "spec": {"extraConf": ["PartitionName=night"]}}
    with pytest.raises(DrainBlocked, match=r"dev/slurm-conf: Controller slurm/hpc: .*spec\.extraConf"):
        gate().delete("id", props)
    assert api.written == []


@pytest.mark.parametrize("act", ["cancel", "status", "plan"])
def test_a_command_that_drains_in_another_cluster_stops_too(act: str, api: ApiServer, props: dict[str, Any]) -> None:
    """It would say that nothing of this stack's is drained."""
    made = {"type": NODESET_SCALE, "outputs": props | {"kubernetes": "uid-0"}}

    def exported(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(arguments, 0, json.dumps({"deployment": {"resources": [made]}}), "")

    with pytest.raises(SlinkyError, match="another Kubernetes cluster answers"):
        drain.run(cli.parser().parse_args(["drain", act]), exported)
    assert api.asked == [SYSTEM]
