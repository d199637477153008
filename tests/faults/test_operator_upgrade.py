"""slurm-operator 1.0.1 becomes 1.1.0 under running jobs, by the steps of docs/releases.md: none is lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab import later_operator, paths
from lab.kubernetes.cluster import LAB as KUBERNETES
from tests.e2e.gated import NAMESPACE, NODES, NODESET, Gated, bring_up
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World, dev_settings
from tests.faults.later_operator import on_later_operator

OPERATOR = dev_settings(on_later_operator)["slinky-iac:operator"]
ON_DELETE = {"updateStrategy": {"type": "OnDelete"}}


@pytest.fixture(scope="module")
def old(ground: None, world: World, slurm: Slurm) -> Iterator[Gated]:
    """Three pods behind gates, of slurm-operator 1.0.1."""
    later_operator.load(KUBERNETES)
    yield bring_up(world, slurm, "upgraded")
    slurm.cancel_all()
    world.vacate()


def pods(gated: Gated) -> dict[str, str]:
    """UID of each pod that is there to stay, by Slurm node."""
    return {node: pod["metadata"]["uid"] for node, pod in gated.world.pods(NAMESPACE, NODESET).items()}


def running(gated: Gated) -> str:
    """The operator's image."""
    (found,) = gated.world.objects("deployments", "slinky")
    return str(found["spec"]["template"]["spec"]["containers"][0]["image"])


def documented(beginning: str) -> list[str]:
    """Lines of docs/releases.md that begin so."""
    lines = [line.strip() for line in (paths.REPO / "docs" / "releases.md").read_text().splitlines()]
    found = [line.partition("  #")[0].strip() for line in lines if line.startswith(beginning)]
    assert found
    return found


def test_no_job_is_lost_and_busy_pods_are_replaced_drained(old: Gated, slurm: Slurm) -> None:
    gated, before = old, pods(old)
    jobs = {node: slurm.submit("-p", "gpu", "-w", node, "-t", "20") for node in NODES}
    slurm.await_running(*jobs.values())

    gated.up(3, nodeset=ON_DELETE)
    for line in documented("kubectl label pods"):
        gated.world.kubectl(*line.replace("NAMESPACE", NAMESPACE).split()[1:])
    gated.up(3, nodeset=ON_DELETE, operator=OPERATOR)
    assert running(gated) == later_operator.NAME
    status = gated.cli("status")
    assert later_operator.VERSION in status.stdout, status.stderr
    assert pods(gated) == before, "with OnDelete no pod goes by itself"
    assert all(slurm.job_state(job) == {"RUNNING"} for job in jobs.values())

    gated.up(3, operator=OPERATOR)

    def replaced() -> bool:
        for node in (node for node, states in slurm.states().items() if node in jobs and "DRAIN" in states):
            if "RUNNING" in slurm.job_state(jobs[node]):
                slurm.finish(jobs[node])
        now = pods(gated)
        return set(now) == set(NODES) and not set(now.values()) & set(before.values())

    await_true("every pod is of the newer release", replaced, 400, every=2.0)
    rows = {int(row.job): (row.state, row.nodes, row.exit_code) for row in slurm.await_completed(*jobs.values())}
    assert rows == {job: ("COMPLETED", node, "0:0") for node, job in jobs.items()}
    gated.world.await_pods(NAMESPACE, NODESET, 3)
    slurm.await_registered(*NODES)
    assert gated.changes() == []
