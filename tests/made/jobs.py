"""Slurm's jobs, and their runs as slurmdbd has them."""

from __future__ import annotations

from typing import Any

from slinky_iac.slurmrest.daemons import Accounted
from slinky_iac.slurmrest.objects import Job
from tests.made import rows
from tests.made.wire import read


def job(job_id: int, nodes: str = "", state: str = "RUNNING", **fields: Any) -> Job:
    """``nodes`` as a hostlist; an ``end_time`` alone comes with a time limit."""
    given = rows.numbers(
        fields, "start_time", "end_time", "array_job_id", "array_task_id", "het_job_id", "het_job_offset", "node_count"
    )
    return read(Job, rows.job(job_id, *state.split("+"), nodes=nodes, **given))


def run(job_id: int, *states: str, **fields: Any) -> Accounted:
    """A run of a job as slurmdbd has it."""
    return read(Accounted, rows.run(job_id, *states, **fields))
