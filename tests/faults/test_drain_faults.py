"""Faults in the middle of a drain: slurmrestd, slurmctld, the API server, Ctrl-C and SIGKILL, other people's writes.

After each: no job lost, no drain of ours forgotten, the next `up` finishes. Every test scales three busy nodes in to two,
does harm while the gate waits, mends it (or not), and looks at the jobs in slurmdbd, the drains in slurmctld and the pods in
Kubernetes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from lab import paths
from lab import slurm as outside
from tests.e2e.gated import NAMESPACE, NODES, RESOURCE, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World
from tests.faults.mid_drain import Begin, Case, begin, gated, proxy
from tests.faults.proxy import FaultProxy, Mode, expired_token

__all__ = ["begin", "gated", "proxy"]


@pytest.mark.parametrize(
    "mode", [Mode.REFUSE, Mode.HANG, Mode.ERROR, Mode.GARBAGE, Mode.EMPTY, Mode.SLOW, Mode.EXPIRED], ids=str
)
def test_a_slurmrestd_that_misbehaves_in_mid_drain_costs_no_job(begin: Begin, proxy: FaultProxy, mode: Mode) -> None:
    case = begin()
    proxy.mode = mode
    case.await_end_of_the_first_job()  # from now on a wrong "free" would be believed
    time.sleep(8)
    assert len(case.gated.pods()) == 3 or mode is Mode.SLOW, "the gate opened on an answer that was none"
    proxy.mode = Mode.PASS
    case.finish()
    case.settle()


def test_a_token_that_expires_in_mid_drain_is_renewed_and_the_same_run_finishes(begin: Begin, proxy: FaultProxy) -> None:
    case = begin()
    proxy.next_token = expired_token()
    await_true("slurmctld has refused the expired token", lambda: proxy.refusals, 30)
    out = case.finish()
    assert case.run.returncode == 0, out
    assert proxy.refusals == 1
    case.settle()


def _stopped() -> None:
    outside.daemon_stop("ctl", "slurmctld")


def _started() -> None:
    outside.daemon_start("ctl", "slurmctld")


def _frozen() -> None:
    outside.pause("ctl", "slurmctld")


def _thawed() -> None:
    outside.resume("ctl", "slurmctld")


@pytest.mark.parametrize(("harm", "mend"), [(_stopped, _started), (_frozen, _thawed)], ids=["stopped", "frozen"])
def test_slurmctld_away_for_a_while_in_mid_drain(begin: Begin, harm: Callable[[], None], mend: Callable[[], None]) -> None:
    case = begin()
    harm()
    time.sleep(15)  # longer than any one question of the gate is patient
    mend()
    case.finish()
    case.settle()


@pytest.fixture
def backup() -> Iterator[None]:
    """A second slurmctld host, which takes over where the first falls."""
    outside.enable_backup()
    yield
    outside.disable_backup()


def test_slurmctld_fails_over_and_back_in_mid_drain(begin: Begin, slurm: Slurm, backup: None) -> None:
    case = begin()
    outside.daemon_kill("ctl", "slurmctld")
    assert slurm.user("squeue", timeout=90), "squeue waits for ctl-2, and ctl-2 answers for the cluster"
    assert case.run.poll() is None or case.run.returncode == 0, "the gate bears a slurmctld that is another"
    reasons = ("sinfo", "--noheader", "--nodes=gpu-1", "--list-reasons", "--format=%E")
    await_true("ctl-2 holds our drain", lambda: "slinky-iac:" in slurm.user(*reasons), 60)
    first = ("squeue", "--noheader", f"--jobs={case.jobs['gpu-1']}", "--states=RUNNING,COMPLETING")
    await_true("the first job has ended", lambda: not slurm.user(*first, check=False).strip(), 120)
    outside.daemon_start("ctl", "slurmctld")
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


def test_an_unreadable_kubeconfig_stops_before_anything_changes(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    gated.write(2, {"deadline": "20s"}, kubernetes={"kubeconfig": "/nonexistent/kubeconfig"})
    began = time.monotonic()
    refused = gated.try_up()
    assert refused.returncode != 0
    assert "kubeconfig" in refused.stdout
    assert time.monotonic() - began < 120, "no gate waits for a file"
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
    "free": lambda gated, slurm: not slurm.states()["gpu-1"] & {"MIXED", "ALLOCATED", "COMPLETING"},
    "cordoned": lambda gated, slurm: _cordoned(gated, "gpu-1"),
    "lowered": lambda gated, slurm: _replicas(gated) == 2,
}
"""Every step of the protocol, by what can be seen from outside when it is done."""


def _condition(gated: Gated, node: str, kind: str) -> bool:
    pod = gated.world.pods(NAMESPACE, "gpu")[node]
    found = {each["type"] for each in pod["status"]["conditions"] if each["status"] == "True"}
    return kind in found


def _cordoned(gated: Gated, node: str) -> bool:
    annotations = gated.world.pods(NAMESPACE, "gpu")[node]["metadata"].get("annotations", {})
    return str(annotations.get("nodeset.slinky.slurm.net/pod-cordon")) == "true"


def _replicas(gated: Gated) -> int:
    (nodeset,) = gated.world.objects("nodesets.slinky.slurm.net", NAMESPACE)
    replicas: int = nodeset["spec"]["replicas"]
    return replicas


@pytest.mark.parametrize("step", STEPS)
def test_pulumi_killed_with_sigkill_after_each_step_is_healed_by_the_next_up(begin: Begin, step: str) -> None:
    case = begin(wait_for_drain=False)

    def reached() -> bool:
        if STEPS[step](case.gated, case.slurm):
            return True
        assert case.run.poll() is None, f"the update ended before that:\n{case.finish(10)}"
        return False

    await_true(f"the protocol is at: {step}", reached, 180, every=0.2)
    os.killpg(case.run.pid, signal.SIGKILL)
    case.finish(30)
    case.gated.stack.unlock()
    case.settle()


def _undrain(case: Case) -> None:
    case.slurm.admin("scontrol", "update", "nodename=gpu-1", "state=undrain")


def _take_over(case: Case) -> None:
    case.slurm.admin("scontrol", "update", "nodename=gpu-1", "state=drain", "reason=fan broken")


def _strip(case: Case) -> None:
    pod = case.gated.world.pods(NAMESPACE, "gpu")["gpu-1"]["metadata"]["name"]
    keys = ("nodeset.slinky.slurm.net/pod-deletion-cost-", "slinky-iac/scale-in-", "nodeset.slinky.slurm.net/pod-cordon-")
    case.gated.world.kubectl("annotate", "pod", "-n", NAMESPACE, pod, *keys)


COST = "nodeset.slinky.slurm.net/pod-deletion-cost"


def _annotate(case: Case, node: str, change: str) -> None:
    """Somebody annotates a node's pod; ``KEY-`` takes an annotation away."""
    pod = case.gated.world.pods(NAMESPACE, "gpu")[node]["metadata"]["name"]
    case.gated.world.kubectl("annotate", "pod", "-n", NAMESPACE, pod, change)


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
    case.assert_no_job_lost()


def test_a_kept_pod_made_cheaper_by_somebody_does_not_become_the_victim(begin: Begin) -> None:
    case = begin()
    _annotate(case, "gpu-0", f"{COST}=-1500000000")
    out = case.finish()
    assert case.run.returncode == 0, out
    case.gated.await_pods("gpu-0", "gpu-2")
    case.assert_no_job_lost()
    assert case.gated.annotations()["gpu-0"] == {COST: "-1500000000"}, "what isn't ours stays as it was set"
    _annotate(case, "gpu-0", f"{COST}-")


def _write_replicas(case: Case, replicas: int) -> None:
    change = json.dumps({"spec": {"replicas": replicas}})
    kind = "nodesets.slinky.slurm.net"
    case.gated.world.take_the_fence_away()
    case.gated.world.kubectl("patch", kind, "-n", NAMESPACE, RESOURCE, "--type=merge", "-p", change)


def test_replicas_written_by_somebody_else_in_mid_drain_stop_the_gate(begin: Begin) -> None:
    case = begin()
    _write_replicas(case, 4)
    out = case.finish()
    assert case.run.returncode != 0, out
    assert "Another client writes them" in out, out
    _write_replicas(case, 3)
    case.gated.disown_replicas()
    case.gated.stack.pulumi("refresh", "--yes")
    case.settle()
