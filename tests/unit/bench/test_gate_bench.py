"""Moments read out of watches and of slurmctld's log, and what the comparison makes of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests import figures
from tests.bench import gate
from tests.bench.watching import Event, Times, conditions, logged, times

T0 = datetime(2026, 11, 21, 5, 0, 0, tzinfo=UTC).timestamp()
LOG = """\
[2026-11-21T04:59:00.000] update_node: node gpu-2 state set to DRAINED
[2026-11-21T05:00:01.500] update_node: node gpu-2 reason set to: slinky-iac:gated/gpu: scale-in 3->2
[2026-11-21T05:00:01.500] update_node: node gpu-2 state set to DRAINING
[2026-11-21T05:00:40.250] _job_complete: JobId=7 WEXITSTATUS 0
[2026-11-21T05:00:40.250] _job_complete: JobId=7 done
a line that isn't a message
"""


def pod(at: float, *states: str, node: str = "gpu-2", kind: str = "MODIFIED", **metadata: Any) -> Event:
    listed = [{"type": f"SlurmNodeState{state}", "status": "True", "message": ""} for state in states]
    listed += [{"type": "Ready", "status": "True"}, {"type": "SlurmNodeStateDown", "status": "False"}]
    return Event(T0 + at, kind, {"metadata": metadata, "spec": {"hostname": node}, "status": {"conditions": listed}})


PODS = (
    pod(-9, "Idle", "Drain"),
    pod(1, "Mixed"),
    pod(2, "Mixed", "Drain", node="gpu-1"),
    pod(20, "Mixed", "Drain"),
    pod(55, "Idle", "Drain"),
    pod(56, "Idle", "Drain", deletionTimestamp="2026-11-21T05:00:56Z"),
    pod(58, "Idle", "Drain", kind="DELETED", deletionTimestamp="2026-11-21T05:00:56Z"),
)
NODESETS = tuple(Event(T0 + at, "MODIFIED", {"spec": {"replicas": n}}) for at, n in ((-5, 2), (1, 3), (42, 2)))


def seen(**changes: Any) -> Times:
    given: dict[str, Any] = {
        "asked": T0, "node": "gpu-2", "replicas": 2, "job": 7, "pods": PODS, "nodesets": NODESETS, "log": LOG,
    }  # fmt: skip
    return times(**given | changes)


def test_moments_are_those_of_this_node_since_it_was_asked_for() -> None:
    found = seen()
    assert [None if at is None else at - T0 for at in vars(found).values()] == [0, 1.5, 20, 40.25, 42, 55, 56, 58]


def test_what_did_not_happen_has_no_time() -> None:
    found = seen(job=8, node="gpu-0", replicas=1)
    assert [name for name, at in vars(found).items() if at is not None] == ["asked"]


def test_an_operator_that_deletes_before_it_tells_has_seen_it_by_then() -> None:
    assert seen(pods=(*PODS[:4], *PODS[5:])).seen_idle == T0 + 55 + 1


def test_only_true_conditions_of_the_operator_count() -> None:
    assert set(conditions(PODS[3].what)) == {"Mixed", "Drain"}


def test_slurmctlds_stamps_are_utc() -> None:
    assert logged(LOG, r"JobId=7 done", 0.0) == T0 + 40.25
    assert logged(LOG, r"JobId=7 done", T0 + 41) is None


def runs(way: str, end_to_patch: float, end_to_gone: float) -> list[gate.Run]:
    moments = Times(0.0, 1.0, 20.0, 50.0, 50.0 + end_to_patch, 60.0, 61.0, 50.0 + end_to_gone)
    return [gate.Run(scene, way, moments) for scene in gate.SCENES]


@pytest.mark.parametrize(
    ("patch", "gone", "verdicts"), [(2.5, 19.0, ["reached", "reached"]), (3.5, 23.0, ["MISSED", "MISSED"])]
)
def test_the_gate_is_judged_by_its_own_share_and_by_the_whole(patch: float, gone: float, verdicts: list[str]) -> None:
    found = [*runs("gate", patch, gone), *runs("operator alone", -49.0, 20.0)]
    assert [aim.line().rsplit(" ", 1)[1] for aim in gate.aims(found)] == verdicts
    assert "busy, medians of 1 rounds" in gate.summary(found)


def test_kept_rounds_are_read_back_as_they_were() -> None:
    for run in runs("gate", 1.0, 2.0):
        assert gate.parsed(json.loads(json.dumps(gate.plain(run)))) == run


def test_the_ledger_has_both_ways_and_a_ratio_where_both_took_time() -> None:
    found = gate.rows([*runs("gate", 2.0, 19.0), *runs("operator alone", -49.0, 20.0)], "busy")
    assert found["job's end to pod gone"]["gate"].ratio == pytest.approx(19 / 20)
    assert found["job's end to NodeSet patched"] == {"gate": figures.Measured(2.0, "s")}
