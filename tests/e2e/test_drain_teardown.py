"""Removal, replacement and destroy drain first; so do bare-metal hosts that are taken out for maintenance."""

from __future__ import annotations

from slinky_iac.cluster import pulumi_state
from tests.e2e.gated import NODES, STACK, Gated
from tests.e2e.slurm import Slurm, await_true

STANDS_ON = STACK


def test_replacing_and_then_removing_a_nodeset_waits_for_its_jobs(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    job = slurm.submit("-p", "gpu", "-w", "gpu-1", "-t", "5")
    slurm.await_running(job)
    (urn,) = [each.urn for each in pulumi_state.export(None, run=gated.run) if each.urn.endswith("-nodeset")]
    gated.finish_when_drained(gated.start_up("--replace", urn), NODES, job)
    (row,) = slurm.await_completed(job)
    assert (row.state, row.nodes) == ("COMPLETED", "gpu-1")
    slurm.await_registered(*NODES)

    job = slurm.submit("-p", "gpu", "-w", "gpu-2", "-t", "5")
    slurm.await_running(job)
    gated.current["slinky-iac:nodesets"] = {}
    gated.world.stack(gated.stack.name, gated.current)
    gated.finish_when_drained(gated.start_up(), NODES, job)
    (row,) = slurm.await_completed(job)
    assert (row.state, row.nodes) == ("COMPLETED", "gpu-2")
    assert gated.pods() == []


def test_a_bare_metal_host_is_held_for_maintenance_and_returned(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    job = slurm.submit("-w", "metal-1", "-t", "5", seconds=15)
    slurm.await_running(job)
    hosts = gated.current["slinky-iac:external"]
    hosts["slurmdHosts"][0]["state"] = "drained"
    gated.world.stack(gated.stack.name, gated.current)
    gated.stack.up()
    (row,) = slurm.await_completed(job)
    assert (row.state, row.nodes) == ("COMPLETED", "metal-1")
    assert "DRAIN" in slurm.states()["metal-1"]
    assert slurm.reason("metal-1").startswith("slinky-iac:gated/outside-hosts: ")
    assert gated.changes() == []

    slurm.admin("scontrol", "update", "nodename=metal-2", "state=drain", "reason=disk")
    hosts["slurmdHosts"][0]["state"] = "active"
    gated.world.stack(gated.stack.name, gated.current)
    gated.stack.up()
    await_true("metal-1 is back", lambda: "DRAIN" not in slurm.states()["metal-1"], 30)
    assert slurm.reason("metal-2") == "disk", "a person's drain is not ours to lift"
    slurm.admin("scontrol", "update", "nodename=metal-2", "state=resume")


def test_destroy_waits_for_jobs_and_slurmrestd_outlives_the_nodesets(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    job = slurm.submit("-p", "gpu", "-w", "gpu-0", "-t", "5")
    slurm.await_running(job)
    gated.finish_when_drained(gated.start_up(command="destroy"), NODES, job)
    (row,) = slurm.await_completed(job)
    assert (row.state, row.nodes) == ("COMPLETED", "gpu-0")
