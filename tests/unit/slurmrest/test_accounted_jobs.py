"""Rows that slurmdbd has of a stack's jobs."""

from __future__ import annotations

from tests.unit.slurmrest.fake import FakeSlurm


def test_a_row_whose_user_neither_slurmdbd_nor_slurmrestd_can_name_is_read() -> None:
    """A user of `identity` without an association: slurmrestd's pod knows no name, and writes null (watched, 26.05)."""
    row = {
        "job_id": 7,
        "user": None,
        "comment": {"administrator": "lab/survey.1.abc", "job": "lab/survey.1.abc"},
        "state": {"current": ["COMPLETED"]},
        "time": {"start": 1, "end": 2, "submission": 1},
    }
    with FakeSlurm(accounts=[row]).client() as client:
        (found,) = client.accounted_jobs("survey")
    assert (found.user_name, found.admin_comment, found.over) == ("", "lab/survey.1.abc", True)
