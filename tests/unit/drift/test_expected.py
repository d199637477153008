"""What a state file says that Slurm should be."""

from __future__ import annotations

from typing import Any

from slinky_iac import names
from slinky_iac.cluster.pulumi_state import State
from slinky_iac.commands.drift.cli import expected
from slinky_iac.commands.drift.compare import TokenSet
from slinky_iac.config.load import load
from slinky_iac.drain.settings import GateSettings, OutsideSettings
from slinky_iac.specs.slurm_conf import outside_slurm_conf, required
from tests.stacks import outside

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
GROUP = "kubernetes:slinky.slurm.net/v1beta1"


def nodeset(*, enabled: bool, image: str) -> dict[str, Any]:
    spec = {"partition": {"enabled": enabled}, "slurmd": {"image": image}}
    return {"type": f"{GROUP}:NodeSet", "inputs": {"metadata": {"name": "slurm-worker-gpu"}, "spec": spec}}


def of(*resources: dict[str, Any]):
    gate = GateSettings.from_props(GATE)
    return expected(State.read(resources), {"gpu": gate}, OutsideSettings.from_props(HOSTS))


def test_partitions_come_from_the_outside_lines_and_from_the_operator() -> None:
    lines = (
        "NodeSet=gpu Feature=gpu\nPartitionName=gpu Nodes=gpu\nPartitionName=all Nodes=ALL Default=YES\n# PartitionName=no"
    )
    stack = {"type": "pulumi:pulumi:Stack", "outputs": {"outsideSlurmConf": lines}}
    assert of(stack, nodeset(enabled=False, image="x")).partitions == ("all", "gpu")
    extra = {
        "type": f"{GROUP}:Controller",
        "inputs": {"spec": {"clusterName": "lab", "extraConf": "PartitionName=big Nodes=ALL"}},
    }
    found = of(extra, nodeset(enabled=True, image="x"))
    assert (found.partitions, found.cluster) == (("big", "gpu"), "lab")


def test_parameters_come_from_the_outside_lines() -> None:
    """As the last update wrote them out, by the output's own renderer."""
    lines = outside_slurm_conf(load(outside()))
    found = of({"type": "pulumi:pulumi:Stack", "outputs": {"outsideSlurmConf": lines}}).required
    assert found == {each.key: value for each, value in required(load(outside()))}
    assert of().required == {}


def test_releases_come_from_image_tags_that_name_one() -> None:
    for image, releases in (
        ("reg.example:5000/slurmd:26.05-ubuntu24.04", {"26.05"}),
        ("slurmd:26.05.3@sha256:ab", {"26.05"}),
        ("slurmd:latest", set()),
        ("slurmd@sha256:ab", set()),
    ):
        assert of(nodeset(enabled=False, image=image)).releases == releases


def test_hosts_and_stack_come_from_the_gates() -> None:
    found = of({"type": "pulumi:pulumi:Stack"})
    assert (found.stack, dict(found.hosts), found.nodesets) == ("prod", {"m-1": "active", "m-2": "drained"}, ("gpu",))


def test_the_public_set_is_the_one_that_the_last_update_wrote() -> None:
    own = {
        "type": "kubernetes:core/v1:ConfigMap",
        "urn": f"urn:pulumi:prod::slinky-iac::{names.TYPE_PREFIX}:AuthKeys$kubernetes:core/v1:ConfigMap::slurm-token-jwks",
        "inputs": {"metadata": {"namespace": "slurm", "name": "slurm-token-jwks"}, "data": {"jwks.json": "{}"}},
    }
    assert of(own).token_set == TokenSet("slurm", "slurm-token-jwks", "{}")
    assert of({**own, "urn": "urn:pulumi:prod::slinky-iac::kubernetes:core/v1:ConfigMap::x-token-jwks"}).token_set is None
    assert of().token_set is None
