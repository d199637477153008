"""Jobs of the stack as a part. components/slurm_job.py registers the gates that submit them."""

from __future__ import annotations

from slinky_iac.parts.jobs.rules import OF_DAEMONS
from slinky_iac.parts.part import Part


class Jobs(Part):
    """Rules alone: all of it needs slurmrestd."""

    name = "jobs"
    daemon_rules = OF_DAEMONS
