"""The calls: what they send, what they give back, what they refuse to send."""

from __future__ import annotations

import logging

import httpx
import pytest

from slinky_iac import names
from slinky_iac.errors import SlurmrestGarbage, SlurmrestRefused, SlurmrestUnreachable, SlurmrestVersionError
from slinky_iac.kube.wire import Retry
from slinky_iac.slurmrest.drains import Outcome
from slinky_iac.slurmrest.objects import Job
from slinky_iac.slurmrest.versions import negotiate, served
from tests.made.rows import NOW, job, node, number
from tests.unit.slurmrest.fake import FakeSlurm, answer, error

OURS = names.drain_reason("dev", "gpu", "scale-in 3->1")


def job_of(slurm: FakeSlurm, job_id: int) -> Job:
    return next(j for j in slurm.client().jobs().jobs if j.job_id == job_id)


def test_the_newest_version_of_ours_is_spoken_and_asked_for_once() -> None:
    slurm = FakeSlurm().add(node("g-0"))
    client = slurm.client()
    assert client.version() == "v0.0.45"
    client.nodes()
    client.nodes()
    assert len(slurm.asked_for("GET", "ping/")) == 1
    slurm.served = ("v0.0.42", "v0.0.43", "v0.0.44")
    assert slurm.client().version() == "v0.0.44"


@pytest.mark.parametrize(("served", "said"), [(("v0.0.42", "v0.0.41"), "Slurm 24.11"), ((), "is it slurmrestd")])
def test_an_older_slurmrestd_is_refused_with_the_release_that_is_needed(served: tuple[str, ...], said: str) -> None:
    with pytest.raises(SlurmrestVersionError, match=said) as refused:
        FakeSlurm(served=served).client().nodes()
    assert "25.11 or newer" in str(refused.value)


def test_all_versions_that_are_served_are_named_those_too_that_we_do_not_speak() -> None:
    assert FakeSlurm(served=("v0.0.41", "v0.0.44", "v0.0.99")).client().served() == ("v0.0.44", "v0.0.41")


OLD_PING = {
    "pings": [{"hostname": "ctl", "pinged": "UP", "latency": 1810, "mode": "primary"}],
    "meta": {"plugin": {"data_parser": "data_parser/v0.0.41"}, "slurm": {"release": "24.11.5"}},
    "errors": [],
    "warnings": [],
}
"""As slurmrestd 24.11.5 answers v0.0.41 and v0.0.40: without ``responding`` and ``primary``, which came with v0.0.42."""


def test_a_version_that_we_do_not_speak_is_served_whatever_its_ping_says() -> None:
    def pinged(path: str) -> httpx.Response:
        if "/v0.0.42/" in path or "/v0.0.41/" in path:
            return httpx.Response(200, json=OLD_PING)
        return httpx.Response(404, headers={"content-type": "text/plain"}, text="Unable find requested URL.")

    assert served(pinged) == ("v0.0.42", "v0.0.41")
    with pytest.raises(SlurmrestVersionError, match=r"serves v0\.0\.42 \(Slurm 24\.11\) at most"):
        negotiate(pinged, "here")


def test_a_node_as_slurm_tells_it() -> None:
    slurm = FakeSlurm().add(
        node("g-0", "MIXED", "DRAIN", "DYNAMIC_NORM", reason=OURS, user="slurm", alloc_cpus=3, resume_after=number(NOW + 9))
    )
    answered = slurm.client().nodes()
    assert answered is not None
    (found,) = answered.nodes
    assert found.known
    assert found.state == {"MIXED", "DRAIN", "DYNAMIC_NORM"}
    assert (found.reason, found.reason_set_by_user, found.reason_changed_at.value) == (OURS, "slurm", NOW)
    assert (found.alloc_cpus, found.resume_after.value, found.partitions) == (3, NOW + 9, ("gpu",))
    assert answered.last_update == NOW
    assert answered.asked < answered.answered


def test_unchanged_nodes_cost_nothing_and_count_as_seen_now() -> None:
    slurm = FakeSlurm(changed=False).add(node("g-0"))
    client = slurm.client()
    first = client.nodes()
    assert first is not None
    assert client.nodes_since(first.last_update) is None
    again = client.nodes_again(first)
    assert again.nodes == first.nodes
    assert again.asked > first.answered
    assert again.answered > again.asked
    slurm.changed = True
    slurm.add(node("g-1"))
    assert len(client.nodes_again(first).nodes) == 2


def test_a_304_that_was_not_asked_for_is_no_answer() -> None:
    slurm = FakeSlurm()
    slurm.faults = [lambda _: httpx.Response(304)]
    with pytest.raises(SlurmrestGarbage):
        slurm.client().nodes()


def test_a_node_listed_twice_makes_the_list_worthless() -> None:
    slurm = FakeSlurm()
    slurm.faults = [lambda _: answer(nodes=[node("g-0"), node("g-0", "DOWN")], last_update=number(1))]
    with pytest.raises(SlurmrestGarbage, match="twice"):
        slurm.client().nodes()


def test_jobs_as_slurm_tells_them() -> None:
    slurm = FakeSlurm().add(
        job(17, nodes="g-[1,0],m-1"),
        job(18, limit=None, nodes="g-2"),
        job(19, array_job_id=number(12), array_task_id=number(3)),
        job(20, "PENDING", array_job_id=number(20), array_task_id=number(None)),
        job(21, het_job_id=number(21), het_job_offset=number(0), requeue=False),
        job(22, array_job_id=number(22), array_task_id=number(0)),
    )
    assert job_of(slurm, 17).node_names == ("g-1", "g-0", "m-1")
    assert (job_of(slurm, 17).expected_end, job_of(slurm, 17).time_limit.value) == (NOW + 540, 10)
    assert (job_of(slurm, 18).expected_end, job_of(slurm, 18).time_limit.value) == (None, None)
    labels = {i: job_of(slurm, i).label for i in (17, 19, 20, 21)}
    assert labels == {17: "17", 19: "12_3", 20: "20_[…]", 21: "21+0"}
    assert not job_of(slurm, 21).requeue


def test_a_drain_carries_reason_and_timer_and_renewing_keeps_the_reason() -> None:
    slurm = FakeSlurm().add(node("g-0"), node("g-1", "DOWN", "DRAIN", reason=f"{OURS} : Not responding"))
    assert slurm.client().drain(["g-0", "g-1"], OURS, 600).complete
    timer = {"set": True, "infinite": False, "number": 600}
    assert slurm.asked_for("POST", "nodes/") == [
        {"name": ["g-0"], "state": ["DRAIN"], "resume_after": timer, "reason": OURS},
        {"name": ["g-1"], "state": ["DRAIN"], "resume_after": timer},
    ]
    assert slurm.nodes["g-1"]["reason"] == f"{OURS} : Not responding"


def test_large_updates_go_in_chunks_and_small_ones_in_one_call() -> None:
    slurm = FakeSlurm().add(*(node(f"g-{i}") for i in range(1201)))
    result = slurm.client().drain([f"g-{i}" for i in range(1201)], OURS)
    assert result.complete
    assert [r.name for r in result.results] == [f"g-{i}" for i in range(1201)]
    assert [len((body or {})["name"]) for body in slurm.asked_for("POST", "nodes/")] == [500, 500, 201]


def test_when_slurm_goes_away_in_the_middle_the_rest_is_not_sent() -> None:
    slurm = FakeSlurm().add(*(node(f"g-{i}") for i in range(1500)))
    down = answer(502, [error(1800)])
    client = slurm.client()
    seen = client.nodes()
    slurm.faults = [None, lambda _: down, *[lambda _: down] * 9]
    result = client.drain([f"g-{i}" for i in range(1500)], OURS, seen=seen)
    counts = {outcome: len(result.names(outcome)) for outcome in (Outcome.DONE, Outcome.UNKNOWN, Outcome.NOT_SENT)}
    assert counts == {Outcome.DONE: 500, Outcome.UNKNOWN: 500, Outcome.NOT_SENT: 500}
    assert len(slurm.asked_for("POST", "nodes/")) == 2
    assert len(result.errors) == 2


def test_a_refused_update_that_was_not_done_is_refused() -> None:
    slurm = FakeSlurm().add(node("g-0"))
    client = slurm.client()
    seen = client.nodes()
    slurm.faults = [lambda _: answer(422, [error(2010, "Invalid user id")])]
    result = client.drain(["g-0"], OURS, seen=seen)
    assert result.names(Outcome.REFUSED) == ("g-0",)
    assert "Invalid user id" in result.results[0].why
    assert result.results[0].before is not None


def test_nothing_is_sent_for_no_nodes_and_no_jobs() -> None:
    """To Slurm, a job filter without jobs means every job."""
    slurm = FakeSlurm().add(node("g-0"), job(17))
    client = slurm.client()
    assert client.cancel_jobs([]) == ()
    assert client.requeue_jobs([]) == ()
    assert client.drain([], OURS).results == ()
    assert [m for m, _, _ in slurm.asked if m != "GET"] == []


@pytest.mark.parametrize("name", ["", "g-[0-1]", "g-0,g-1", "ALL g", "../x", "g-0/", "-x"])
def test_what_is_no_single_node_name_is_never_sent(name: str) -> None:
    slurm = FakeSlurm().add(node("g-0"))
    client = slurm.client()
    for call in (lambda: client.drain([name], OURS), lambda: client.undrain([name]), lambda: client.delete_node(name)):
        with pytest.raises(ValueError, match="single node name"):
            call()
    assert slurm.asked == []


@pytest.mark.parametrize("name", ["", "all", "1,2", "12_[1-3]", "1 2", "12_", "1.batch", "-1"])
def test_what_is_no_job_id_is_never_sent(name: str) -> None:
    slurm = FakeSlurm().add(job(17))
    for call in (slurm.client().cancel_jobs, slurm.client().requeue_jobs):
        with pytest.raises(ValueError, match="isn't a job id"):
            call([17, name])
    assert slurm.asked == []


def test_cancelling_tells_each_job_and_names_only_those() -> None:
    slurm = FakeSlurm().add(job(17), job(18, "COMPLETED"), job(19))
    words = slurm.client().cancel_jobs([17, 18, 99])
    assert [(w.job, w.done, w.gone) for w in words] == [("17", True, False), ("18", False, True), ("99", False, True)]
    assert slurm.asked_for("DELETE", "jobs/") == [{"jobs": ["17", "18", "99"], "flags": ["VERBOSE"]}]
    assert slurm.jobs[19]["job_state"] == ["RUNNING"]
    slurm.client().cancel_jobs([19], "SIGTERM")
    assert (slurm.asked_for("DELETE", "jobs/")[-1] or {})["signal"] == "SIGTERM"
    with pytest.raises(ValueError, match="signal"):
        slurm.client().cancel_jobs([19], "; rm")


def test_a_job_that_slurm_says_nothing_about_is_unknown() -> None:
    slurm = FakeSlurm().add(job(17))
    slurm.faults = [lambda _: answer(status=[])]
    (word,) = slurm.client().cancel_jobs([17])
    assert (word.done, word.gone, word.error_number) == (False, False, None)


def test_the_worst_word_about_an_arrays_tasks_counts() -> None:
    def line(job_id: int, step: str, code: int) -> dict[str, object]:
        return {"job_id": number(job_id), "step_id": step, "error": {"code": code, "string": "x", "message": ""}}

    slurm = FakeSlurm()
    slurm.faults = [lambda _: answer(status=[line(12, "12_2", 0), line(13, "12_1", 2002)])]
    assert [w.error_number for w in slurm.client().cancel_jobs(["12"])] == [2002]


def test_requeue_needs_26_05_and_says_so() -> None:
    slurm = FakeSlurm().add(job(17))
    assert [(w.done, w.gone) for w in slurm.client().requeue_jobs([17, 99])] == [(True, False), (False, True)]
    slurm.served = ("v0.0.44",)
    with pytest.raises(SlurmrestVersionError, match=r"26\.05.*nothing was requeued"):
        slurm.client().requeue_jobs([17])


def test_deleting_a_node_is_idempotent_and_a_refusal_is_not_silent() -> None:
    slurm = FakeSlurm().add(node("g-0"), node("g-1"))
    assert slurm.client().delete_node("g-0")
    assert not slurm.client().delete_node("g-0")
    client = slurm.client()
    client.version()
    slurm.faults = [lambda _: answer(500, [error(2016, "Requested nodes are busy")])]
    with pytest.raises(SlurmrestRefused) as refused:
        client.delete_node("g-1")
    assert refused.value.error_number == 2016
    slurm.faults = [lambda request: (_ for _ in ()).throw(httpx.ReadTimeout("slow", request=request))]
    with pytest.raises(SlurmrestUnreachable, match="may have been done"):
        client.delete_node("g-1")


def test_a_reason_of_ours_is_put_back_and_no_other_is_touched() -> None:
    slurm = FakeSlurm().add(node("g-0", "DOWN", reason=OURS), node("g-1", "DOWN", reason="Not responding"))
    result = slurm.client().set_reason(["g-0", "g-1"], "Not responding")
    assert result.complete
    assert slurm.asked_for("POST", "nodes/") == [{"name": ["g-0"], "reason": "Not responding"}]


def test_resume_returns_only_what_is_down_or_drained_with_a_reason_of_the_owners_named() -> None:
    left = "slurm-operator: Pod is terminating"
    slurm = FakeSlurm().add(
        node("g-0", "DOWN", "DRAIN", reason=left), node("g-1", "DOWN", reason="fan"), node("g-2"), node("g-3", "DOWN")
    )
    done = slurm.client().resume(["g-0", "g-1", "g-2", "g-9"], owners=["slurm-operator:"])
    assert [r.outcome for r in done.results] == [Outcome.DONE, Outcome.FOREIGN, Outcome.DONE, Outcome.ABSENT]
    assert slurm.asked_for("POST", "nodes/") == [{"name": ["g-0"], "state": ["RESUME"]}]


def test_warnings_are_logged_and_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    slurm = FakeSlurm().add(node("g-0"))
    body = {
        "errors": [],
        "warnings": [{"description": "unknown field", "source": "here"}],
        "statistics": {"jobs_running": 0},
    }
    slurm.faults = [lambda _: httpx.Response(200, json=body)]
    with caplog.at_level(logging.WARNING):
        slurm.client().diag()
    assert "unknown field" in caplog.text


def test_clusters_and_reservations() -> None:
    slurm = FakeSlurm()
    lab = {"name": "lab", "controller": {"host": "10.9.0.1", "port": 6817}, "nodes": "g-[0-1]", "rpc_version": 11520}
    night = {
        "name": "night",
        "node_list": "g-[0-1]",
        "start_time": number(NOW),
        "end_time": number(NOW + 60),
        "flags": ["MAINT"],
        "users": "root,bob",
    }
    slurm.faults = [lambda _: answer(clusters=[lab]), lambda _: answer(reservations=[night])]
    client = slurm.client()
    (cluster,) = client.clusters()
    assert (cluster.controller.host, cluster.controller.port, cluster.rpc_version) == ("10.9.0.1", 6817, 11520)
    assert slurm.asked[-1][1] == "/slurmdb/v0.0.45/clusters/"
    (reservation,) = client.reservations()
    assert reservation.node_names == ("g-0", "g-1")
    assert (reservation.start_time.value, reservation.end_time.value) == (NOW, NOW + 60)


def test_pauses_grow_with_jitter_and_end_with_the_tries_or_the_budget() -> None:
    slurm = FakeSlurm().add(node("g-0"))
    down = answer(502, [error(1800)])
    client = slurm.client(retry=Retry(tries=6, first_s=1, most_s=4))
    client.version()
    slurm.faults = [lambda _: down] * 6
    with pytest.raises(SlurmrestUnreachable):
        client.nodes()
    assert slurm.ticks.slept == [0.75, 1.5, 3.0, 3.0, 3.0]
    slurm.ticks.slept.clear()
    slurm.faults = [lambda _: down] * 6
    with pytest.raises(SlurmrestUnreachable):
        client.nodes(budget_s=3)
    assert slurm.ticks.slept == [0.75, 1.5]
    slurm.ticks.slept.clear()
    slurm.faults = [lambda _: down, lambda _: answer(500, [error(2010)])]
    with pytest.raises(SlurmrestRefused):
        client.nodes()
    assert slurm.ticks.slept == [0.75]


def test_a_partitions_state_is_not_set_by_an_older_slurmrestd() -> None:
    slurm = FakeSlurm(served=("v0.0.44",))
    with slurm.client() as client, pytest.raises(SlurmrestVersionError, match="nothing was changed"):
        client.set_partition_state("batch", "DRAIN")
    assert [method for method, _, _ in slurm.asked if method != "GET"] == []
