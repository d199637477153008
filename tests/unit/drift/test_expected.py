"""What a state file says that Slurm should be."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac import names
from slinky_iac.blueprint.document import document
from slinky_iac.cluster.pulumi_state import State
from slinky_iac.commands.drift.cli import expected
from slinky_iac.commands.drift.compare import Expected, PublicFile
from slinky_iac.config.reading.load import load
from slinky_iac.drain.settings import GateSettings, OutsideSettings
from slinky_iac.errors import StateError
from slinky_iac.specs.slurm_conf import required
from tests.stacks import outside
from tests.unit.status.made import blueprint

REACH = {"namespace": "slurm", "restapiService": "r", "jwtSecret": "s", "jwtEntry": "e"}
GATE = {
    "schema": 1, "stack": "prod", "nodeset": "gpu", "resource": "slurm-worker-gpu", "controller": "slurm", "replicas": 2.0,
    "maxReplicas": 2.0, "owner": "stack", "operatorVersion": "1.1.0", "policy": {}, **REACH,
}  # fmt: skip
HOSTS = {
    "schema": 1,
    "stack": "prod",
    "controller": "slurm",
    "hosts": {"m-1": "active", "m-2": "drained"},
    "policy": {},
    **REACH,
}


def of(**parts: Any) -> Expected:
    """``parts``: of the blueprint."""
    return expected(
        State.read([blueprint(**parts)]), {"gpu": GateSettings.from_props(GATE)}, OutsideSettings.from_props(HOSTS)
    )


def document_of(data: dict[str, Any]) -> dict[str, Any]:
    return document(load(data), "lab")


def test_partitions_come_from_the_outside_lines_and_from_the_operator() -> None:
    lines = (
        "NodeSet=gpu Feature=gpu\nPartitionName=gpu Nodes=gpu\nPartitionName=all Nodes=ALL Default=YES\n# PartitionName=no"
    )
    off, on = ({"gpu": {"partition": {"enabled": enabled}}} for enabled in (False, True))
    assert of(outsideConf=lines, nodesets=off).partitions == ("all", "gpu")
    assert of(outsideConf="", extraConf="PartitionName=big Nodes=ALL", nodesets=on).partitions == ("big", "gpu")


def test_a_nodeset_without_a_gate_is_not_expected() -> None:
    assert of(outsideConf="", nodesets={"other": {"partition": {"enabled": True}}}).partitions == ()


def test_parameters_come_from_the_outside_lines() -> None:
    """As the last update wrote them out, by the output's own renderer."""
    found = of(**document_of(outside())).required
    assert found == {each.key: value for each, value in required(load(outside()))}
    assert of(outsideConf="").required == {}


def test_releases_come_from_image_tags_that_name_one() -> None:
    for image, releases in (
        ("reg.example:5000/slurmd:26.05-ubuntu24.04", {"26.05"}),
        ("slurmd:26.05.3@sha256:ab", {"26.05"}),
        ("slurmd:latest", set()),
        ("slurmd@sha256:ab", set()),
    ):
        assert of(images=[image]).releases == releases


def test_hosts_and_stack_come_from_the_gates() -> None:
    found = of()
    assert (found.stack, dict(found.hosts), found.nodesets) == ("prod", {"m-1": "active", "m-2": "drained"}, ("gpu",))


def test_the_public_set_is_the_one_of_the_last_update() -> None:
    written = {"name": "slurm-token-jwks", "text": "{}"}
    assert of(tokenSet=written).public == PublicFile("slurm", "slurm-token-jwks", "{}")
    assert of().public is None


def test_gates_without_a_blueprint_are_not_judged() -> None:
    gate = {"type": names.NODESET_SCALE, "urn": "", "outputs": GATE}
    with pytest.raises(StateError, match=r"doesn't say what the stack makes\. Nothing was asked\. Run `pulumi up`"):
        expected(State.read([gate]), {}, None)


def test_a_blueprint_of_another_release_is_refused() -> None:
    with pytest.raises(StateError, match="has schema 2 and this program reads 1: nothing was asked"):
        of(schema=2)
