"""The client against real slurmrestd, slurmctld and slurmdbd: every claim that the unit tests' stand-in makes, checked.

The tests bring up a second set of hosts (own folder, bridge and addresses) beside the lab's, so they stop and freeze
daemons without disturbing it. Only the last ones use the lab itself, for its API server.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from lab import paths
from lab.slurm.cluster import Cluster
from lab.slurm.topology import Network
from slinky_iac import names
from slinky_iac.drain.free import Busy, Free, NotHeld, Unknown
from slinky_iac.errors import SlurmrestAuthError, SlurmrestRefused, SlurmrestUnreachable
from slinky_iac.kube.kubeconfig import KubeSource
from slinky_iac.kube.wire import Retry
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.current_jobs import chosen
from slinky_iac.slurmrest.drains import Outcome
from slinky_iac.slurmrest.endpoints import KubeProxy
from slinky_iac.slurmrest.objects import may_hold_nodes, only_waits
from tests.e2e.own_hosts import (
    METAL,
    NETWORK,
    client_of,
    job,
    key_of,
    metal,
    node,
    refusal_of,
    slurmrestd_in_kubernetes,
    verdicts,
)
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World

OURS = names.drain_reason("e2e", "metal", "the client's own test")


@pytest.fixture
def client(own_cluster: Cluster, own: Slurm) -> Iterator[SlurmrestClient]:
    with client_of(own_cluster) as made:
        yield made


def test_the_newest_version_and_the_proof_of_the_key(own_cluster: Cluster, client: SlurmrestClient) -> None:
    assert client.version() == "v0.0.45"
    assert client.ping().pings[0].responding
    assert client.diag().meta.slurm.cluster == "lab"
    (known,) = client.clusters()
    assert (known.name, known.controller.port) == ("lab", 6817)
    assert known.rpc_version >= 11520
    with client_of(own_cluster, b"not the key of this cluster, but long enough") as stranger:
        assert not stranger.ping().pings[0].responding
        with pytest.raises(SlurmrestAuthError, match=r"jwt_hs256\.key"):
            stranger.nodes()
    with client_of(own_cluster, b"the next key, not known yet", key_of(own_cluster)) as rotating:
        assert rotating.diag().meta.slurm.cluster == "lab"


def test_an_unchanged_list_is_a_304_and_a_change_is_seen(client: SlurmrestClient, own: Slurm) -> None:
    await_true("a quiet second", lambda: client.nodes_since(client.nodes().last_update) is None, 20, every=1.0)
    first = client.nodes()
    own.admin("scontrol", "update", "nodename=metal-1", "state=drain", "reason=somebody's")
    assert client.nodes_again(first).by_name()["metal-1"].reason == "somebody's"


def test_partitions_are_the_same_while_slurmdbd_is_down(own_cluster: Cluster, client: SlurmrestClient) -> None:
    before = client.partitions()
    own_cluster.stop("dbd", "slurmdbd")
    try:
        assert client.partitions() == before
    finally:
        own_cluster.start("dbd", "slurmdbd")
    assert {"gpu", "metal"} <= {each.name for each in before}


def test_a_job_that_runs_goes_on_by_slurmdbd_whatever_end_it_shows(client: SlurmrestClient, own: Slurm) -> None:
    """26.05.5 shows the moment of the question as the end of a job that runs: an end alone isn't an end."""
    job = metal(own)
    own.await_running(job)
    await_true("slurmdbd has it", lambda: client.accounted([job]), 30, every=1.0)
    (running,) = client.accounted([job])
    assert running.goes_on
    assert running.time.end == 0 or abs(running.time.end - time.time()) < 30
    own.finish(job)
    await_true("slurmdbd has its end", lambda: not client.accounted([job])[0].goes_on, 60, every=1.0)


def test_drain_renew_and_undrain(client: SlurmrestClient, own: Slurm) -> None:
    assert client.drain(METAL, OURS, 600).complete
    first = node(client, "metal-1")
    assert first.drained_or_draining
    assert (first.reason, first.reason_set_by_user) == (OURS, "slurm")
    assert first.resume_after.value is not None
    assert abs(first.resume_after.value - time.time() - 600) < 30
    assert client.drain(METAL, OURS, 1200).complete
    renewed = node(client, "metal-1")
    assert renewed.resume_after.value is not None
    assert renewed.resume_after.value > first.resume_after.value + 500
    assert renewed.reason_changed_at == first.reason_changed_at
    assert all(isinstance(v, Free) for v in verdicts(client).values())
    assert client.undrain(METAL).complete
    assert all(isinstance(v, NotHeld) for v in verdicts(client).values())
    assert client.undrain(METAL).complete


def test_a_persons_drain_survives_everything_we_do(client: SlurmrestClient, own: Slurm) -> None:
    own.admin("scontrol", "update", "nodename=metal-2", "state=drain", "reason=bad DIMM")
    before = node(client, "metal-2")
    result = client.drain(METAL, OURS)
    assert (result.names(Outcome.DONE), result.names(Outcome.FOREIGN)) == (("metal-1",), ("metal-2",))
    client.set_reason(METAL, "ours now")
    undone = client.undrain(METAL, owners=["ours now"])
    assert (undone.names(Outcome.DONE), undone.names(Outcome.FOREIGN)) == (("metal-1",), ("metal-2",))
    after = node(client, "metal-2")
    assert (after.state, after.reason, after.reason_changed_at) == (before.state, "bad DIMM", before.reason_changed_at)


def test_jobs_found_by_their_states_are_those_of_the_list(client: SlurmrestClient, own: Slurm) -> None:
    """Arrays, with the last task that keeps the array's id; parts of a het job; suspended, waiting and ended jobs."""
    for _ in range(30):
        metal(own, "--hold")
    wide = metal(own, "--array=0-40", "--hold")
    het = own.submit("-p", "metal", "-n1", "-w", "metal-1", ":", "-p", "metal", "-n1", "-w", "metal-2", seconds=300)
    own.await_running(het)
    array = metal(own, "--array=3-4", "-n1")
    running = [frozenset({"RUNNING"})] * 2
    await_true(
        "both tasks run", lambda: [j.job_state for j in client.jobs().jobs if j.array_job_id.value == array] == running, 60
    )
    stopped = next(j.job_id for j in client.jobs().jobs if j.array_job_id.value == array and may_hold_nodes(j.job_state))
    own.admin("scontrol", "suspend", str(stopped))
    held = [j for j in client.jobs().jobs if may_hold_nodes(j.job_state)]
    waiting = [j for j in client.jobs().jobs if only_waits(j.job_state)]
    assert {frozenset({"RUNNING"}), frozenset({"SUSPENDED"})} <= {j.job_state for j in held}
    assert len([j for j in held if j.het_job_id.value == het]) == 2
    seen = client.job_states()
    assert chosen(seen, "held") is not None
    assert {j.job_id for j in held} == {job for job, states in seen.states.items() if may_hold_nodes(states)}
    assert {j.job_id: j for j in client.jobs_after(time.monotonic(), wanted="held").jobs} == {j.job_id: j for j in held}
    assert {wide} <= {j.job_id for j in waiting} == {job for job, states in seen.states.items() if only_waits(states)}
    some = client.job_states([het, 999_999])
    assert {job: states for job, states in some.states.items() if job == het} == {het: frozenset({"RUNNING"})}
    assert client.job_records(999_999).jobs == ()


def test_jobs_of_every_kind_are_read(client: SlurmrestClient, own: Slurm) -> None:
    both = metal(own, "-N2", "-t10")
    endless = metal(own, "-w", "metal-1")
    array = metal(own, "--array=3-4", "-t5", "-w", "metal-2")
    waiting = metal(own, "--begin=now+1hour", "--no-requeue")
    own.await_running(both, endless)
    await_true("a task of the array runs", lambda: any(j.task.endswith("_3") for j in client.jobs().jobs), 60)
    found = job(client, both)
    assert set(found.node_names) == set(METAL)
    assert found.time_limit.value == 10
    assert found.start_time.value is not None
    assert found.expected_end == found.start_time.value + 600
    assert (found.user_name, found.partition, found.requeue) == ("alice", "metal", True)
    assert (job(client, endless).expected_end, job(client, endless).time_limit.value) == (None, None)
    tasks = [j for j in client.jobs().jobs if j.array_job_id.value == array]
    assert f"{array}_3" in {j.label for j in tasks}
    pending = job(client, waiting)
    assert (pending.active, pending.node_names, pending.requeue) == (False, (), False)


def test_a_busy_node_is_free_only_when_its_jobs_are_gone(client: SlurmrestClient, own: Slurm) -> None:
    running = metal(own, "-w", "metal-1", "-t5")
    own.await_running(running)
    client.drain(METAL, OURS, 600)
    first = verdicts(client)
    assert isinstance(first["metal-1"], Busy)
    assert [j.job_id for j in first["metal-1"].jobs] == [running]
    assert isinstance(first["metal-2"], Free)
    own.admin("scontrol", "suspend", str(running))
    suspended = node(client, "metal-1")
    assert ("IDLE" in suspended.state, suspended.busy) == (True, False), "trap 4: the node itself looks drained"
    assert isinstance(verdicts(client)["metal-1"], Busy)
    (word,) = client.cancel_jobs([running])
    assert word.done
    await_true("metal-1 is free", lambda: isinstance(verdicts(client)["metal-1"], Free), 60)


def test_cancel_and_requeue_touch_the_jobs_named_and_no_other(client: SlurmrestClient, own: Slurm) -> None:
    first, second, kept, fixed = (metal(own, "-t10", *more) for more in ((), (), (), ("--no-requeue",)))
    own.await_running(first, second, kept, fixed)
    words = client.cancel_jobs([first, 99_999])
    assert [(w.done, w.gone) for w in words] == [(True, False), (False, True)]
    assert client.cancel_jobs([first])[0].gone or client.cancel_jobs([first])[0].done
    requeued = client.requeue_jobs([second, fixed, 99_999])
    assert [(w.done, w.gone) for w in requeued] == [(True, False), (False, False), (False, True)]
    await_true("the second waits again", lambda: job(client, second).restart_cnt == 1, 30)
    assert "CANCELLED" in job(client, first).job_state
    for untouched in (kept, fixed):
        assert job(client, untouched).job_state == {"RUNNING"}
        assert job(client, untouched).restart_cnt == 0


def test_a_task_of_an_array_is_requeued_and_cancelled_by_its_own_name_and_the_others_run_on(
    client: SlurmrestClient, own: Slurm
) -> None:
    """One of the tasks has the array's own id, and that bare id stands for all of them."""
    array = metal(own, "--array=0-2", "-t5")

    def tasks() -> dict[str, tuple[frozenset[str], int]]:
        return {j.task: (j.job_state, j.restart_cnt) for j in client.jobs().jobs if j.array_job_id.value == array and j.task}

    running = (frozenset({"RUNNING"}), 0)
    await_true("all tasks run", lambda: list(tasks().values()) == [running] * 3, 60)
    (last,) = [j for j in client.jobs().jobs if j.job_id == array]
    handle = last.handle
    assert handle == f"{array}_{last.array_task_id.number}"
    (word,) = client.requeue_jobs([handle])
    assert word.done
    await_true("that task waits again", lambda: tasks()[last.task][1] == 1, 30)
    (word,) = client.cancel_jobs([handle])
    assert word.done
    found = tasks()
    assert "CANCELLED" in found.pop(last.task)[0]
    assert list(found.values()) == [running] * 2


def test_a_signal_reaches_the_batch_script_itself(own_cluster: Cluster, client: SlurmrestClient, own: Slurm) -> None:
    """Without FULL_JOB a signal goes to the steps only, and a plain batch script would never hear of its end."""
    mark = f"/tmp/trap-{time.monotonic_ns()}"
    options = ("--parsable", "-p", "metal", "-w", "metal-1", "-D", "/tmp", "-o", "/dev/null")
    script = f"--wrap=trap 'exit 7' USR1; touch {mark}; while :; do sleep 0.2; done"
    trapped = int(own.user("sbatch", *options, script))
    kept = metal(own, "-w", "metal-1")
    own.await_running(trapped, kept)
    await_true("the trap is set", lambda: exists(own_cluster, mark), 30)
    (word,) = client.cancel_jobs([trapped], "SIGUSR1")
    assert word.done
    (row,) = own.await_completed(trapped)
    assert (row.state, row.exit_code) == ("FAILED", "7:0")
    assert job(client, kept).job_state == {"RUNNING"}


def exists(own_cluster: Cluster, path: str) -> bool:
    return own_cluster.hosts.run("metal-1", ["test", "-e", path], check=False).returncode == 0


def test_down_requeues_what_may_be_and_ends_the_rest_and_slurmdbd_tells(
    own_cluster: Cluster, client: SlurmrestClient, own: Slurm
) -> None:
    began = int(own.admin("date", "+%s"))
    again, never = metal(own, "-w", "metal-1", "-t5"), metal(own, "-w", "metal-1", "-t5", "--no-requeue")
    own.await_running(again, never)
    assert client.drain(["metal-1"], OURS).complete
    own_cluster.pause("metal-1", "slurmd")  # its registration would end DOWN (ReturnToService=2)
    try:
        own.admin("scontrol", "update", "nodename=metal-1", "state=down", f"reason={OURS}")
        await_true("the first waits again", lambda: "PENDING" in job(client, again).job_state, 30)
        await_true("the second ended", lambda: "NODE_FAIL" in job(client, never).job_state, 30)
        assert {"DOWN", "DRAIN"} <= node(client, "metal-1").state
        assert client.undrain(["metal-1"]).complete
        assert node(client, "metal-1").reason == OURS, "the reason stays on a DOWN node"
    finally:
        own_cluster.resume("metal-1", "slurmd")

    def failed() -> set[int]:
        return {run.job_id for run in client.failed_since(began) if run.node_names == ("metal-1",) and run.time.end}

    await_true("slurmdbd has both ends", lambda: failed() == {again, never}, 30)
    runs = client.accounted([again, never])
    assert {run.job_id for run in runs if "NODE_FAIL" in run.state.current} == {again, never}
    assert {run.job_id for run in runs if "PENDING" in run.state.current} == {again}, "a requeued job has a run more"
    assert client.accounted([never + 10_000]) == ()
    # slurmd may have registered meanwhile (ReturnToService=2), and then there is nothing to resume.
    own.admin("scontrol", "update", "nodename=metal-1", "state=resume", check=False)
    own.await_registered("metal-1")


def test_one_bad_name_fails_the_call_and_each_node_is_told_as_it_is(client: SlurmrestClient, own: Slurm) -> None:
    """Whether the other nodes of the call are done differs between releases of Slurm, so only the look counts."""
    look = client.nodes()
    ghost = structs.replace(look.by_name()["metal-1"], name="ghost-1")
    result = client.drain(["metal-1", "ghost-1", "metal-2"], OURS, seen=replace(look, nodes=(*look.nodes, ghost)))
    assert [e.error_number for e in result.errors if isinstance(e, SlurmrestRefused)] == [2018]
    assert result.names(Outcome.ABSENT) == ("ghost-1",)
    drained = tuple(name for name in METAL if node(client, name).drained_or_draining)
    assert result.names(Outcome.DONE) == drained
    assert result.names(Outcome.REFUSED) == tuple(name for name in METAL if name not in drained)


def test_a_frozen_slurmctld_leaves_an_update_unknown_and_it_may_land_later(
    own_cluster: Cluster, client: SlurmrestClient, own: Slurm
) -> None:
    look = client.nodes()
    with client_of(own_cluster, tries=1, read_s=3.0) as impatient:
        impatient.version()
        own_cluster.pause("ctl", "slurmctld")
        start = time.monotonic()
        result = impatient.drain(METAL, OURS, seen=look, budget_s=10)
    assert time.monotonic() - start < 20
    assert result.names(Outcome.UNKNOWN) == METAL, result
    own_cluster.resume("ctl", "slurmctld")
    await_true("what was called unknown was carried out", lambda: node(client, "metal-1").reason == OURS, 60)
    assert client.undrain(METAL).complete


def test_without_slurmctld_nothing_is_concluded_and_it_is_said_who_is_missing(
    own_cluster: Cluster, client: SlurmrestClient, own: Slurm
) -> None:
    with client_of(own_cluster, tries=1) as once:
        once.version()
        own_cluster.stop("ctl", "slurmctld")
        assert not once.ping().pings[0].responding
        for call in (once.nodes, once.jobs):
            with pytest.raises(SlurmrestUnreachable, match="can't reach slurmctld"):
                call()
    own_cluster.start("ctl", "slurmctld")
    await_true("slurmctld answers again", lambda: client.ping().pings[0].responding, 60)
    own.await_registered(*METAL)


def test_a_drain_outlives_slurmctld_once_it_is_saved(own_cluster: Cluster, client: SlurmrestClient, own: Slurm) -> None:
    """slurmctld writes its nodes a few seconds after the change (3 s seen)."""
    assert client.drain(METAL, OURS, 900).complete
    saved = own_cluster.site.state_save / "node_state"
    await_true("the drain is saved", lambda: saved.exists() and saved.read_bytes().count(OURS.encode()) >= len(METAL), 30)
    crash(own_cluster, client)
    assert all(node(client, name).reason == OURS for name in METAL)
    assert all(isinstance(v, Free | Unknown) for v in verdicts(client).values())


def test_a_drain_that_a_crash_undid_is_seen_to_be_gone(own_cluster: Cluster, client: SlurmrestClient, own: Slurm) -> None:
    """Accepted is not saved: killed at once, slurmctld comes back without the drain, and no node passes for free."""
    assert client.drain(METAL, OURS, 900).complete
    crash(own_cluster, client)
    for name, judged in verdicts(client).items():
        kept = node(client, name).drained_or_draining
        assert isinstance(judged, Free | Unknown if kept else NotHeld | Unknown)


def crash(own_cluster: Cluster, client: SlurmrestClient) -> None:
    own_cluster.kill("ctl", "slurmctld")
    own_cluster.start("ctl", "slurmctld")
    await_true("slurmctld answers again", lambda: client.ping().pings[0].responding, 60)


def test_without_slurmrestd_it_is_unreachable_and_comes_back(
    own_cluster: Cluster, client: SlurmrestClient, own: Slurm
) -> None:
    look = client.nodes()
    own_cluster.stop("rest", "slurmrestd")
    with pytest.raises(SlurmrestUnreachable, match="refused"):
        client.nodes()
    assert client.drain(METAL, OURS, seen=look).names(Outcome.UNKNOWN) == METAL
    own_cluster.start("rest", "slurmrestd")
    assert client.drain(METAL, OURS).complete


def test_six_hundred_nodes_are_drained_in_two_calls(own_cluster: Cluster, client: SlurmrestClient, own: Slurm) -> None:
    made = own.admin("scontrol", "create", "NodeName=f[0001-0600]", "CPUs=1", "State=CLOUD", "NodeAddr=127.0.0.1")
    assert made == ""
    fakes = [f"f{i:04d}" for i in range(1, 601)]
    start = time.monotonic()
    assert client.drain(fakes, OURS, 600).complete
    took = time.monotonic() - start
    drained = {n.name for n in client.nodes().nodes if n.reason == OURS}
    assert drained == set(fakes)
    assert client.undrain(fakes).complete
    assert took < 10
    assert client.delete_node("f0001")
    assert not client.delete_node("f0001")
    assert refusal_of(lambda: client.delete_node("metal-1")).error_number == 2028
    own.admin("scontrol", "delete", "NodeName=f[0002-0600]")


def test_the_dead_mans_switch_undrains_when_nobody_renews(client: SlurmrestClient, own: Slurm) -> None:
    assert client.drain(["metal-1"], OURS, 5).complete
    assert isinstance(verdicts(client)["metal-1"], NotHeld), "a drain that ends in seconds holds nothing"
    await_true("slurmctld lifts the drain", lambda: not node(client, "metal-1").drained_or_draining, 90, every=2.0)


@pytest.fixture
def proxied(world: World, own_cluster: Cluster) -> Iterator[SlurmrestClient]:
    """A client that has nothing but the lab's kubeconfig; slurmrestd is in a pod of the lab's Kubernetes."""
    namespace = f"slurmrest-{time.monotonic_ns()}"
    world.kubectl("create", "namespace", namespace)
    try:
        world.kubectl("apply", "-n", namespace, "-f", "-", stdin=slurmrestd_in_kubernetes(own_cluster))
        world.kubectl("wait", "-n", namespace, "--for=condition=Ready", "pod/slurmrestd", "--timeout=60s")
        endpoint = KubeProxy(KubeSource(path=Path(world.env["KUBECONFIG"])), namespace=namespace)
        with SlurmrestClient(endpoint, [key_of(own_cluster)], retry=Retry(tries=6)) as made:
            yield made
    finally:
        world.kubectl("delete", "namespace", namespace, "--wait=false")


def test_all_of_it_works_through_the_api_servers_service_proxy(
    proxied: SlurmrestClient, own_cluster: Cluster, own: Slurm
) -> None:
    assert proxied.diag().meta.slurm.cluster == "lab"
    running = metal(own, "-w", "metal-1", "-t5")
    own.await_running(running)
    assert proxied.drain(METAL, OURS, 600).complete
    assert isinstance(verdicts(proxied)["metal-1"], Busy)
    assert proxied.cancel_jobs([running])[0].done
    await_true("metal-1 is free", lambda: isinstance(verdicts(proxied)["metal-1"], Free), 60)
    assert proxied.undrain(METAL).complete
    assert not proxied.delete_node("never-there")
    own_cluster.stop("ctl", "slurmctld")
    with pytest.raises(SlurmrestUnreachable, match="can't reach slurmctld"):
        proxied.jobs(budget_s=20)
    own_cluster.start("ctl", "slurmctld")


def test_a_service_that_is_not_there_is_not_taken_for_slurms_word(world: World) -> None:
    endpoint = KubeProxy(KubeSource(path=Path(world.env["KUBECONFIG"])), namespace="default", service="nothing-here")
    with (
        SlurmrestClient(endpoint, [b"any key"], retry=Retry(tries=1)) as client,
        pytest.raises(SlurmrestUnreachable, match=r"service proxy answered 404.*Slurm wasn't asked"),
    ):
        client.nodes()


def test_the_lab_is_kept_apart() -> None:
    """These tests freeze daemons: never the lab's."""
    assert paths.STATE not in NETWORK.__dict__.values()
    assert str(NETWORK.subnet) != str(Network().subnet)
