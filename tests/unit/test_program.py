"""The harness of program tests: `tests.program`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pulumi

from tests.program import run


def test_a_program_runs_where_python_makes_no_event_loop_on_demand() -> None:
    """As in the main thread from 3.14 on: a thread that isn't the main one gets none on any Python."""
    with ThreadPoolExecutor(1) as pool:
        recording = pool.submit(run, lambda: pulumi.ComponentResource("tests:index:Nothing", "one")).result()
    assert recording.one("tests:index:Nothing").name == "one"
