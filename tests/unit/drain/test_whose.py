"""A job that a stack has submitted is named as the stack's wherever a drain names it, and no user can write that name."""

from __future__ import annotations

import pytest

from slinky_iac.drain.plan import planned_job
from slinky_iac.drain.words import jobs_in_words
from slinky_iac.names import job_tags, stack_job
from slinky_iac.slurmrest.objects import UNSET, Job


def running(tag: str) -> Job:
    return Job(
        job_id=12,
        job_state=frozenset({"RUNNING"}),
        nodes="gpu-0",
        user_name="alice",
        partition="gpu",
        time_limit=UNSET,
        start_time=UNSET,
        end_time=UNSET,
        admin_comment=tag,
    )


def test_a_plan_names_the_stacks_own_job() -> None:
    job = running(job_tags("dev", "bench", "0a1b") + "1.abcdef")
    assert "12 of alice, jobs.bench of stack dev" in jobs_in_words([job])
    assert planned_job(job).props["stack_job"] == "jobs.bench of stack dev"


def test_the_plan_of_any_other_job_is_as_before() -> None:
    assert "stack_job" not in planned_job(running("")).props
    assert "1 job (12 of alice)" in jobs_in_words([running("checked by ops")])


@pytest.mark.parametrize(
    "text", ["slinky-iac:dev/bench", "slinky-iac:dev: x", "see slinky-iac:dev/a#1", "slinky-iac:a/b/c#1"]
)
def test_other_texts_are_no_tags(text: str) -> None:
    assert stack_job(text) == ""
