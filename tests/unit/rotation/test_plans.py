"""The step of a rotation is known from what is so, at every cut; a step is done only when it is certainly done."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from slinky_iac.commands.rotation import jwt, slurm
from slinky_iac.commands.rotation.jwt import JwtFacts
from slinky_iac.commands.rotation.model import START, Host, Plan, State, Turn
from slinky_iac.commands.rotation.slurm import SlurmFacts
from slinky_iac.keys.catalogue import Role

OLD, NEW = "SHA256:old", "SHA256:new"
CTL, DBD, METAL = Host("ctl", (Role.SLURMCTLD,)), Host("dbd", (Role.SLURMDBD,)), Host("metal-1", (Role.SLURMD,))
HOSTS = (METAL, DBD, CTL)
REST = JwtFacts(current=OLD, held=(OLD,), slurmctld={OLD: True}, slurmdbd={OLD: True}, hosts=HOSTS)
"""A JWT key at rest."""
BOTH = replace(REST, next_key=NEW, held=(OLD, NEW), slurmctld={OLD: True, NEW: False}, slurmdbd={OLD: True, NEW: False})
SWITCHED: dict[str, bool | None] = {OLD: False, NEW: True}


def due(plan: Plan) -> str | None:
    return plan.due.name if plan.due else None


@pytest.mark.parametrize(
    ("facts", "step"),
    [
        (REST, START),
        (replace(REST, held=()), START),
        (replace(REST, next_key=NEW), jwt.CARRY),
        (BOTH, jwt.HOSTS),
        (replace(BOTH, slurmctld=SWITCHED), jwt.HOSTS),
        (replace(BOTH, slurmdbd=SWITCHED), jwt.HOSTS),
        (replace(BOTH, slurmctld=SWITCHED, slurmdbd=SWITCHED), jwt.ADOPT),
        (replace(BOTH, slurmctld=SWITCHED, slurmdbd=None), jwt.ADOPT),
        (replace(BOTH, slurmctld=SWITCHED, slurmdbd=SWITCHED, current=NEW), jwt.ADOPT),
        (replace(BOTH, slurmctld=SWITCHED, slurmdbd=SWITCHED, current=NEW, next_key=None), jwt.ADOPT),
        (replace(REST, current=NEW, held=(NEW,), slurmctld={NEW: True}, slurmdbd={NEW: True}), START),
    ],
)
def test_the_jwt_keys_rotation_goes_on_from_every_cut(facts: JwtFacts, step: str) -> None:
    plan = jwt.plan_of(facts)
    assert due(plan) == step
    assert plan.under_way == (step != START)


@pytest.mark.parametrize(("ctl", "dbd"), [*product([True, False, None], [True, False, None])])
def test_the_new_jwt_key_is_adopted_only_when_both_daemons_certainly_take_it(ctl: bool | None, dbd: bool | None) -> None:
    """Adopted too early, gates and the operator would sign with a key that is refused."""
    facts = replace(BOTH, slurmctld={OLD: not ctl, NEW: ctl}, slurmdbd={OLD: not dbd, NEW: dbd})
    assert (due(jwt.plan_of(facts)) == jwt.ADOPT) == (ctl is True and dbd is True)


def test_nodes_that_no_step_reaches_are_named_with_what_happens_to_them() -> None:
    notes = slurm.plan_of(replace(CALM, unmanaged_nodes=tuple(f"metal-{n}" for n in range(2, 12)))).notes
    assert "metal-2, metal-3" in notes[0]
    assert "and 2 more" in notes[0]
    assert "external.slurmdHosts" in notes[0]
    assert not [note for note in slurm.plan_of(CALM).notes if "neither pods nor hosts" in note]


def test_unknown_unmanaged_nodes_are_not_taken_for_none() -> None:
    (note, *_) = slurm.plan_of(replace(CALM, unmanaged_nodes=None)).notes
    assert "it isn't known whether it has nodes that are neither pods nor hosts of this stack" in note


def test_a_jwt_key_is_no_business_of_slurmd_and_sackd_on_the_same_host() -> None:
    """Restarted for it, they'd refuse each srun on that host for a second."""
    hosts = (Host("login-1", (Role.LOGIN,)), Host("ctl", (Role.LOGIN, Role.SLURMD, Role.SLURMCTLD)))
    step = next(each for each in jwt.plan_of(replace(BOTH, hosts=hosts)).steps if each.name == jwt.HOSTS)
    assert step.hosts == (Host("ctl", (Role.SLURMCTLD,)),)


def test_a_daemon_that_still_takes_the_old_jwt_key_holds_the_rotation() -> None:
    facts = replace(BOTH, slurmctld={OLD: None, NEW: True}, slurmdbd=SWITCHED)
    assert due(jwt.plan_of(facts)) == jwt.HOSTS


def test_hosts_without_a_jwt_key_have_no_part() -> None:
    (step,) = [step for step in jwt.plan_of(BOTH).steps if step.turn is Turn.HOSTS]
    assert [host.name for host in step.hosts] == ["dbd", "ctl"]


W = "wanted"
CALM = SlurmFacts(OLD, None, None, W, W, OLD, {"gpu-0": W, "gpu-1": W}, dict.fromkeys(("metal-1", "dbd", "ctl"), W), HOSTS)
"""slurm.key at rest, on hosts that can be asked."""
UNASKED: dict[str, str | None] = {}


@pytest.mark.parametrize(
    ("facts", "step"),
    [
        (CALM, START),
        (replace(CALM, held=None, key_held=None, pods={}, confirmed=UNASKED), START),
        (replace(CALM, confirmed=UNASKED), START),
        (replace(CALM, next_key=NEW, held="older"), slurm.LEARN_PODS),
        (replace(CALM, next_key=NEW, pods={"gpu-0": W, "gpu-1": "older"}), slurm.LEARN_PODS),
        (replace(CALM, next_key=NEW, pods={"gpu-0": W, "gpu-1": None}), slurm.LEARN_PODS),
        (replace(CALM, next_key=NEW, confirmed=UNASKED), slurm.LEARN_HOSTS),
        (replace(CALM, next_key=NEW, confirmed={"metal-1": W, "dbd": W}), slurm.LEARN_HOSTS),
        (replace(CALM, next_key=NEW), slurm.CHANGE_PODS),
        (replace(CALM, next_key=NEW, previous=OLD), slurm.CHANGE_PODS),
        (replace(CALM, current=NEW, next_key=NEW, previous=OLD), slurm.CHANGE_PODS),
        (replace(CALM, current=NEW, previous=OLD, held="older"), slurm.CHANGE_PODS),
        (replace(CALM, current=NEW, previous=OLD), slurm.CHANGE_PODS),
        (replace(CALM, current=NEW, previous=OLD, key_held=NEW, confirmed=UNASKED), slurm.CHANGE_HOSTS),
        (replace(CALM, current=NEW, previous=OLD, key_held=NEW), slurm.FORGET_PODS),
        (replace(CALM, current=NEW, key_held=NEW, held="older"), slurm.FORGET_PODS),
        (replace(CALM, current=NEW, key_held=NEW, confirmed={"metal-1": "older"}), slurm.FORGET_HOSTS),
        # The only host was asked, and its script cut short between the file and the daemons: they know the old key yet.
        (replace(CALM, current=NEW, key_held=NEW, confirmed={"ctl": None}, hosts=(CTL,)), slurm.FORGET_HOSTS),
    ],
)
def test_the_rotation_of_slurm_key_goes_on_from_every_cut(facts: SlurmFacts, step: str) -> None:
    plan = slurm.plan_of(facts)
    assert due(plan) == step
    assert plan.under_way == (step != START)


@pytest.mark.parametrize("missing", ["gpu-0", "gpu-1", "metal-1", "dbd", "ctl"])
@pytest.mark.parametrize("has", ["older", None])
def test_nobody_signs_with_a_key_that_somebody_may_not_know(missing: str, has: str | None) -> None:
    """One left behind is cut off from slurmctld, and its jobs are lost at SlurmdTimeout."""
    pods = {pod: has if pod == missing else file for pod, file in CALM.pods.items()}
    confirmed = {host: has if host == missing else file for host, file in CALM.confirmed.items()}
    facts = replace(CALM, next_key=NEW, pods=pods, confirmed=confirmed)
    assert due(slurm.plan_of(facts)) in {slurm.LEARN_PODS, slurm.LEARN_HOSTS}
    later = replace(facts, current=NEW, next_key=None, previous=OLD, key_held=NEW)
    assert due(slurm.plan_of(later)) in {slurm.CHANGE_PODS, slurm.CHANGE_HOSTS}, "nor is the old key forgotten before"


@pytest.mark.parametrize("plan", [jwt.plan_of(BOTH), slurm.plan_of(replace(CALM, next_key=NEW, confirmed=UNASKED))])
def test_one_step_is_due_all_before_it_are_done_and_none_after(plan: Plan) -> None:
    states = [step.state for step in plan.steps]
    at = states.index(State.NOW)
    assert states == [State.DONE] * at + [State.NOW] + [State.LATER] * (len(states) - at - 1)
