"""NetworkPolicies from the first `pulumi up` on, beside slurmctld, slurmdbd and metal outside: jobs run over pods and metal,
a gate drains, and strangers reach neither slurmrestd nor slurmd."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.gated import NAMESPACE, NODESET, Gated, settings
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World
from tests.faults.strangers import API_SERVER, PORTS, Stranger, elsewhere, network

__all__ = ["elsewhere", "network"]

NETWORKS = {"enabled": True, "apiServer": API_SERVER, "addresses": {"ctl": ["10.99.0.10"]}}


@pytest.fixture(scope="module")
def gated(world: World, slurm: Slurm, network: None) -> Iterator[Gated]:
    world.vacate()
    found = Gated(world, slurm, world.stack("networks", settings(3, networkPolicies=NETWORKS)))
    found.up(3, networkPolicies=NETWORKS)
    slurm.await_registered("gpu-0", "gpu-1", "gpu-2")
    yield found
    slurm.cancel_all()
    world.vacate()


def test_a_job_runs_over_pods_and_metal_and_is_accounted(gated: Gated, slurm: Slurm) -> None:
    mixed = ["gpu-0", "gpu-1", "metal-1"]
    assert sorted(slurm.user("srun", "-N3", "-w", ",".join(mixed), "-t1", "hostname").split()) == mixed
    wrapped = ["sbatch", "--parsable", "-D", "/tmp", "-o", "/dev/null", "-N3", "-w", ",".join(mixed), "-t2"]
    job = int(slurm.user(*wrapped, "--wrap=srun hostname"))
    (row,) = slurm.await_completed(job)
    assert (row.state, row.exit_code) == ("COMPLETED", "0:0")


def test_strangers_reach_neither_slurmrestd_nor_slurmd(gated: Gated, elsewhere: Stranger) -> None:
    beside = Stranger(gated.world, NAMESPACE)
    beside.up()
    ports = {name: PORTS[name] for name in ("slurmrestd", "slurmd")}
    for stranger in (elsewhere, beside):
        assert stranger.open_of(gated.world, NAMESPACE, ports) == set()


def test_a_gate_waits_for_a_job_and_the_pod_goes(gated: Gated, slurm: Slurm) -> None:
    limits = {"gpu-0": "20", "gpu-1": "20", "gpu-2": "3"}
    jobs = {node: slurm.submit("-p", NODESET, "-w", node, "-t", limit) for node, limit in limits.items()}
    slurm.await_running(*jobs.values())
    gated.write(2, networkPolicies=NETWORKS)
    assert gated.planned_nodes() == ["gpu-2"], "its job ends first"
    gated.finish_when_drained(gated.start_up(), ["gpu-2"], jobs["gpu-2"])
    gated.await_pods("gpu-0", "gpu-1")
    assert all("RUNNING" in slurm.job_state(jobs[node]) for node in ("gpu-0", "gpu-1"))


def test_without_its_policies_the_same_strangers_reach_them(gated: Gated, elsewhere: Stranger) -> None:
    gated.slurm.cancel_all()
    gated.up(2, networkPolicies={"enabled": False})
    ports = {name: PORTS[name] for name in ("slurmrestd", "slurmd")}
    await_true("all is open", lambda: elsewhere.open_of(gated.world, NAMESPACE, ports) == set(ports), 60)
