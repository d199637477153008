"""The other side of a reader's rule: what is unreadable, hidden, older than it looks. Each test is a fault that once passed
all others."""

from __future__ import annotations

import httpx
import pytest

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.errors import SlurmrestUnreachable
from slinky_iac.slurmrest.drains import Outcome, Update, carry_out
from slinky_iac.slurmrest.objects import NO_TEXT, Job
from slinky_iac.slurmrest.shared import SharedJobs
from tests.made.nodes import node as made_node
from tests.made.rows import job, node, number, run
from tests.unit.slurmrest.fake import FakeSlurm, answer, error

BALLAST = [job(900 + each, "COMPLETED") for each in range(40)]


def test_a_row_that_can_t_be_read_after_an_error_is_neither_done_nor_refused() -> None:
    slurm = FakeSlurm().add(node("g-0"))
    with slurm.client() as client:
        before = client.nodes()
        slurm.nodes["g-0"]["state"] = 7

        def post(_update: Update) -> None:
            raise SlurmrestUnreachable("silent")

        update = Update(("g-0",), (("state", ["DRAIN"]),))
        found = carry_out([update], seen=before, post=post, look=client.nodes, is_done=lambda _: True)
    assert [each.outcome for each in found.results] == [Outcome.UNKNOWN]


def test_a_list_by_states_is_as_old_as_its_states() -> None:
    slurm = FakeSlurm().add(job(7, nodes="g-0"), *BALLAST)
    moments: list[float] = []
    serve = slurm.serve

    def timed(request: httpx.Request, rest: str, body: object) -> httpx.Response:
        if rest.startswith("job/"):
            moments.append(slurm.ticks.now)
            slurm.ticks.now += 30
        return serve(request, rest, body)  # type: ignore[arg-type]

    slurm.serve = timed  # type: ignore[method-assign]
    with slurm.client() as client:
        found = client.jobs_after(0, wanted="held", fresh_s=1000)
    assert found.asked < moments[0] < found.answered


@pytest.mark.parametrize("state", ["RUNNING", "PENDING"])
def test_a_job_whose_record_is_hidden_counts_while_it_waits_too(state: str) -> None:
    slurm = FakeSlurm(unshown={7}).add(job(7, state, nodes=""), *BALLAST)
    with slurm.client() as client:
        assert [each.job_id for each in client.jobs_after(0, wanted="live").jobs] == [7]


def test_a_job_without_a_readable_id_is_kept() -> None:
    slurm = FakeSlurm().add(job(7, nodes="g-0", array_job_id=number(7)), *BALLAST)
    records = slurm.record

    def garbled(job_id: int) -> httpx.Response:
        rows = [slurm.jobs[7], {**job(8, nodes="g-1"), "job_id": "eight"}]
        return slurm.records(rows) if job_id == 7 else records(job_id)

    slurm.record = garbled  # type: ignore[method-assign]
    with slurm.client() as client:
        found = client.jobs_after(0, wanted="held").jobs
    assert {each.node_names for each in found} == {("g-0",), ("g-1",)}


def test_how_many_waiting_jobs_are_left_out_is_said() -> None:
    waiting = [job(each, "PENDING") for each in range(100, 160)]
    slurm = FakeSlurm().add(job(7, nodes="g-0"), *waiting, *BALLAST)
    with slurm.client() as client:
        assert client.jobs_after(0, wanted="held").left_out == 60


def test_a_job_of_which_nothing_can_be_read_may_be_anywhere() -> None:
    found = Job.half_read("odd", 7, frozenset({"UNREADABLE"}), nodes=NO_TEXT)
    assert found.unplaced
    assert [each.job_id for each in ClusterView.of([made_node("g-0")], [found]).unplaced] == [7]


def test_a_list_without_waiting_jobs_is_not_taken_for_one_with_them() -> None:
    slurm, shared = FakeSlurm().add(job(7, nodes="g-0"), *[job(each, "PENDING") for each in range(20, 80)]), SharedJobs()
    slurm.add(*BALLAST)
    with slurm.client(shared=shared) as one, slurm.client(shared=shared) as other:
        one.jobs_after(0, wanted="held", fresh_s=1000)
        live = other.jobs_after(0, wanted="live", fresh_s=1000).jobs
    assert {20, 79} <= {each.job_id for each in live}


@pytest.mark.parametrize(
    ("states", "end", "there"), [(["COMPLETED"], 5, False), (["RUNNING"], 5, True), (["FAILED"], 0, True)]
)
def test_a_run_goes_on_until_slurmdbd_has_heard_of_its_end(states: list[str], end: int, *, there: bool) -> None:
    """slurmdbd shows now as the end of a run that continues."""
    first = run(7, "RUNNING", end=None)
    second = run(7, *states, end=end)
    second["time"]["end"] = end
    slurm = FakeSlurm(accounts=[first])
    ask = slurm.accounted

    def then(asked: httpx.QueryParams) -> httpx.Response:
        slurm.accounts = [second] if "step" in asked else [first]
        return ask(asked) if "step" in asked else answer(jobs=[first])

    slurm.accounted = then  # type: ignore[method-assign]
    with slurm.client() as client:
        assert bool(client.running(1)) is there


def test_a_hold_that_is_another_one_by_now_is_not_cleared() -> None:
    slurm = FakeSlurm().add(node("g-0", "IDLE", "DRAIN", reason="fan", resume_after=number(900)))
    with slurm.client() as client:
        assert client.clear_hold({"g-0": 800}).complete
        assert slurm.asked_for("POST", "nodes/") == []
        assert client.clear_hold({"g-0": 900}).complete
    assert slurm.nodes["g-0"]["resume_after"] == number(None)


def test_a_hold_that_an_error_left_is_not_called_cleared() -> None:
    slurm = FakeSlurm().add(node("g-0", "IDLE", "DRAIN", reason="fan", resume_after=number(900)))
    slurm.update = lambda _body: answer(500, [error(2010, "refused")])  # type: ignore[method-assign]
    with slurm.client() as client:
        assert client.clear_hold({"g-0": 900}).names(Outcome.DONE) == ()


def test_the_token_is_hidden_in_what_is_left_of_a_list_too() -> None:
    """In the rest of a sieved answer it would come into an error's text, and by that into a state."""
    slurm = FakeSlurm()

    def echo(request: httpx.Request) -> httpx.Response:
        return answer(errors=[error(7, f"bad token {request.headers['X-SLURM-USER-TOKEN']}")], jobs=[])

    slurm.faults = [echo]
    with slurm.client() as client, pytest.raises(Exception, match=r"bad token \[hidden\]") as why:
        client.jobs()
    assert all(token not in str(why.value) for token in slurm.tokens)


def test_a_young_list_that_was_asked_for_too_early_is_asked_for_again() -> None:
    slurm, shared = FakeSlurm().add(job(7, nodes="g-0"), *BALLAST), SharedJobs()
    with slurm.client(shared=shared) as client:
        first = client.jobs_after(0, wanted="held", fresh_s=1000)
        assert client.jobs_after(first.asked - 1, wanted="held", fresh_s=1000) is first
        later = client.jobs_after(first.answered, wanted="held", fresh_s=1000)
    assert later.asked >= first.answered


def test_a_signal_goes_to_the_batch_script_too_and_a_cancel_needs_no_flag_for_it() -> None:
    slurm = FakeSlurm().add(job(7))
    with slurm.client() as client:
        client.cancel_jobs([7], "SIGTERM")
        client.cancel_jobs([7])
    signalled, cancelled = slurm.asked_for("DELETE", "jobs/")
    assert signalled is not None
    assert cancelled is not None
    assert (set(signalled["flags"]), signalled["signal"]) == ({"VERBOSE", "FULL_JOB"}, "SIGTERM")
    assert (set(cancelled["flags"]), "signal" in cancelled) == ({"VERBOSE"}, False)


def test_every_run_of_a_job_is_asked_for() -> None:
    """A requeued job has a run for each time; without the earlier ones the run that its node ended is missing."""
    asked: list[str] = []
    slurm = FakeSlurm(accounts=[run(7, "COMPLETED")])
    handle = slurm.handle

    def noting(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params.get("show_duplicates", ""))
        return handle(request)

    with slurm.client(transport=httpx.MockTransport(noting)) as client:
        client.accounted([7])
    assert asked[-1] == "true"
