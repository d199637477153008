"""Faults in the middle of a drain. After each: no job lost, no drain of ours forgotten, the next `up` finishes.

Every test scales three busy nodes in to two, does harm while the gate waits, mends it (or not), and looks at the jobs in
slurmdbd, the drains in slurmctld and the pods in Kubernetes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from lab import paths
from lab import slurm as outside
from tests.e2e.gated import NAMESPACE, NODES, Gated, bring_up
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World
from tests.faults.proxy import FaultProxy, Mode

SLURMRESTD = ("10.99.0.12", 6820)
JOB_S = 45


@pytest.fixture(scope="module")
def proxy() -> Iterator[FaultProxy]:
    with FaultProxy(*SLURMRESTD) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def gated(world: World, slurm: Slurm) -> Iterator[Gated]:
    gated = bring_up(world, slurm)
    yield gated
    slurm.cancel_all()
    gated.up(3)
    gated.stack.pulumi("destroy", "--yes")


@dataclass
class Case:
    """Three busy nodes and a scale-in to two that is under way."""

    gated: Gated
    slurm: Slurm
    jobs: dict[str, int]
    chosen: str
    run: subprocess.Popen[str]

    def finish(self, timeout: float = 240) -> str:
        """Wait for the update's end; returns its output."""
        out, _ = self.run.communicate(timeout=timeout)
        return out

    def settle(self) -> None:
        """Whatever came of the first update: the next one finishes, every job completed where it began, nothing is left."""
        done = self.gated.try_up()
        assert done.returncode == 0, done.stdout
        self.gated.await_pods(*(node for node in NODES if node != self.chosen))
        rows = self.slurm.await_completed(*self.jobs.values())
        found = sorted((row.job, row.state, row.nodes) for row in rows)
        assert found == sorted((str(job), "COMPLETED", node) for node, job in self.jobs.items())
        ours = [name for name, node in self.slurm.nodes().items() if "slinky-iac:" in node["reason"] and name != self.chosen]
        assert ours == [], "a drain of ours was forgotten"
        assert self.gated.annotations() == {node: {} for node in NODES if node != self.chosen}
        assert self.gated.changes() == []


Begin = Callable[..., Case]


@pytest.fixture
def begin(gated: Gated, slurm: Slurm, proxy: FaultProxy) -> Begin:
    """Start a scale-in from three busy nodes to two, by way of the proxy, and return when the node is drained."""

    def start(*, wait_for_drain: bool = True, deadline: str = "4m") -> Case:
        proxy.mode = Mode.PASS
        gated.reset()
        lengths = {"gpu-0": JOB_S + 60, "gpu-1": JOB_S, "gpu-2": JOB_S + 60}
        jobs = {
            node: slurm.submit("-p", "gpu", "-w", node, "-t", str(20 if seconds > JOB_S else 3), seconds=seconds)
            for node, seconds in lengths.items()
        }
        slurm.await_running(*jobs.values())
        gated.write(2, {"deadline": deadline}, slurmrest={"url": proxy.url})
        run = gated.start_up()
        if wait_for_drain:
            await_true("gpu-1 is drained by us", lambda: "slinky-iac:" in slurm.reason("gpu-1"), 60)
        return Case(gated, slurm, jobs, "gpu-1", run)

    return start


@pytest.mark.parametrize(
    "mode", [Mode.REFUSE, Mode.HANG, Mode.ERROR, Mode.GARBAGE, Mode.EMPTY, Mode.SLOW, Mode.EXPIRED], ids=str
)
def test_a_slurmrestd_that_misbehaves_in_mid_drain_costs_no_job(begin: Begin, proxy: FaultProxy, mode: Mode) -> None:
    case = begin()
    proxy.mode = mode
    time.sleep(JOB_S + 10)  # past the job's end: the moment at which a wrong "free" would be believed
    assert len(case.gated.pods()) == 3 or mode is Mode.SLOW, "the gate opened on an answer that was none"
    proxy.mode = Mode.PASS
    case.finish()
    case.settle()


def test_slurmctld_stopped_and_started_in_mid_drain(begin: Begin) -> None:
    case = begin()
    outside.daemon_stop("ctl", "slurmctld")
    time.sleep(15)
    outside.daemon_start("ctl", "slurmctld")
    case.finish()
    case.settle()


def test_slurmctld_frozen_in_mid_drain(begin: Begin) -> None:
    case = begin()
    outside.pause("ctl", "slurmctld")
    time.sleep(15)
    outside.resume("ctl", "slurmctld")
    case.finish()
    case.settle()


def test_the_api_server_killed_and_started_in_mid_drain(begin: Begin, world: World) -> None:
    case = begin()
    record = json.loads((paths.RUN / "kube-apiserver.json").read_text())
    os.kill(record["pid"], signal.SIGKILL)
    time.sleep(5)
    subprocess.run([paths.REPO / "lab" / "lab", "up", "--only", "kubernetes"], check=True, timeout=300)
    case.finish()
    case.settle()


def test_the_operator_restarted_in_mid_drain(begin: Begin, world: World) -> None:
    case = begin()
    world.kubectl("rollout", "restart", "deployment", "-n", "slinky", "slurm-operator")
    case.finish()
    case.settle()


def test_without_an_operator_the_gate_stays_shut(begin: Begin, world: World) -> None:
    case = begin(deadline="70s")
    world.kubectl("scale", "deployment", "-n", "slinky", "slurm-operator", "--replicas=0")
    out = case.finish()
    assert case.run.returncode != 0, out
    assert len(case.gated.pods()) == 3
    world.kubectl("scale", "deployment", "-n", "slinky", "slurm-operator", "--replicas=1")
    world.kubectl("rollout", "status", "deployment", "-n", "slinky", "slurm-operator", "--timeout=120s")
    case.gated.write(2, {"deadline": "4m"})
    case.settle()


def test_an_operator_without_a_rest_client_cannot_kill_a_job_through_us(begin: Begin, world: World) -> None:
    """The race that the operator loses by itself: no RestApi, a restarted operator, a scale-in."""
    case = begin(wait_for_drain=False, deadline="60s")
    case.finish()
    case.gated.reset()
    job = case.slurm.submit("-p", "gpu", "-w", "gpu-1", "-t", "5", seconds=100)
    case.slurm.await_running(job)
    world.kubectl("delete", "restapi", "-n", NAMESPACE, "slurm")
    world.kubectl("rollout", "restart", "deployment", "-n", "slinky", "slurm-operator")
    case.gated.write(0, {"deadline": "30s"})
    refused = case.gated.try_up()
    assert refused.returncode != 0
    assert len(case.gated.pods()) == 3
    assert "RUNNING" in case.slurm.job_state(job)
    case.gated.stack.pulumi("refresh", "--yes")
    case.gated.up(3)
    (row,) = case.slurm.await_completed(job)
    assert (row.state, row.nodes) == ("COMPLETED", "gpu-1")


def test_an_unreadable_kubeconfig_stops_before_anything_changes(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    gated.write(2, {"deadline": "20s"}, kubernetes={"kubeconfig": "/nonexistent/kubeconfig"})
    refused = gated.try_up()
    assert refused.returncode != 0
    assert "kubeconfig" in refused.stdout
    assert gated.pods() == list(NODES)
    gated.up(3)


def test_one_ctrl_c_ends_the_wait_within_seconds_and_the_next_up_goes_on(begin: Begin) -> None:
    case = begin()
    os.killpg(case.run.pid, signal.SIGINT)
    began = time.monotonic()
    out = case.finish(60)
    assert time.monotonic() - began < 30, "the gate heard of the cancel"
    assert case.run.returncode != 0
    assert "interrupted" in out, out
    assert "slinky-iac:" in case.slurm.reason("gpu-1"), "what is drained stays drained"
    case.settle()


def test_two_ctrl_c_leave_a_state_that_the_next_up_heals(begin: Begin) -> None:
    case = begin()
    os.killpg(case.run.pid, signal.SIGINT)
    os.killpg(case.run.pid, signal.SIGINT)
    case.finish(60)
    case.settle()


STEPS: dict[str, Callable[[Gated, Slurm], bool]] = {
    "begun": lambda gated, slurm: True,
    "marked": lambda gated, slurm: bool(gated.annotations()["gpu-1"]),
    "drained": lambda gated, slurm: "slinky-iac:" in slurm.reason("gpu-1"),
    "seen by the operator": lambda gated, slurm: _condition(gated, "gpu-1", "SlurmNodeStateDrain"),
    "cordoned": lambda gated, slurm: _cordoned(gated, "gpu-1"),
    "free": lambda gated, slurm: not slurm.states()["gpu-1"] & {"MIXED", "ALLOCATED", "COMPLETING"},
    "lowered": lambda gated, slurm: _replicas(gated) == 2,
}
"""Every step of the protocol, by what can be seen from outside when it is done."""


def _condition(gated: Gated, node: str, kind: str) -> bool:
    pod = gated.world.pods(NAMESPACE, "gpu")[node]
    return any(each["type"] == kind and each["status"] == "True" for each in pod["status"]["conditions"])


def _cordoned(gated: Gated, node: str) -> bool:
    annotations = gated.world.pods(NAMESPACE, "gpu")[node]["metadata"].get("annotations", {})
    return annotations.get("nodeset.slinky.slurm.net/pod-cordon") == "true"


def _replicas(gated: Gated) -> int:
    (nodeset,) = gated.world.objects("nodesets.slinky.slurm.net", NAMESPACE)
    replicas: int = nodeset["spec"]["replicas"]
    return replicas


@pytest.mark.parametrize("step", STEPS)
def test_pulumi_killed_with_sigkill_after_each_step_is_healed_by_the_next_up(begin: Begin, step: str) -> None:
    case = begin(wait_for_drain=False)
    await_true(f"the protocol is at: {step}", lambda: STEPS[step](case.gated, case.slurm), 180, every=0.2)
    os.killpg(case.run.pid, signal.SIGKILL)
    case.finish(30)
    case.gated.stack.pulumi("cancel", "--yes", check=False)
    case.settle()


def _undrain(case: Case) -> None:
    case.slurm.admin("scontrol", "update", "nodename=gpu-1", "state=undrain")


def _take_over(case: Case) -> None:
    case.slurm.admin("scontrol", "update", "nodename=gpu-1", "state=drain", "reason=fan broken")


def _strip(case: Case) -> None:
    pod = case.gated.world.pods(NAMESPACE, "gpu")["gpu-1"]["metadata"]["name"]
    keys = ("nodeset.slinky.slurm.net/pod-deletion-cost-", "slinky-iac/scale-in-", "nodeset.slinky.slurm.net/pod-cordon-")
    case.gated.world.kubectl("annotate", "pod", "-n", NAMESPACE, pod, *keys)


def _kept_gets_a_lower_cost(case: Case) -> None:
    pod = case.gated.world.pods(NAMESPACE, "gpu")["gpu-0"]["metadata"]["name"]
    case.gated.world.kubectl(
        "annotate", "pod", "-n", NAMESPACE, pod, "nodeset.slinky.slurm.net/pod-deletion-cost=-1500000000"
    )


@pytest.mark.parametrize("harm", [_undrain, _strip], ids=["drain lifted", "marks removed"])
def test_what_somebody_takes_away_in_mid_drain_is_put_back(begin: Begin, harm: Callable[[Case], None]) -> None:
    case = begin()
    harm(case)
    out = case.finish()
    assert case.run.returncode == 0, out
    case.settle()


def test_a_persons_drain_over_ours_is_kept_and_counts(begin: Begin) -> None:
    case = begin()
    _take_over(case)
    out = case.finish()
    assert case.run.returncode == 0, out
    case.gated.await_pods("gpu-0", "gpu-2")
    rows = case.slurm.await_completed(*case.jobs.values())
    assert all(row.state == "COMPLETED" for row in rows)


def test_a_kept_pod_made_cheaper_by_somebody_does_not_become_the_victim(begin: Begin) -> None:
    case = begin()
    _kept_gets_a_lower_cost(case)
    out = case.finish()
    assert case.run.returncode == 0, out
    case.gated.await_pods("gpu-0", "gpu-2")
    rows = case.slurm.await_completed(*case.jobs.values())
    assert all(row.state == "COMPLETED" for row in rows)


def _write_replicas(case: Case, replicas: int) -> None:
    change = json.dumps({"spec": {"replicas": replicas}})
    kind = "nodesets.slinky.slurm.net"
    case.gated.world.kubectl("patch", kind, "-n", NAMESPACE, "slurm-worker-gpu", "--type=merge", "-p", change)


def test_replicas_written_by_somebody_else_in_mid_drain_stop_the_gate(begin: Begin) -> None:
    case = begin()
    case.gated.world.kubectl(
        "patch",
        "nodesets.slinky.slurm.net",
        "-n",
        NAMESPACE,
        "slurm-worker-gpu",
        "--type=merge",
        "-p",
        '{"spec":{"replicas":4}}',
    )
    out = case.finish()
    assert case.run.returncode != 0, out
    assert "Somebody else writes them" in out, out
    case.gated.world.kubectl(
        "patch",
        "nodesets.slinky.slurm.net",
        "-n",
        NAMESPACE,
        "slurm-worker-gpu",
        "--type=merge",
        "-p",
        '{"spec":{"replicas":3}}',
    )
    case.gated.stack.pulumi("refresh", "--yes")
    case.settle()
