"""Nothing that several gates, a person, KEDA, users and slurmctld do between any two requests loses a job: see
:mod:`.whole_site`."""

from __future__ import annotations

import os

import pytest

from tests.unit.drain.whole_site import course

COURSES = int(os.environ.get("SLINKY_MODEL_WALKS", "0"))
"""Hundreds of courses; 0: those that failed once, and the first 8."""
FAILED = (344, 441, 1640, 2001)
"""Courses that once lost a job, or left something."""


@pytest.mark.parametrize("hundred", range(COURSES or 1))
def test_a_hundred_courses_of_a_whole_site(hundred: int) -> None:
    first = hundred * 100
    for seed in [*(FAILED if hundred == 0 else ()), *range(first, first + (100 if COURSES else 8))]:
        try:
            course(seed)
        except BaseException as error:
            error.add_note(f"seed {seed}: reproduce it with course({seed})")
            raise


def test_the_same_seed_is_the_same_course_of_a_site() -> None:
    """But for the order of what one actor asks several times at once."""
    first, second = ((each.ended, each.w.turn_no, sorted(map(repr, each.slurm.asked))) for each in (course(4), course(4)))
    assert first == second
