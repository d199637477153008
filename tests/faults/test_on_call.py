"""What docs/on-call.md and docs/releases.md tell an operator to do, done as they say it: jobs live, and all comes back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import slurm as outside
from tests.e2e.gated import NAMESPACE, NODES, NODESET, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import ready

STANDS_ON = "gated"


def kubernetes_node(gated: Gated, node: str) -> str:
    """Name of the Kubernetes node that a Slurm node's pod is on."""
    return str(gated.world.pods(NAMESPACE, NODESET)[node]["spec"]["nodeName"])


@pytest.fixture
def serviced(gated: Gated) -> Iterator[str]:
    """A Slurm node on a Kubernetes node that is about to be serviced."""
    gated.reset()
    where = kubernetes_node(gated, NODES[0])
    yield NODES[0]
    gated.world.kubectl("uncordon", where, check=False)
    gated.world.await_pods(NAMESPACE, NODESET, 3)


def test_a_kubernetes_node_is_serviced_without_losing_a_job(gated: Gated, slurm: Slurm, serviced: str) -> None:
    where = kubernetes_node(gated, serviced)
    job = slurm.submit("-p", "gpu", "-w", serviced, "-t", "10")
    slurm.await_running(job)
    gated.world.kubectl("cordon", where)
    there = {each for each in NODES if kubernetes_node(gated, each) == where}

    def by_operator(node: str) -> bool:
        return slurm.reason(node).startswith("slurm-operator:")

    await_true("the operator has drained its Slurm nodes", lambda: all(by_operator(each) for each in there), 90)
    rows = json.loads(gated.cli("status", "--json").stdout)["drains"]
    assert {row["node"]: row["owner"] for row in rows} == dict.fromkeys(there, "slurm-operator")

    evict = ("drain", where, "--ignore-daemonsets", "--delete-emptydir-data", "--pod-selector=app.kubernetes.io/name=slurmd")
    busy = gated.world.kubectl(*evict, "--timeout=15s", check=False)
    assert busy.returncode != 0
    assert "disruption budget" in busy.stderr
    assert "RUNNING" in slurm.job_state(job)

    slurm.finish(job)
    (row,) = slurm.await_completed(job)
    assert row.state == "COMPLETED"
    gated.world.kubectl(*evict, "--timeout=90s")
    gated.world.kubectl("uncordon", where)
    gated.world.await_pods(NAMESPACE, NODESET, 3)
    slurm.await_registered(*NODES)
    await_true("no drain is left", lambda: not any("DRAIN" in slurm.states()[node] for node in NODES), 90)


def test_a_run_that_is_ended_and_cancelled_leaves_nothing(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    jobs = [slurm.submit("-p", "gpu", "-w", node, "-t", "10") for node in NODES]
    slurm.await_running(*jobs)
    gated.write(2)
    run = gated.start_up()
    await_true("a node is drained by us", lambda: any("slinky-iac:" in slurm.reason(node) for node in NODES), 120)
    shown = gated.cli("drain", "status").stdout
    assert "drained by this stack, returned by slurmctld at " in shown
    assert " alice" in shown
    os.killpg(run.pid, signal.SIGINT)
    out, _ = run.communicate(timeout=90)
    assert run.returncode != 0
    assert "drain cancel" in out

    assert "given back, in " in gated.cli("drain", "cancel").stdout
    assert not any("DRAIN" in slurm.states()[node] for node in NODES)
    assert not any(gated.annotations().values())
    assert "nothing of this stack's was left" in gated.cli("drain", "cancel").stdout
    assert all("RUNNING" in slurm.job_state(job) for job in jobs)
    gated.up(3)


def test_a_scale_out_while_slurmctld_is_down_changes_nothing_and_is_repeated_when_it_is_back(
    gated: Gated, slurm: Slurm
) -> None:
    gated.reset()
    gated.up(2)
    gated.await_pods(*NODES[:2])
    outside.daemon_stop("ctl", "slurmctld")
    try:
        gated.write(3, {"deadline": "10s"})
        down = gated.try_up()
        status, drains = gated.cli("status"), gated.cli("drain", "status")
    finally:
        outside.daemon_start("ctl", "slurmctld")
    assert down.returncode != 0
    assert "Slurm could not be asked" in down.stdout
    assert status.returncode == 4
    assert drains.returncode == 1
    assert "nothing is drained" not in drains.stdout
    assert gated.pods() == list(NODES[:2])
    gated.write(3)
    again = gated.try_up()
    if again.returncode != 0:  # an operator of 1.2 that has kept slurmctld's refusal: docs/releases.md
        assert "the operator has not yet seen the newest NodeSet" in again.stdout
        gated.world.restart_operator()
    gated.up(3)
    slurm.await_registered(*NODES)


def test_a_run_that_pulumi_cancel_has_left_ends_when_the_next_one_begins(gated: Gated, slurm: Slurm) -> None:
    """On a file backend `pulumi cancel` ends no run; the earlier one drained again what the later one had given back."""
    gated.reset()
    jobs = [slurm.submit("-p", "gpu", "-w", node, "-t", "20") for node in NODES]
    slurm.await_running(*jobs)
    gated.write(1)
    earlier = gated.start_up()
    try:
        await_true("two nodes are drained", lambda: sum("slinky-iac" in slurm.reason(node) for node in NODES) == 2, 120)
        gated.stack.unlock()
        gated.up(3)
        said, _ = earlier.communicate(timeout=60)
    finally:
        earlier.kill()
    assert earlier.returncode != 0
    assert "began after this run" in said
    assert not any(slurm.reason(node) for node in NODES)
    assert gated.pods() == list(NODES)
    slurm.finish(*jobs)
    rows = slurm.await_completed(*jobs)
    assert sorted((row.state, row.nodes) for row in rows) == [("COMPLETED", node) for node in NODES]


def test_a_lost_state_comes_back_from_an_export(gated: Gated, tmp_path: Path) -> None:
    gated.reset()
    saved = tmp_path / "state.json"
    gated.stack.pulumi("stack", "export", "--file", str(saved))
    settings = gated.stack.config_file.read_bytes()
    gated.stack.pulumi("stack", "rm", "--force", "--yes", "--preserve-config")
    assert gated.stack.config_file.read_bytes() == settings
    subprocess.run(
        ["pulumi", "stack", "init", gated.stack.name, "--non-interactive"],
        cwd=gated.stack.folder, env={**os.environ, **gated.stack.env}, check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    gated.stack.pulumi("stack", "import", "--file", str(saved))
    assert gated.changes() == []
    assert all(ready(pod) for pod in gated.world.pods(NAMESPACE, NODESET).values())
