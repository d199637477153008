"""Nodes that follow the queue: KEDA on the lab, slurmctld's own metrics, and every job's row from slurmdbd."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab import apt, keda, supervise
from lab import slurm as outside
from slinky_iac.names import ANNOTATION_PAUSED_BY
from slinky_iac.parts.autoscale.keda import PAUSED
from slinky_iac.releases import OperatorVersion
from tests.e2e.gated import NAMESPACE, NODES, NODESET, RESOURCE
from tests.e2e.slurm import await_true
from tests.e2e.world import World, dev_settings
from tests.faults.autoscaled import COOLDOWN_S, KIND, Autoscaled, Witness, autoscaled, nodeset, recipe
from tests.faults.prepare import PROMETHEUS
from tests.faults.prometheus import Prometheus

__all__ = ["autoscaled"]

LABEL_BUSY = "nodeset.slinky.slurm.net/pod-protect"
"""On pods on which slurm-operator sees jobs; its PodDisruptionBudget counts these."""
RELEASE = OperatorVersion.parse(dev_settings()["slinky-iac:operator"]["version"])
SKIPS_S = 330
"""After so long slurm-operator skips no sync for deletions that it counts and has not seen (five minutes)."""


@pytest.fixture(autouse=True)
def no_jobs_left(autoscaled: Autoscaled) -> Iterator[None]:
    """A test that failed leaves the next one its nodes."""
    yield
    autoscaled.slurm.cancel_all()


def completed(found: Autoscaled, *jobs: int) -> None:
    """Every job ran once, to its end."""
    rows = found.slurm.await_completed(*jobs)
    assert [row.state for row in rows] == ["COMPLETED"] * len(jobs), rows


def test_two_jobs_bring_two_nodes_from_none_and_an_empty_queue_sends_them_away(autoscaled: Autoscaled) -> None:
    autoscaled.empty()
    with Witness(autoscaled) as seen:
        jobs = [autoscaled.submit("-N1"), autoscaled.submit("-N1")]
        autoscaled.slurm.await_running(*jobs, timeout=240)
        assert autoscaled.replicas == 2
        seen.await_looks(COOLDOWN_S + 15)  # no job waits for longer than the cool-down: nothing may go
        assert autoscaled.replicas == 2
        autoscaled.slurm.finish(*jobs)
        ended = time.monotonic()
        completed(autoscaled, *jobs)
        autoscaled.await_replicas(0)
        assert time.monotonic() - ended > COOLDOWN_S - 15
    assert seen.drained_under_work == set()
    assert max(seen.numbers) == 2


def test_a_wide_job_on_no_nodes_starts(autoscaled: Autoscaled) -> None:
    autoscaled.empty()
    with Witness(autoscaled) as seen:
        job = autoscaled.submit("-N3")
        autoscaled.slurm.await_running(job, timeout=240)
        autoscaled.slurm.finish(job)
        completed(autoscaled, job)
    assert seen.drained_under_work == set()


def test_keda_is_restarted_after_a_crash_and_follows_the_queue_again(autoscaled: Autoscaled) -> None:
    autoscaled.empty()
    supervise.crash(keda.OPERATOR)
    job = autoscaled.submit("-N1")
    autoscaled.slurm.await_running(job, timeout=240)
    assert len(supervise.ends(keda.OPERATOR)) >= 1
    autoscaled.slurm.finish(job)
    completed(autoscaled, job)


def test_a_wide_job_beside_a_busy_node_starts(autoscaled: Autoscaled) -> None:
    """While it waits, its partition has fewer nodes than it needs: slurmctld must not take it for one that never runs."""
    autoscaled.empty()
    with Witness(autoscaled) as seen:
        narrow = autoscaled.submit("-N1")
        autoscaled.slurm.await_running(narrow, timeout=240)
        wide = autoscaled.submit("-N2")
        autoscaled.slurm.await_running(wide, timeout=240)
        autoscaled.slurm.finish(narrow, wide)
        completed(autoscaled, narrow, wide)
    assert seen.drained_under_work == set()
    assert max(seen.numbers) == 3


def test_two_of_three_idle_exactly_these_go(autoscaled: Autoscaled) -> None:
    autoscaled.three_nodes()
    job = autoscaled.submit("-N1", "-w", "gpu-1")
    autoscaled.slurm.await_running(job)
    with Witness(autoscaled) as seen:
        autoscaled.await_pods_of("gpu-1")
        assert "RUNNING" in autoscaled.slurm.job_state(job)
        autoscaled.slurm.finish(job)
        completed(autoscaled, job)
    assert seen.drained_under_work == set()


def test_a_suspended_job_of_another_partition_keeps_every_node(autoscaled: Autoscaled) -> None:
    """slurmctld calls its node idle, in the NodeSet's partition too, and counts the job in the other partition alone."""
    autoscaled.three_nodes()
    slurm = autoscaled.slurm
    job = slurm.submit("-p", "all", "-w", "gpu-1", "--exclusive", "-t", "30")
    slurm.await_running(job)
    slurm.admin("scontrol", "suspend", str(job))
    with Witness(autoscaled) as seen:
        seen.await_looks(COOLDOWN_S + 45)
    assert (autoscaled.pods(), set(seen.numbers)) == (list(NODES), {3})
    slurm.admin("scontrol", "resume", str(job))
    slurm.finish(job)
    completed(autoscaled, job)
    autoscaled.empty()


def test_the_known_recipe_drains_nodes_under_work_and_ours_drains_none(autoscaled: Autoscaled) -> None:
    """Side by side: three jobs run, none waits, for two cool-downs. No job is lost in either case, for the operator waits;
    but the recipe's nodes take no further job."""
    assert _drained_under(autoscaled, _three_jobs(autoscaled)) == set()
    jobs = _three_jobs(autoscaled)
    with recipe(autoscaled, COOLDOWN_S):
        assert _drained_under(autoscaled, jobs) == set(NODES)
        autoscaled.empty()
        _never_starts_a_wide_job(autoscaled)


def _never_starts_a_wide_job(found: Autoscaled) -> None:
    """One job that waits is one node to the recipe, however many it needs."""
    job = found.submit("-N3")
    with Witness(found) as seen:
        seen.await_looks(60)
    assert found.slurm.job_state(job) == {"PENDING"}
    assert found.replicas == 1
    found.slurm.cancel_all()


def _three_jobs(found: Autoscaled) -> list[int]:
    """Started by ours: with the recipe the third may wait for ever, since one that waits asks for no more than there are."""
    jobs = [found.submit("-N1") for _ in NODES]
    found.slurm.await_running(*jobs, timeout=240)
    return jobs


def _drained_under(found: Autoscaled, jobs: list[int]) -> set[str]:
    with Witness(found) as seen:
        seen.await_looks(2 * COOLDOWN_S + 30)
    found.slurm.finish(*jobs)
    completed(found, *jobs)
    return seen.drained_under_work


def _metrics_away(found: Autoscaled) -> None:
    found.serve_metrics(serve=False)


def _slurmctld_restarted(_found: Autoscaled) -> None:
    outside.daemon_restart("ctl", "slurmctld")


def _keda_killed(_found: Autoscaled) -> None:
    keda.stop()


@pytest.mark.parametrize("fault", [_metrics_away, _slurmctld_restarted, _keda_killed])
def test_no_job_is_lost_and_no_node_goes_for_longer_than_the_cooldown(
    autoscaled: Autoscaled, fault: Callable[[Autoscaled], None]
) -> None:
    jobs = [autoscaled.submit("-N1") for _ in range(2)]
    autoscaled.slurm.await_running(*jobs, timeout=240)
    autoscaled.await_replicas(2)  # a node more, of the jobs before these, goes first: the operator chooses it by older looks
    with Witness(autoscaled) as seen:
        try:
            fault(autoscaled)
            seen.await_looks(COOLDOWN_S + 30)
            assert set(seen.numbers) == {2}
            assert all("RUNNING" in autoscaled.slurm.job_state(job) for job in jobs)
        finally:
            autoscaled.serve_metrics()
            keda.start(keda.programs())
        autoscaled.slurm.finish(*jobs)
        completed(autoscaled, *jobs)
    assert (
        seen.drained_under_work == set()
    )  # once the jobs have ended the number may fall at once: KEDA saw none for so long


def test_missing_metrics_on_no_nodes_ask_for_none(autoscaled: Autoscaled) -> None:
    autoscaled.empty()
    autoscaled.serve_metrics(serve=False)
    try:
        with Witness(autoscaled) as seen:
            seen.await_looks(COOLDOWN_S)
    finally:
        autoscaled.serve_metrics()
    assert seen.numbers == [0]


def test_while_the_operator_has_no_rest_client_no_node_goes(autoscaled: Autoscaled, world: World) -> None:
    """Without slurmrestd a restarted operator takes every node for drained and its marks off busy pods: a lower number would
    cost the pods with the highest numbers. So the number stays, and falls when slurmrestd is there again.

    Before 1.2 the operator looks for a RestApi again only after as long as it was without one (up to 17 minutes), and KEDA
    waits for `cooldown` only: without the pause and the restart that docs/autoscaling.md asks for a busy pod goes (watched).
    """
    jobs = {autoscaled.nodes_of(job): job for job in _three_jobs(autoscaled)}
    await_true("the operator has marked the busy pods", lambda: _marked(autoscaled) == set(NODES), 60)
    try:
        world.take_the_fence_away()
        world.kubectl("delete", "restapi", "-n", NAMESPACE, "slurm")
        world.restart_operator()
        await_true("the operator is blind", lambda: not _marked(autoscaled), 120)
        autoscaled.slurm.finish(jobs["gpu-0"], jobs["gpu-1"])
        completed(autoscaled, jobs["gpu-0"], jobs["gpu-1"])
        with Witness(autoscaled) as seen:
            seen.await_looks(COOLDOWN_S + 45)
        assert seen.numbers == [3]
        assert autoscaled.pods() == list(NODES)
        if RELEASE.minor < 2:
            _pause(world, "=true")
    finally:
        autoscaled.stack.pulumi("refresh", "--yes")
        autoscaled.up(0, nodeset=nodeset())
    try:
        if RELEASE.minor < 2:
            world.restart_operator()
        await_true("the operator sees jobs again", lambda: _marked(autoscaled) == {"gpu-2"}, 120)
    finally:
        _pause(world, "-")
    _await_idle_gone(autoscaled)
    assert "RUNNING" in autoscaled.slurm.job_state(jobs["gpu-2"])
    autoscaled.slurm.finish(jobs["gpu-2"])
    completed(autoscaled, jobs["gpu-2"])


def _pause(world: World, change: str) -> None:
    world.kubectl("annotate", KIND, "-n", NAMESPACE, RESOURCE, f"{PAUSED}{change}", "--overwrite")


def _await_idle_gone(found: Autoscaled) -> None:
    """slurm-operator 1.0 counts deletions of two pods that it has not sent yet, skips every sync until that count is five
    minutes old, and then waits for an event (watched, 1.0.1). A job that starts and ends is one."""
    wanted = ["gpu-2"]
    skips = time.monotonic() + SKIPS_S if RELEASE.minor == 0 else None

    def gone_or_waiting() -> bool:
        return found.pods() == wanted or (skips is not None and time.monotonic() > skips)

    await_true("the idle pods are gone, or the operator waits for an event", gone_or_waiting, 480, every=2)
    if found.pods() != wanted:
        job = found.submit("-N1")
        found.slurm.await_running(job, timeout=240)
        found.slurm.finish(job)
        completed(found, job)
    found.await_pods_of(*wanted)


def _marked(found: Autoscaled) -> set[str]:
    """Nodes on whose pods the operator sees jobs. Its `pod-deadline` may stay away: it is written by a list of jobs that the
    operator keeps for a while, and no sync need follow (watched, 1.0.1)."""
    pods = found.world.pods(NAMESPACE, NODESET)
    return {node for node, pod in pods.items() if pod["metadata"]["labels"].get(LABEL_BUSY) == "true"}


def _drained_to_two(autoscaled: Autoscaled, write: Callable[[], None]) -> list[int]:
    """An update that drains one of three busy nodes once its job has ended; the jobs of the others, which run on."""
    jobs = [autoscaled.submit("-N1") for _ in NODES]
    autoscaled.slurm.await_running(*jobs, timeout=240)
    write()
    run = autoscaled.start_up()
    await_true("KEDA is paused by the gate", lambda: _paused_by(autoscaled).startswith("autoscaled/gpu "), 120)
    await_true("one node is drained by us", lambda: len(_ours(autoscaled)) == 1, 120)
    (node,) = _ours(autoscaled)
    leaving, *staying = sorted(jobs, key=lambda job: autoscaled.nodes_of(job) != node)
    assert autoscaled.replicas == 3, "its job is waited for"
    autoscaled.slurm.finish(leaving)
    out, _ = run.communicate(timeout=400)
    assert run.returncode == 0, out
    completed(autoscaled, leaving)
    assert autoscaled.replicas == 2
    return staying


def test_the_maximum_is_lowered_under_load(autoscaled: Autoscaled) -> None:
    staying = _drained_to_two(autoscaled, lambda: autoscaled.write(0, nodeset=nodeset(2)))
    scaler = autoscaled.scaler()
    assert scaler["spec"]["maxReplicaCount"] == 2
    assert PAUSED not in scaler["metadata"].get("annotations", {})
    assert all("RUNNING" in autoscaled.slurm.job_state(job) for job in staying)
    assert autoscaled.changes() == []
    autoscaled.slurm.finish(*staying)
    completed(autoscaled, *staying)
    autoscaled.up(0, nodeset=nodeset())
    assert autoscaled.scaler()["spec"]["maxReplicaCount"] == 3


def test_the_stack_takes_the_number_over_from_its_autoscaler(autoscaled: Autoscaled) -> None:
    """In one update: KEDA is paused, a node is drained, its job is waited for, the ScaledObject goes, and the number is the
    stack's. Then the autoscaler gets it back."""
    staying = _drained_to_two(autoscaled, lambda: autoscaled.write(2))
    assert autoscaled.world.kubectl("get", "scaledobjects.keda.sh,hpa", "-n", NAMESPACE, "-o", "name").stdout == ""
    assert all("RUNNING" in autoscaled.slurm.job_state(job) for job in staying)
    assert autoscaled.changes() == []
    autoscaled.slurm.finish(*staying)
    completed(autoscaled, *staying)
    autoscaled.up(0, nodeset=nodeset())


def test_preflights_pod_says_whether_metrics_are_served_and_what_switched_them_off(autoscaled: Autoscaled) -> None:
    assert _preflight(autoscaled) == ("fine", "")
    autoscaled.serve_metrics(serve=False)
    try:
        verdict, got = _preflight(autoscaled)
        assert (verdict, "MetricsType" in got) == ("problem", True)
        autoscaled.serve_metrics(more="PrivateData=jobs\n")
        verdict, got = _preflight(autoscaled)
        assert (verdict, "PrivateData" in got) == ("problem", True)
    finally:
        autoscaled.serve_metrics()


def _preflight(found: Autoscaled) -> tuple[str, str]:
    """Verdict on slurmctld's metrics, and what a pod got where it isn't fine."""
    apart = ("--pod-namespace", "probe") if found.world.accounts else ()  # `rights` grants no pods beside the keys
    checks = json.loads(found.cli("preflight", "--json", *apart).stdout)["checks"]
    worst = next(each for each in checks if each["name"] == "metrics")
    return worst["verdict"], "" if worst["verdict"] == "fine" else worst["got"]


def test_two_autoscalers_of_one_nodeset_are_named_in_the_preview(autoscaled: Autoscaled) -> None:
    autoscaled.empty()
    spec = autoscaled.scaler()["spec"]
    rival = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "spec": spec}
    meta = {"name": "rival", "namespace": NAMESPACE}
    autoscaled.world.kubectl("apply", "-f", "-", stdin=json.dumps(rival | {"metadata": meta}))
    try:
        said = autoscaled.stack.pulumi("preview")
        assert "ScaledObject/rival" in said.stdout + said.stderr
        assert "two autoscalers undo each other" in said.stdout + said.stderr
    finally:
        autoscaled.world.kubectl("delete", "scaledobjects.keda.sh", "-n", NAMESPACE, "rival")


def test_a_pause_of_a_person_stays_and_is_an_alert(autoscaled: Autoscaled, tmp_path: Path) -> None:
    apt.ensure(PROMETHEUS)
    autoscaled.three_nodes()
    annotate = ("annotate", "scaledobjects.keda.sh", "-n", NAMESPACE, RESOURCE)
    prometheus = Prometheus(tmp_path)
    prometheus.start()

    def fires() -> bool:
        prometheus.write(_metrics(autoscaled))
        return "SlinkyScalerPaused" in prometheus.firing()

    try:
        autoscaled.world.kubectl(*annotate, f"{PAUSED}=true")
        await_true("the alert fires", fires, 120, every=2)
        autoscaled.up(0, nodeset=nodeset(2))
        found = autoscaled.scaler()
        assert found["metadata"]["annotations"][PAUSED] == "true"
        assert (autoscaled.replicas, found["spec"]["maxReplicaCount"]) == (2, 2)
        autoscaled.world.kubectl(*annotate, f"{PAUSED}-")
        await_true("the alert clears", lambda: not fires(), 120, every=2)
    finally:
        autoscaled.world.kubectl(*annotate, f"{PAUSED}-")
        prometheus.stop()
    autoscaled.up(0, nodeset=nodeset())


def _metrics(found: Autoscaled) -> str:
    return found.cli("status", "--prometheus").stdout


def test_a_scaler_that_is_deleted_while_nodes_are_drained_ends_no_job(autoscaled: Autoscaled) -> None:
    jobs = [autoscaled.submit("-N1") for _ in NODES]
    autoscaled.slurm.await_running(*jobs, timeout=240)
    autoscaled.write(0, nodeset=nodeset(2))
    run = autoscaled.start_up()
    await_true("one node is drained by us", lambda: len(_ours(autoscaled)) == 1, 180)
    autoscaled.world.kubectl("delete", "scaledobjects.keda.sh", "-n", NAMESPACE, RESOURCE, "--timeout=60s")
    (node,) = _ours(autoscaled)
    leaving, *staying = sorted(jobs, key=lambda job: autoscaled.nodes_of(job) != node)
    autoscaled.slurm.finish(leaving)
    out, _ = run.communicate(timeout=400)
    completed(autoscaled, leaving)
    assert autoscaled.replicas == 2, out
    assert all("RUNNING" in autoscaled.slurm.job_state(job) for job in staying)
    autoscaled.stack.pulumi("refresh", "--yes")
    autoscaled.up(0, nodeset=nodeset())
    assert autoscaled.scaler()["spec"]["maxReplicaCount"] == 3
    autoscaled.slurm.finish(*staying)
    completed(autoscaled, *staying)


def _paused_by(found: Autoscaled) -> str:
    return str(found.scaler()["metadata"].get("annotations", {}).get(ANNOTATION_PAUSED_BY, ""))


def _ours(found: Autoscaled) -> list[str]:
    return [name for name, node in found.slurm.nodes().items() if "slinky-iac:" in node["reason"]]


def test_an_eviction_of_a_busy_pod_is_refused_and_of_an_idle_one_is_not(autoscaled: Autoscaled, world: World) -> None:
    """What Cluster Autoscaler, Karpenter and `kubectl drain` do to a machine that they want to take away."""
    autoscaled.three_nodes()
    job = autoscaled.submit("-N1", "-w", "gpu-1")
    autoscaled.slurm.await_running(job)
    await_true("the operator protects the busy pod", lambda: _evict(world, "gpu-1").returncode != 0, 60)
    refused = _evict(world, "gpu-1")
    assert "disruption budget" in refused.stdout + refused.stderr
    await_true("the operator no longer protects the idle pod", lambda: _evict(world, "gpu-0").returncode == 0, 60)
    assert _evict(world, "gpu-1").returncode != 0
    autoscaled.slurm.finish(job)
    completed(autoscaled, job)


def _evict(world: World, node: str) -> subprocess.CompletedProcess[str]:
    """Ask for an eviction, without carrying it out: the API server judges the budget all the same."""
    name = f"{RESOURCE}-{node.rpartition('-')[2]}"
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": NAMESPACE}}
    asked = body | {"deleteOptions": {"dryRun": ["All"]}}
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/eviction"
    return world.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(asked), check=False)
