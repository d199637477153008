"""No job dies by a scale-in, and nothing of ours is left behind, whatever comes together: see :mod:`.scale_in_machine`."""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import HealthCheck, settings

from slinky_iac.drain.daemons import SetSelection
from slinky_iac.drain.protocol import SetReplicas
from tests.unit.drain import daemon_machine
from tests.unit.drain.daemon_machine import Daemons
from tests.unit.drain.scale_in_machine import STRANGE, VERSIONS, ScaleIn
from tests.unit.drain.wider_machine import Wider

WALKS = int(os.environ.get("SLINKY_MODEL_WALKS", "0"))
"""Hundreds of random walks; 0: the first 30. Most faults show within the first ten, the fuzz tier goes further."""


def walk(seed: int, kind: type[Wider] = Wider, versions: tuple[str, ...] = VERSIONS) -> None:
    """A long random walk through the machine, weighted towards the ordinary course, where the narrow windows lie."""
    dice = random.Random(seed)
    machine = kind()
    wide = seed % 2 == 1
    machine.asks_twice = seed % 10 == 0  # it takes a third of a walk's time
    machine.start(
        version=dice.choice(versions),
        pods=dice.randint(1, 6),
        policy=dice.choice(["keep", "keep", "undo", "requeue", "cancel"]),
        at_once=dice.choice([None, None, 1, 2]),
        on_delete=seed % 3 > 0,
    )
    busy, faulty, strange = dice.choice([0.1, 0.3]), dice.choice([0, 0.03, 0.15]), dice.choice([0, 0.05, 0.2])
    for _ in range(dice.randint(0, 5)):
        _users_turn(machine, dice)
    for _ in range(80):
        if machine.goal is None and dice.random() < 0.3:
            machine.new_up(dice.choice([0, 0, 1, 1, 2, 3, 4, 5, 6]))
        if machine.goal is None and dice.random() < 0.04:
            machine.removal()
        if dice.random() < busy:
            _users_turn(machine, dice)
        if dice.random() < strange:
            machine.somebody(dice.randrange(10**6), dice.choice(STRANGE))
        if dice.random() < strange / 3:
            machine.registers(dice.randrange(10**6))
        if dice.random() < faulty:
            machine.fault(
                dice.choice(
                    ["kill", "kill", "kill", "undo", "client lost", "client back", "operator", "slurmrestd", "slurmctld"]
                )
            )
        if wide and dice.random() < 0.2:
            _from_further_away(machine, dice)
        if dice.random() < 0.15:
            machine.pod(dice.randrange(10**6), dice.choice(["starts ready", "starts unready", "flips", "kubelet reaps"]))
        if dice.random() < 0.3:
            machine.time_passes(dice.choice([2, 30, 30, 61, 130, 400, 1000, 4000]))
        _machines_turn(machine, dice, faulty)
        machine.no_job_is_lost()
    machine.teardown()


def _users_turn(machine: ScaleIn, dice: random.Random) -> None:
    if dice.random() < 0.6:
        machine.job_starts(dice.randrange(10**6), dice.randrange(10**6), dice.random() < 0.3, dice.choice([None, 60, 600]))
    else:
        machine.job(dice.randrange(10**6), dice.choice(["ends", "ends", "completes", "is suspended", "is suspended"]))


def _from_further_away(machine: Wider, dice: random.Random) -> None:
    match dice.choice(["foreign comes", "foreign comes", "foreign goes", "lost", "back", "back", "second", "second"]):
        case "foreign comes":
            machine.foreign_comes(dice.randrange(10**6))
        case "foreign goes":
            machine.foreign_goes(dice.randrange(10**6))
        case "lost":
            machine.state_is_lost()
        case "back":
            machine.state_is_back()
        case _:
            if machine.goal is not None:
                machine.second_run(dice.randint(0, 6))


def _change_of_mind(machine: ScaleIn, dice: random.Random) -> None:
    """Right after the write: cancelled, or raised again, while users press on and the operator looks with old eyes."""
    if dice.random() < 0.5:
        machine.undo()
    else:
        machine.new_up(6)
        for _ in range(3):
            if machine.goal is not None:
                machine.step(1.0)
    for _ in range(3):
        machine.job_starts(dice.randrange(10**6), dice.randrange(10**6), True, None)
    machine.operator_syncs(dice.random() < 0.5, 0)


def _in_the_window(machine: ScaleIn, dice: random.Random) -> None:
    """Between the write and the pods' end (R1 to R3): drains are lifted, readiness changes, pods register, jobs press on."""
    for _ in range(dice.randint(1, 4)):
        match dice.choice(["undrains", "flips", "flips", "starts", "client lost", "job", "operator"]):
            case "undrains":
                machine.somebody(dice.randrange(10**6), "undrains")
            case "client lost":
                machine.fault("client lost")
            case "job":
                machine.job(dice.randrange(10**6), "is suspended or resumed")
            case "operator":
                machine.operator_syncs(dice.random() < 0.5, 0)
            case what:
                machine.pod(dice.randrange(10**6), "starts ready" if what == "starts" else what)
        if dice.random() < 0.5:
            machine.job_starts(dice.randrange(10**6), dice.randrange(10**6), True, None)
    machine.operator_syncs(dice.random() < 0.5, 0)


def _machines_turn(machine: ScaleIn, dice: random.Random, faulty: float) -> None:
    if dice.random() < 0.05:
        machine.fault("slurmctld")
    for _ in range(dice.randint(0, 4)):
        if dice.random() < 0.5:
            machine.operator_syncs(dice.random() < 0.8, dice.randint(0, 1))
        elif machine.goal is not None:
            machine.step(dice.choice([0.9, 0.5, 0.0]) if dice.random() < faulty else 1.0)
            if isinstance(machine.last, SetReplicas | SetSelection) and dice.random() < 0.2:
                _change_of_mind(machine, dice)
            elif isinstance(machine.last, SetReplicas | SetSelection) and dice.random() < 0.3:
                _in_the_window(machine, dice)
        machine.no_job_is_lost()
    if faulty and dice.random() < 0.3:
        machine.faults_end()


TestScaleIn = Wider.TestCase
TestScaleIn.settings = settings(
    max_examples=int(os.environ.get("SLINKY_MODEL_EXAMPLES", "15")),
    stateful_step_count=70,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.mark.parametrize("hundred", range(WALKS or 1))
@pytest.mark.parametrize(("kind", "versions"), [(Wider, VERSIONS), (Daemons, daemon_machine.VERSIONS)])
def test_no_job_is_lost_on_a_hundred_random_walks(kind, versions, hundred):
    """By a number of pods that is lowered, and by a selection of Kubernetes nodes that shrinks."""
    for seed in range(hundred * 100, hundred * 100 + (100 if WALKS else 30)):
        try:
            walk(seed, kind, versions)
        except BaseException as error:
            error.add_note(f"seed {seed}: reproduce it with walk({seed}, {kind.__name__})")
            raise
