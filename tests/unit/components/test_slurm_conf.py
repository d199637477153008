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
    gate = recording.one("slurm:SlurmConfGate")
    assert gate.inputs["outside"] is (stack not in INSIDE)
    assert len(recording.of("slurm:QueueGate")) == (stack in INSIDE)
    spec = recording.one("v1beta1:Controller").inputs["spec"]
    assert stack in INSIDE or "extraConf" not in spec


def test_slurm_conf_passes_the_gate_and_so_no_flag_passes_it_by() -> None:
    """`--target` of the Controller leaves it with the gate's old output."""
    recording = recorded("all-in-kubernetes", external=METAL, partitions=SHARED)
    gate, controller = recording.one("slurm:SlurmConfGate"), recording.one("v1beta1:Controller")
    assert gate.urn in controller.dependencies
    config = form("all-in-kubernetes", external=METAL, partitions=SHARED)
    assert controller.inputs["spec"]["extraConf"] == gate.inputs["extraConf"] == controller_extra_conf(config)


def test_the_gate_knows_every_partition_and_every_host_that_a_job_may_need() -> None:
    gate = recorded("all-in-kubernetes", external=METAL, partitions=SHARED).one("slurm:SlurmConfGate")
    nodesets = form("all-in-kubernetes").nodesets
    assert gate.inputs["partitions"].keys() == {"training", *(n for n, s in nodesets.items() if s.partition.enabled)}
    assert gate.inputs["hosts"] == {"metal-1": "NodeName=metal-1 CPUs=64"}
    off = recorded("all-in-kubernetes", nodesets={"gpu": {"partition": {"enabled": False}}}).one("slurm:SlurmConfGate")
    assert "gpu" not in off.inputs["partitions"]


def test_a_host_leaves_slurm_conf_only_after_a_gate_was_asked() -> None:
    """The gate of bare-metal hosts comes after the Controller; this one comes before."""
    recording = recorded("all-in-kubernetes", external=METAL)
    controller = recording.one("v1beta1:Controller")
    assert recording.one("slurm:SlurmConfGate").urn in recording.before(controller)
    assert controller.urn in recording.before(recording.one("slurm:OutsideHosts"))


def test_a_destroy_meets_the_gate_of_the_queue_before_all_that_runs_jobs() -> None:
    recording = recorded("all-in-kubernetes", external=METAL)
    before = recording.before(recording.one("slurm:QueueGate"))
    for kind in ("v1beta1:NodeSet", "v1beta1:Controller", "v1beta1:RestApi", "slurm:OutsideHosts", "slurm:NodeSetScale"):
        assert {r.urn for r in recording.of(kind)} <= before, kind


@pytest.mark.parametrize(
    ("over", "kept"),
    [
        ({}, True),
        ({"controller": {"persistence": {"enabled": False}}}, False),
        ({"keys": {"protect": False}}, False),
        ({"keys": {"protect": False}, "cluster": {"createNamespace": False}}, True),
    ],
)
def test_the_queue_is_kept_where_slurmctlds_volume_outlives_a_destroy(over: dict[str, object], kept: bool) -> None:
    assert recorded("all-in-kubernetes", **over).one("slurm:QueueGate").inputs["keepsQueue"] is kept
