"""As :mod:`.test_fields`, for the gate of login pods and clients, for the record and the policy."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from slinky_iac.cluster.partition_closing import Held
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.losses import Change, who_loses
from slinky_iac.drain.protocol import DeleteOwned, Done, Patience, Requeue, Step, Stop, Wait
from slinky_iac.drain.sessions import SessionLook, SessionSettings, next_step
from slinky_iac.drain.settings import DrainPolicy, Limits, parse_policy, plain_policy
from tests.unit.drain.conf_world import written
from tests.unit.drain.made import NOW, job
from tests.unit.drain.test_sessions import PROPS, settings

SRUN = job(7, 0, batch_flag=False, allocating_node="login-0", requeue=True)
ENDING = Change.of_hosts(["login-0"])
LOST = who_loses(ENDING, ClusterView.of((), [SRUN]))
FREE = SessionLook(NOW, written("login"), Change(), ())
BUSY = replace(FREE, change=ENDING, lost=LOST)
LATE = replace(BUSY, now=NOW + 61)
LOOKS: dict[str, tuple[SessionLook, SessionLook, type[Step], type[Step]]] = {
    "now": (BUSY, LATE, Wait, Stop),
    "change": (LATE, replace(LATE, change=Change()), Stop, Requeue),
    "meta": (FREE, replace(FREE, meta=None), DeleteOwned, Done),
    "lost": (FREE, BUSY, DeleteOwned, Wait),
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_decision_rests_on_each_field_of_a_look_at_sessions(name: str) -> None:
    one, other, was, becomes = LOOKS[name]
    goal = Patience(policy=DrainPolicy(on_deadline="requeue"), deadline_at=NOW + 60)
    assert isinstance(next_step(one, goal, settings()), was)
    assert isinstance(next_step(other, goal, settings()), becomes)


OF_SESSIONS: dict[str, tuple[object, set[str]]] = {
    "stack": ("dev", {"owner"}),
    "host": ("clients.hub", {"owner", "name"}),
    "policy": (plain_policy(DrainPolicy(deadline_s=77)), {"policy"}),
    "urn": ("urn:x", {"urn"}),
    "cluster": ("atlas", {"cluster"}),
    "kubernetes": ("uid-1", {"kubernetes"}),
    "namespace": ("other", {"reach"}),
    "podNamespace": ("hub", {"namespace"}),
    "podSelector": ("app=hub", {"selector"}),
    "kind": ("Deployment", {"kind"}),
    "resource": ("other", {"resource"}),
    "interrupts": (True, {"interrupts"}),
}


def differing(one: Any, other: Any) -> set[str]:
    return {each.name for each in fields(one) if getattr(one, each.name) != getattr(other, each.name)}


@pytest.mark.parametrize("prop", OF_SESSIONS)
def test_each_prop_of_the_sessions_gate_is_one_setting_and_no_other(prop: str) -> None:
    value, changed = OF_SESSIONS[prop]
    plain = SessionSettings.from_props(PROPS)
    assert differing(plain, SessionSettings.from_props({**PROPS, prop: value})) == changed


POLICY: dict[str, object] = {
    "deadline_s": 77,
    "on_deadline": "cancel",
    "grace_s": 7,
    "signal": "SIGINT",
    "max_at_once": 3,
    "register_deadline_s": 78,
    "start_at_once": 5,
    "poll_s": 9,
    "bound_s": 79,
    "hold_factor": 3.5,
    "min_hold_s": 700,
    "show_users": False,
    "limits": Limits(max_share=0.5, max_jobs=3, max_job_age_s=4),
}
HELD: dict[str, object] = {
    "partitions": {"batch": "UP"},
    "hosts": {"metal-1": "prod"},
    "began": 7,
    "closed": {"batch": "INACTIVE"},
}


@pytest.mark.parametrize("name", POLICY)
def test_each_field_of_a_policy_comes_back_from_a_state(name: str) -> None:
    changed = replace(DrainPolicy(), **{name: POLICY[name]})  # type: ignore[arg-type]
    assert differing(DrainPolicy(), parse_policy(plain_policy(changed))) == {name}


def test_each_field_of_the_record_comes_back_from_it() -> None:
    full = Held(**HELD)  # type: ignore[arg-type]
    assert Held.read(full.text()) == full
    for name in HELD:
        assert Held.read(replace(full, **{name: getattr(Held(), name)}).text()) != full


@pytest.mark.parametrize(
    ("kind", "listed"),
    [
        (SessionLook, {*LOOKS}),
        (SessionSettings, set().union(*(changed for _, changed in OF_SESSIONS.values()))),
        (DrainPolicy, {*POLICY}),
        (Held, {*HELD}),
    ],
)
def test_every_field_is_in_these_lists(kind: type, listed: set[str]) -> None:
    assert {each.name for each in fields(kind)} == listed
