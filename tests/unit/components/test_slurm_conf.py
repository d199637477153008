"""What stands before slurmctld's configuration, and what a destroy meets first."""

from __future__ import annotations

import pytest

from slinky_iac.specs.slurm_conf import controller_extra_conf
from tests.clusters import recorded
from tests.stacks import FORMS, form

METAL = {"slurmdHosts": [{"name": "metal-1", "config": {"CPUs": 64}}]}
SHARED = {"training": {"nodesets": ["gpu"]}}
INSIDE = [name for name in FORMS if form(name).controller.external is None]


@pytest.mark.parametrize("stack", FORMS)
def test_the_gates_act_where_slurmctld_is_in_kubernetes_and_nowhere_else(stack: str) -> None:
    recording = recorded(stack)
    gate = recording.one("slurm:ControllerGate")
    assert gate.inputs["outside"] is (stack not in INSIDE)
    assert len(recording.of("slurm:QueueGate")) == (stack in INSIDE)
    spec = recording.one("v1beta1:Controller").inputs["spec"]
    assert stack in INSIDE or "extraConf" not in spec


def test_the_controller_is_created_with_its_slurm_conf_and_only_the_gate_writes_it_from_then_on() -> None:
    recording = recorded("all-in-kubernetes", external=METAL, partitions=SHARED)
    gate, controller = recording.one("slurm:ControllerGate"), recording.one("v1beta1:Controller")
    config = form("all-in-kubernetes", external=METAL, partitions=SHARED)
    assert controller.inputs["spec"]["extraConf"] == gate.inputs["extraConf"] == controller_extra_conf(config)
    assert controller.ignore_changes == ("spec.extraConf",)
    assert controller.urn in recording.before(gate)


def test_the_gate_knows_every_partition_every_host_and_every_nodeset() -> None:
    gate = recorded("all-in-kubernetes", external=METAL, partitions=SHARED).one("slurm:ControllerGate")
    nodesets = form("all-in-kubernetes").nodesets
    assert gate.inputs["partitions"].keys() == {"training", *(n for n, s in nodesets.items() if s.partition.enabled)}
    assert gate.inputs["hosts"] == {"metal-1": "NodeName=metal-1 CPUs=64"}
    assert gate.inputs["nodesets"].keys() == nodesets.keys()
    off = recorded("all-in-kubernetes", nodesets={"gpu": {"partition": {"enabled": False}}}).one("slurm:ControllerGate")
    assert "gpu" not in off.inputs["partitions"]


def test_a_destroy_meets_the_gate_of_slurmctld_after_all_that_runs_jobs_and_right_before_slurmrestd() -> None:
    recording = recorded("all-in-kubernetes", external=METAL)
    gate = recording.one("slurm:ControllerGate")
    for kind in ("v1beta1:NodeSet", "slurm:OutsideHosts", "slurm:NodeSetScale", "v1beta1:LoginSet", "slurm:QueueGate"):
        for each in recording.of(kind):
            assert gate.urn in recording.before(each), kind
    assert {each.urn for each in recording.of("v1beta1:RestApi")} <= recording.before(gate)


def test_a_destroy_meets_the_gate_of_the_queue_before_all_that_runs_jobs() -> None:
    recording = recorded("all-in-kubernetes", external=METAL)
    before = recording.before(recording.one("slurm:QueueGate"))
    for kind in ("v1beta1:NodeSet", "v1beta1:Controller", "v1beta1:RestApi", "slurm:OutsideHosts", "slurm:NodeSetScale"):
        assert {r.urn for r in recording.of(kind)} <= before, kind


@pytest.mark.parametrize(
    ("over", "kept"),
    [
        ({}, False),
        ({"cluster": {"keepNamespace": True}}, True),
        ({"controller": {"persistence": {"enabled": False}}, "cluster": {"keepNamespace": True}}, False),
        ({"keys": {"protect": False}, "cluster": {"createNamespace": False}}, True),
    ],
)
def test_the_queue_is_kept_where_the_namespace_of_slurmctlds_volume_outlives_a_destroy(
    over: dict[str, object], kept: bool
) -> None:
    """`pulumi state unprotect --all` lets a namespace go that a protected key is in."""
    recording = recorded("all-in-kubernetes", **over)
    for kind in ("slurm:QueueGate", "slurm:ControllerGate"):
        assert recording.one(kind).inputs["keepsQueue"] is kept
