"""One row that can't be read costs that row: as busy, as unknown, by its name; never the list, and never as nothing."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from slinky_iac import names
from slinky_iac.errors import SlurmrestGarbage
from slinky_iac.slurmrest.drains import Outcome
from slinky_iac.slurmrest.lists import JobsAnswer, NodesAnswer
from slinky_iac.slurmrest.objects import UNREADABLE
from tests.made.rows import job, node, number
from tests.unit.slurmrest.fake import FakeSlurm

OURS = names.drain_reason("dev", "gpu", "scale-in 3->1")


def answered(*swaps: tuple[bytes, bytes], **lists: Any) -> httpx.Response:
    """A good answer, some of its bytes replaced by others, indented as slurmrestd does it."""
    body = json.dumps({**lists, "last_update": number(1), "errors": [], "warnings": [], "meta": {}}, indent=2).encode()
    for old, new in swaps:
        assert old in body
        body = body.replace(old, new)
    return httpx.Response(200, content=body)


def jobs_of(*swaps: tuple[bytes, bytes], rows: list[Any]) -> JobsAnswer:
    slurm = FakeSlurm()
    slurm.faults = [lambda _: answered(*swaps, jobs=rows)]
    return slurm.client().jobs()


def nodes_of(*swaps: tuple[bytes, bytes], rows: list[Any]) -> NodesAnswer:
    slurm = FakeSlurm()
    slurm.faults = [lambda _: answered(*swaps, nodes=rows)]
    found = slurm.client().nodes()
    assert found is not None
    return found


@pytest.mark.parametrize("raw", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xe2\x82", b"\xf0\x9f"])
def test_bytes_that_are_no_text_in_a_jobs_name_cost_nothing(raw: bytes) -> None:
    """`sbatch -J "$(printf 'a\\377b')" --hold`, which anybody may do, made every answer unreadable."""
    found = jobs_of((b"MARK", b"a" + raw + b"b"), rows=[job(17, name="MARK", nodes="g-0"), job(18)])
    assert [each.job_id for each in found.jobs] == [17, 18]
    assert found.jobs[0].name.startswith("a\ufffd")
    assert found.jobs[0].node_names == ("g-0",)
    assert found.unreadable == ()


@pytest.mark.parametrize("said", ["x", 7, 1.5, None, {"set": True, "infinite": False, "number": 7}, ["g-1"]])
def test_what_we_work_out_is_never_taken_from_slurm(said: Any) -> None:
    """A later release may have a word that we have for something else."""
    ours = {"expected_end": said, "node_names": said, "unreadable": said}
    plain = jobs_of(rows=[job(17, nodes="g-[0-1]"), job(18, "PENDING")]).jobs
    assert jobs_of(rows=[job(17, nodes="g-[0-1]", **ours), job(18, "PENDING", **ours)]).jobs == plain
    assert nodes_of(rows=[node("g-0", unreadable=said)]).nodes == nodes_of(rows=[node("g-0")]).nodes


def test_bytes_that_are_no_text_in_a_nodes_reason_cost_nothing() -> None:
    """`scontrol update nodename=… reason=…` from a terminal that isn't UTF-8."""
    found = nodes_of((b"MARK", b"Stromausfall \xdcbung"), rows=[node("g-0", "IDLE", "DRAIN", reason="MARK"), node("g-1")])
    assert [each.name for each in found.nodes] == ["g-0", "g-1"]
    assert found.nodes[0].reason == "Stromausfall \ufffdbung"
    assert found.unreadable == ()


@pytest.mark.parametrize("list_of_nodes", ["g-[1-", "g-[3-1]", "n[1234567890123456789]", "a b", "MARK"])
def test_a_job_whose_node_list_cannot_be_read_may_hold_any_node(list_of_nodes: str) -> None:
    swaps = ((b"MARK", b"g-\xff"),) if list_of_nodes == "MARK" else ()
    found = jobs_of(*swaps, rows=[job(17, nodes=list_of_nodes), job(18, nodes="g-2")])
    assert [each.node_names for each in found.jobs] == [(), ("g-2",)]
    (bad,) = found.unreadable
    assert bad.job_state == {"RUNNING", UNREADABLE}
    assert bad.trouble.startswith("job 17 can't be read: ")


def test_a_state_with_bytes_that_are_no_text_is_no_finished_job() -> None:
    found = jobs_of((b"MARK", b"COMPLETED\xff"), rows=[job(17, "MARK", nodes="g-0")])
    (bad,) = found.unreadable
    assert UNREADABLE in bad.job_state
    assert bad.node_names == ("g-0",)


@pytest.mark.parametrize("field", ["job_id", "job_state", "nodes", "time_limit", "end_time", "user_name"])
@pytest.mark.parametrize("broken", ["missing", "of another kind"])
def test_a_job_without_what_a_drain_decides_by_stays_in_the_list(field: str, broken: str) -> None:
    row = job(17, nodes="g-0")
    del row[field]
    if broken != "missing":
        row[field] = {"wrong": "kind"} if field not in ("time_limit", "end_time") else "soon"
    found = jobs_of(rows=[row, job(18)])
    bad, good = found.jobs
    assert (found.unreadable, good.job_id) == ((bad,), 18)
    assert field in bad.unreadable
    assert bad.node_names == (() if field == "nodes" else ("g-0",))
    assert (UNREADABLE in bad.job_state) == (field in ("nodes", "job_state"))
    assert "can't be read" in bad.trouble
    assert not bad.requeue


def test_a_job_of_somebody_whom_slurmctlds_host_does_not_know_has_the_uid_for_a_name() -> None:
    rows = [job(17, user_name="", user_id=20001), job(18, user_id=2001), job(19, user_name="", user_id="none")]
    assert [each.user_name for each in jobs_of(rows=rows).jobs] == ["uid 20001", "alice", ""]


def test_a_job_that_is_no_json_at_all_may_hold_any_node() -> None:
    found = jobs_of((b'"MARK"', b"NaN"), rows=[job(17, name="MARK", nodes="g-0"), job(18)])
    bad, good = found.jobs
    assert (bad.job_id, bad.job_state, bad.node_names, good.job_id) == (0, {UNREADABLE}, (), 18)
    assert bad.trouble.startswith("a job without a readable id can't be read")


def test_if_no_job_can_be_read_none_counts_as_over() -> None:
    found = jobs_of(rows=[{"job_id": 1}, {"job_id": 2}])
    assert [each.job_state for each in found.jobs] == [{UNREADABLE}] * 2
    assert len(found.unreadable) == 2


@pytest.mark.parametrize("field", ["state", "alloc_cpus", "reason", "resume_after", "partitions"])
def test_a_node_without_what_a_drain_decides_by_is_there_and_unknown(field: str) -> None:
    lacking = {name: value for name, value in node("g-0").items() if name != field}
    for row in (lacking, {**lacking, field: "soon" if field in ("alloc_cpus", "resume_after") else {"wrong": "kind"}}):
        found = nodes_of(rows=[row, node("g-1")])
        (bad,) = found.unreadable
        assert (bad.name, bad.state, bad.known) == ("g-0", {UNREADABLE}, False)
        assert field in bad.trouble
        assert found.by_name()["g-1"].state == {"IDLE"}


@pytest.mark.parametrize("name", [None, "", 7, {}])
def test_a_node_without_a_name_could_be_any(name: object) -> None:
    """A node that isn't listed counts as gone, so a row that may be about it can't be left out."""
    with pytest.raises(SlurmrestGarbage, match="without a readable name"):
        nodes_of(rows=[{**node("g-0"), "name": name}])
    row = node("g-0")
    del row["name"]
    with pytest.raises(SlurmrestGarbage, match="without a readable name"):
        nodes_of(rows=[row])


def test_names_and_states_with_bytes_that_are_no_text_are_unknown_and_no_other_node() -> None:
    rows = [node("MARK"), node("g-1", "IDLE", "DRAIN2"), node("g-2")]
    found = nodes_of((b"MARK", b"g-\xff"), (b"DRAIN2", b"DRAIN\xff"), rows=rows)
    assert [(each.name, each.state) for each in found.nodes] == [
        ("g-\ufffd", {UNREADABLE}),
        ("g-1", {UNREADABLE}),
        ("g-2", {"IDLE"}),
    ]


def test_a_node_that_cannot_be_read_is_neither_drained_nor_undrained() -> None:
    """Somebody's drain may stand there: nothing is sent for it, and nothing is said to be done."""
    slurm = FakeSlurm().add({**node("g-0"), "alloc_cpus": "many"}, node("g-1"))
    client = slurm.client()
    assert [r.outcome for r in client.drain(["g-0", "g-1"], OURS).results] == [Outcome.UNKNOWN, Outcome.DONE]
    assert [r.outcome for r in client.undrain(["g-0", "g-1"]).results] == [Outcome.UNKNOWN, Outcome.DONE]
    assert [r.outcome for r in client.resume(["g-0"], owners=["x"]).results] == [Outcome.UNKNOWN]
    assert [body["name"] for body in slurm.asked_for("POST", "nodes/") if body] == [["g-1"], ["g-1"]]


@pytest.mark.parametrize("cut", range(1, 400, 7))
def test_a_list_that_breaks_off_is_never_taken_for_a_shorter_one(cut: int) -> None:
    content = json.dumps({"jobs": [job(1), job(2)], "last_update": number(1), "errors": []}, indent=1).encode()
    slurm = FakeSlurm()
    slurm.faults = [lambda _: httpx.Response(200, content=content[:-cut])]
    with pytest.raises(SlurmrestGarbage, match="isn't what Slurm documents"):
        slurm.client().jobs()


def test_the_token_is_hidden_in_rows_too() -> None:
    slurm = FakeSlurm()

    def echo(request: httpx.Request) -> httpx.Response:
        return answered(jobs=[job(17, name=f"x{request.headers['X-SLURM-USER-TOKEN']}x")])

    slurm.faults = [echo]
    assert slurm.client().jobs().jobs[0].name == "x[hidden]x"


def test_hosts_that_are_counted_by_the_second_are_names_like_others() -> None:
    """One odd host anywhere in the list made every look unreadable."""
    found = jobs_of(rows=[job(17, nodes="n[1234567890-1234567891]")])
    assert found.jobs[0].node_names == ("n1234567890", "n1234567891")
    assert found.unreadable == ()
