"""A rollout under every order of events that hypothesis or dice find: no job is lost, and it comes to its end."""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import settings

from tests.unit.drain.rollout_machine import Rollout
from tests.unit.drain.scale_in_machine import VERSIONS
from tests.unit.examples import examples

WALKS = int(os.environ.get("SLINKY_MODEL_WALKS", "0"))
"""Hundreds of each kind of walk; 0: the first 20. A fault in a rule of the rollout shows within the first 20
(docs/evidence/faults.md); the fuzz tier goes further."""

TestRollout = Rollout.TestCase
TestRollout.settings = settings(max_examples=examples(40), stateful_step_count=60, deadline=None)


def walk(seed: int) -> None:
    """One random walk: a busy cluster, some faults, people at work."""
    dice = random.Random(seed)
    machine = Rollout()
    policy = dice.choice(["keep", "keep", "undo", "requeue"])
    machine.start(dice.choice(VERSIONS), dice.randint(1, 5), policy, dice.randint(1, 3))
    faulty, strange = dice.choice([0.0, 0.1, 0.3]), dice.choice([0.0, 0.1, 0.3])
    for _ in range(80):
        if machine.goal is None and dice.random() < 0.5:
            machine.up(dice.random() < 0.5)
        for _ in range(dice.randint(0, 3)):
            machine.job_starts(dice.randrange(10**6), dice.randrange(10**6), dice.choice([None, 60, 600]))
        for _ in range(dice.randint(0, 2)):
            machine.job(dice.randrange(10**6), dice.choice(["ends", "ends", "completes", "is suspended", "is suspended"]))
        if dice.random() < strange:
            machine.somebody(
                dice.randrange(10**6),
                dice.choice(["drains", "undrains", "edits", "cordons", "deletes"]),
            )
        if dice.random() < faulty / 3:
            machine.registers(dice.randrange(10**6))
        if dice.random() < faulty:
            machine.fault(dice.choice(["kill", "undo", "client lost", "client back", "operator", "slurmrestd", "slurmctld"]))
        elif dice.random() < 0.5:
            machine.w.operator_up = machine.w.rest_up = True
        machine.time_passes(dice.choice([2, 30, 30, 61, 130, 400]))
        for _ in range(dice.randint(0, 3)):
            machine.pod(dice.randrange(10**6), dice.choice(["starts ready", "starts ready", "kubelet reaps", "flips"]))
            machine.no_job_is_lost()
        for _ in range(dice.randint(0, 5)):
            machine.operator_syncs(dice.random() < 0.8)
            if machine.goal is not None:
                machine.step(0.5 if dice.random() < faulty / 3 else 1.0)
            machine.no_job_is_lost()
            machine.no_more_nodes_are_held_than_the_strategy_allows()
    machine.teardown()


@pytest.mark.parametrize("hundred", range(WALKS or 1))
def test_no_job_is_lost_on_a_hundred_rollouts(hundred: int) -> None:
    for seed in range(hundred * 100, hundred * 100 + (100 if WALKS else 20)):
        try:
            walk(seed)
        except BaseException as error:
            error.add_note(f"seed {seed}: reproduce it with walk({seed})")
            raise


def scaled(seed: int) -> None:
    """The same with another number in most runs, users, and kills: a rollout before, beside and after a scale-in."""
    dice = random.Random(seed)
    machine = Rollout()
    machine.start(dice.choice(VERSIONS), dice.randint(1, 5), "keep", 3)
    for _ in range(80):
        if machine.goal is None and dice.random() < 0.5:
            machine.up(dice.random() < 0.5)
            machine.new_up(dice.choice([None, dice.randint(0, 5)]))
        for _ in range(dice.randint(0, 2)):
            machine.job_starts(dice.randrange(10**6), dice.randrange(10**6), dice.choice([None, 60, 600]))
        for _ in range(dice.randint(0, 3)):
            machine.job(dice.randrange(10**6), dice.choice(["ends", "ends", "completes", "is suspended"]))
        machine.time_passes(dice.choice([2, 30, 30, 61]))
        machine.w.reap()
        for _ in range(dice.randint(0, 2)):
            machine.pod(dice.randrange(10**6), "starts ready")
        for _ in range(dice.randint(0, 6)):
            machine.operator_syncs(dice.random() < 0.8)
            if machine.goal is not None:
                machine.step(0.5 if dice.random() < 0.03 else 1.0)
            machine.no_job_is_lost()
        if dice.random() < 0.05:
            machine.fault("kill")
    machine.teardown()


@pytest.mark.parametrize("hundred", range(WALKS or 1))
def test_no_job_is_lost_where_numbers_change_in_the_same_updates(hundred: int) -> None:
    for seed in range(hundred * 100, hundred * 100 + (100 if WALKS else 20)):
        try:
            scaled(seed)
        except BaseException as error:
            error.add_note(f"seed {seed}: reproduce it with scaled({seed})")
            raise
