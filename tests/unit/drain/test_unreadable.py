"""What can't be read of Slurm's lists counts as busy or unknown, is named, and is never acted on."""

import json

import httpx
import pytest
from msgspec.structs import replace

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.cost import Kind, assess
from slinky_iac.drain.free import Busy, Free, Unknown, verdict
from slinky_iac.drain.observe import cluster_view
from slinky_iac.drain.protocol import Stop
from slinky_iac.drain.scale_in_state import deadline_step, judge
from slinky_iac.drain.settings import DrainPolicy
from slinky_iac.drain.words import jobs_in_words
from tests.made import rows
from tests.unit.drain import made
from tests.unit.drain.made import NOW, goal, held, job, node, pod
from tests.unit.slurmrest import fake

WHY = "job 17 can't be read: its node list has bytes that aren't text"


def looked(jobs=(), nodes=(), *swaps):
    """What a gate sees, with some bytes of the answers replaced."""
    slurm = fake.FakeSlurm().add(*jobs, *nodes)

    class Raw(httpx.BaseTransport):
        def handle_request(self, request):
            content = json.dumps(json.loads(slurm.handle(request).content), indent=2).encode()
            for old, new in swaps:
                content = content.replace(old, new)
            return httpx.Response(200, content=content)

    with slurm.client(transport=Raw()) as client:
        return cluster_view(client)


def test_one_byte_in_a_jobs_name_stops_no_drain():
    """Any user can do this: `sbatch -J "$(printf 'a\\377b')" --hold`."""
    drained = rows.node("gpu-0", "IDLE", "DRAIN", reason="slinky-iac:dev/gpu: x")
    found = looked([rows.job(17, "PENDING", name="MARK")], [drained], (b"MARK", b"a\xffb"))
    assert isinstance(verdict("gpu-0", found, NOW), Free)


@pytest.mark.parametrize("state", ["PENDING", "COMPLETED"])
def test_a_job_that_holds_no_node_by_its_state_needs_no_readable_list_of_them(state):
    drained = rows.node("gpu-0", "IDLE", "DRAIN", reason="slinky-iac:dev/gpu: x")
    found = looked([rows.job(17, state, nodes="MARK")], [drained], (b"MARK", b"g\xff"))
    assert isinstance(verdict("gpu-0", found, NOW), Free)


@pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "COMPLETING"])
def test_a_job_whose_nodes_cannot_be_read_holds_every_node_and_is_named(state):
    drained = rows.node("gpu-0", "IDLE", "DRAIN", reason="slinky-iac:dev/gpu: x")
    found = looked([rows.job(17, state, nodes="MARK")], [drained], (b"MARK", b"g\xff"))
    for name in ("gpu-0", "never-listed"):
        judged = verdict(name, found, NOW)
        assert isinstance(judged, Unknown)
        assert WHY in judged.why


def test_a_job_of_which_only_the_nodes_can_be_read_holds_those():
    row = rows.job(17, "COMPLETED", nodes="gpu-[0-1]")
    row["job_state"] = "no list"
    nodes = [rows.node(f"gpu-{n}", "IDLE", "DRAIN", reason="slinky-iac:dev/gpu: x") for n in range(3)]
    found = looked([row], nodes)
    assert [type(verdict(f"gpu-{n}", found, NOW)) for n in range(3)] == [Busy, Busy, Free]
    assert "job 17 can't be read" in jobs_in_words(found.jobs("gpu-0"))


def test_a_finished_job_that_lacks_something_else_holds_nothing():
    row = rows.job(17, "COMPLETED", nodes="gpu-0")
    del row["end_time"]
    found = looked([row], [rows.node("gpu-0", "IDLE", "DRAIN", reason="slinky-iac:dev/gpu: x")])
    assert isinstance(verdict("gpu-0", found, NOW), Free)


def test_a_node_whose_record_cannot_be_read_is_never_free_and_its_pod_is_blocked():
    found = looked([], [{**rows.node("gpu-0", "IDLE", "DRAIN"), "alloc_cpus": None}])
    judged = verdict("gpu-0", found, NOW)
    assert isinstance(judged, Unknown)
    assert "node gpu-0 can't be read" in judged.why
    (candidate,) = assess([pod(0)], found, NOW, made.OWNER)
    assert candidate.kind is Kind.BLOCKED
    assert "can't be read" in candidate.trouble


@pytest.mark.parametrize("on_deadline", ["requeue", "cancel"])
def test_a_job_that_cannot_be_read_is_never_acted_on(on_deadline):
    foul = replace(job(17, 0, state="RUNNING", requeue=True), unreadable="its node list has bytes that aren't text")
    policy = DrainPolicy(deadline_s=600, bound_s=900, on_deadline=on_deadline)
    seen = made.seen([pod(0)], [held(0)], [foul])
    late = goal(1, 0, policy=policy, teardown=True, deadline_at=NOW - 1)
    step = deadline_step(judge(seen, late, ClusterView.of([held(0)], [foul])))
    assert isinstance(step, Stop)
    assert WHY in step.why


def test_a_record_in_a_state_of_no_meaning_is_not_understood_by_its_name_alone():
    foul = replace(node(0, "IDLE+DRAIN"), unreadable="x")
    assert isinstance(verdict("gpu-0", ClusterView.of([foul], []), NOW), Unknown)
