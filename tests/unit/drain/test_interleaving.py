"""No job is lost and nothing of ours is left, whoever comes between which two requests: see :mod:`.interleaving`."""

from __future__ import annotations

import os

import pytest

from tests.unit.drain.interleaving import course

COURSES = int(os.environ.get("SLINKY_MODEL_WALKS", "0"))
"""Hundreds of courses; 0: the first 12."""
FAILED: tuple[int, ...] = ()
"""Courses that once lost a job, or left something."""


@pytest.mark.parametrize("hundred", range(COURSES or 1))
def test_a_hundred_courses(hundred: int) -> None:
    for seed in [*FAILED, *range(hundred * 100, hundred * 100 + (100 if COURSES else 12))]:
        try:
            course(seed)
        except BaseException as error:
            error.add_note(f"seed {seed}: reproduce it with course({seed})")
            raise


def test_the_same_seed_is_the_same_course() -> None:
    first, second = course(3), course(3)
    assert (first.ended, first.w.now, first.slurm.asked) == (second.ended, second.w.now, second.slurm.asked)
