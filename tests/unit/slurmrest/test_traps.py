"""The ten traps of slurmrestd (facts/slurmrestd.md#ten-traps): each would make a drain wrong, and each has a test."""

from __future__ import annotations

import httpx
import pytest

from slinky_iac import names
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.free import Busy, Free, Unknown, Verdict, verdict
from slinky_iac.errors import (
    SlurmrestAuthError,
    SlurmrestGarbage,
    SlurmrestRefused,
    SlurmrestUnreachable,
)
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.drains import Outcome
from tests.made.rows import NOW, job, node
from tests.unit.slurmrest.fake import KEY, OTHER_KEY, FakeSlurm, answer, error

OURS = names.drain_reason("dev", "gpu", "scale-in 3->1")


def verdicts(client: SlurmrestClient, *asked: str) -> dict[str, Verdict]:
    nodes = client.nodes()
    assert nodes is not None
    seen = ClusterView.of(nodes.nodes, client.jobs().jobs)
    return {name: verdict(name, seen, NOW) for name in asked}


def test_trap_1_http_200_is_not_success() -> None:
    slurm = FakeSlurm().add(node("g-0"), job(17, user_name="protected"))
    slurm.faults = [lambda _: answer(errors=[error(0, "No error")])]
    with pytest.raises(SlurmrestGarbage, match="missing required field `nodes`"):
        slurm.client().nodes()
    slurm.faults = [lambda _: answer(errors=[error(2002, "Access denied")], nodes=[], last_update={"number": 1})]
    with pytest.raises(SlurmrestRefused) as refused:
        slurm.client().nodes(allow_none=True)
    assert refused.value.error_number == 2002
    (word,) = slurm.client().cancel_jobs([17])
    assert (word.done, word.error_number) == (False, 2002)
    assert slurm.jobs[17]["job_state"] == ["RUNNING"]


def test_trap_2_a_failed_list_is_not_an_empty_list() -> None:
    slurm = FakeSlurm().add(node("g-0", "IDLE", "DRAIN", reason=OURS), job(17, nodes="g-0"))
    down = [error(1800, "Unable to contact slurm controller")]
    slurm.faults = [lambda _: answer(502, down, jobs=[])] * 3
    with pytest.raises(SlurmrestUnreachable, match="can't reach slurmctld"):
        slurm.client().jobs()
    slurm.faults = [lambda _: answer(502, down, nodes=[], last_update={"number": 0})] * 3
    with pytest.raises(SlurmrestUnreachable):
        slurm.client().nodes(allow_none=True)
    slurm.nodes = {}
    with pytest.raises(SlurmrestGarbage, match="no node at all"):
        slurm.client().nodes()


def test_trap_3_only_the_list_is_asked_since_the_single_get_is_stale() -> None:
    slurm = FakeSlurm().add(node("g-0", "IDLE", "DRAIN", reason=OURS, alloc_cpus=1))
    client = slurm.client()
    assert isinstance(verdicts(client, "g-0")["g-0"], Busy)
    client.drain(["g-0"], OURS)
    client.undrain(["g-0"])
    assert slurm.asked_for("GET", "node/g-0") == []
    assert not any("/node/" in path for _, path, _ in slurm.asked)


def test_trap_4_the_node_of_a_suspended_job_is_never_free() -> None:
    slurm = FakeSlurm().add(
        node("g-0", "IDLE", "DRAIN", reason=OURS), job(17, "SUSPENDED", nodes="g-[1,0]"), node("g-1", "IDLE", "DRAIN")
    )
    found = verdicts(slurm.client(), "g-0", "g-1")
    for name in ("g-0", "g-1"):
        judged = found[name]
        assert isinstance(judged, Busy)
        assert [j.job_id for j in judged.jobs] == [17]
    slurm.jobs[17]["job_state"] = ["CANCELLED"]
    assert isinstance(verdicts(slurm.client(), "g-0")["g-0"], Free)


def test_trap_5_a_failed_bulk_update_is_told_per_node() -> None:
    slurm = FakeSlurm().add(node("g-0"), node("g-1"), node("g-2"))
    client = slurm.client()
    seen = client.nodes()
    del slurm.nodes["g-1"]  # deleted between the look and the POST
    result = client.drain(["g-0", "g-1", "g-2"], OURS, seen=seen)
    assert result.names(Outcome.DONE) == ("g-0", "g-2")
    assert result.names(Outcome.ABSENT) == ("g-1",)
    assert not result.complete
    assert [type(e) for e in result.errors] == [SlurmrestRefused]
    assert "DRAIN" in slurm.nodes["g-0"]["state"]


def test_trap_6_a_timed_out_update_is_unknown_until_seen() -> None:
    def done_but_silent(request: httpx.Request) -> httpx.Response:
        slurm.change(slurm.nodes["g-0"], {"state": ["DRAIN"], "reason": OURS})
        raise httpx.ReadTimeout("timed out", request=request)

    slurm = FakeSlurm().add(node("g-0"), node("g-1"))
    client = slurm.client()
    seen = client.nodes()
    slurm.faults = [done_but_silent]
    result = client.drain(["g-0", "g-1"], OURS, seen=seen)
    assert result.names(Outcome.DONE) == ("g-0",)
    assert result.names(Outcome.UNKNOWN) == ("g-1",)
    assert "may still be" in result.results[1].why
    assert len(slurm.asked_for("POST", "nodes/")) == 1
    slurm.faults = [lambda _: answer(504, [error(5004, "Zero Bytes were transmitted or received")])]
    assert client.drain(["g-1"], OURS, seen=seen).names(Outcome.UNKNOWN) == ("g-1",)
    assert len(slurm.asked_for("POST", "nodes/")) == 2


def test_a_slurmctld_that_ended_while_it_was_asked_is_asked_again_and_a_write_is_unknown() -> None:
    """slurm-operator 1.2 restarts slurmctld over a changed slurm.conf; slurmrestd then answers HTTP 500 with 104 (seen)."""
    reset = answer(500, [error(104, "Connection reset by peer")])
    slurm = FakeSlurm().add(node("g-0"))
    client = slurm.client()
    seen = client.nodes()
    slurm.faults = [lambda _: reset]
    assert client.nodes().nodes == seen.nodes
    assert len(slurm.asked_for("GET", "nodes/")) == 3
    slurm.faults = [lambda _: reset]
    assert client.drain(["g-0"], OURS, seen=seen).names(Outcome.UNKNOWN) == ("g-0",)
    assert len(slurm.asked_for("POST", "nodes/")) == 1


def test_trap_7_a_drain_of_somebody_else_is_never_overwritten_or_lifted() -> None:
    theirs = node("g-0", "IDLE", "DRAIN", reason="bad DIMM", user="root")
    operators = node("g-1", "MIXED", "DRAIN", reason="slurm-operator: Pod (a/b) was cordoned", user="slurm")
    unsaid = node("g-2", "IDLE", "DRAIN")
    sibling = node("g-3", "IDLE", "DRAIN", reason=names.drain_reason("dev", "gpu-2", "scale-in"), user="slurm")
    slurm = FakeSlurm().add(theirs, operators, unsaid, sibling, node("g-4"))
    before = {name: dict(slurm.nodes[name]) for name in ("g-0", "g-1", "g-2", "g-3")}
    client = slurm.client()
    result = client.drain(["g-0", "g-1", "g-2", "g-3", "g-4"], OURS, 600)
    assert result.names(Outcome.FOREIGN) == ("g-0", "g-1", "g-2", "g-3")
    assert result.names(Outcome.DONE) == ("g-4",)
    undone = client.undrain(list(slurm.nodes), owners=[names.drain_owner("dev", "gpu")])
    assert undone.names(Outcome.FOREIGN) == ("g-0", "g-1", "g-2", "g-3")
    assert undone.names(Outcome.DONE) == ("g-4",)
    client.set_reason(["g-0", "g-2"], "ours now")
    assert {name: slurm.nodes[name] for name in before} == before
    assert slurm.nodes["g-4"]["state"] == ["IDLE"]


def test_trap_8_a_bad_token_is_511_and_the_message_names_both_causes() -> None:
    slurm = FakeSlurm(keys=(OTHER_KEY,)).add(node("g-0"))
    client = slurm.client()
    assert not client.ping().pings[0].responding
    with pytest.raises(SlurmrestAuthError, match=r"jwt_hs256\.key.*must not be newer than slurmctld") as refused:
        client.diag()
    assert "clock" in str(refused.value)
    slurm.faults = [lambda _: httpx.Response(401, text="Authentication failure")]
    with pytest.raises(SlurmrestAuthError, match="X-SLURM-USER-TOKEN"):
        slurm.client().diag()
    assert FakeSlurm(keys=(OTHER_KEY,)).client(KEY, OTHER_KEY).diag().meta.slurm.release == "26.05.5"


def test_trap_9_rollback_is_undrain_and_does_nothing_where_nothing_is_drained() -> None:
    slurm = FakeSlurm().add(node("g-0", "IDLE", "DRAIN", reason=OURS), node("g-1"))
    result = slurm.client().undrain(["g-0", "g-1"])
    assert result.complete
    assert slurm.asked_for("POST", "nodes/") == [{"name": ["g-0"], "state": ["UNDRAIN"]}]


@pytest.mark.parametrize("reason", ["", "x" * 256, "slinky-iac:dev/gpu: é", "slinky-iac:dev/gpu: a\nb", "slurm-operator: x"])
def test_trap_10_a_reason_that_slurm_mishandles_is_never_sent(reason: str) -> None:
    slurm = FakeSlurm().add(node("g-0"))
    client = slurm.client()
    for call in (client.drain, client.set_reason):
        with pytest.raises(ValueError, match="reason"):
            call(["g-0"], reason)
    assert slurm.asked == []


def test_an_absent_node_with_a_job_is_busy_and_a_job_without_nodes_makes_all_unknown() -> None:
    slurm = FakeSlurm().add(node("g-0", "IDLE", "DRAIN", reason=OURS), job(17, nodes="g-9"))
    found = verdicts(slurm.client(), "g-9", "g-8")
    assert isinstance(found["g-9"], Busy)
    assert isinstance(found["g-8"], Free), "no job can be placed on what slurmctld doesn't know"
    slurm.add(job(18, "RUNNING", nodes=""))
    assert isinstance(verdicts(slurm.client(), "g-0")["g-0"], Unknown)
