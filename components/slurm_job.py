"""A Slurm job as a resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi.dynamic import Resource

from slinky_iac.config.stack import StackConfig
from slinky_iac.jobs.gates import JobLifeProvider, SlurmJobProvider
from slinky_iac.parts.jobs.rules import own_partitions
from slinky_iac.parts.jobs.settings import Job

from .gates import Gate, stack_props


class JobLife(Resource, module="slurm", name="JobLife"):
    """The nonce of a job's resource, made once and kept as long as the resource lives."""

    nonce: pulumi.Output[str]

    def __init__(self, name: str, job: str, opts: pulumi.ResourceOptions) -> None:
        super().__init__(JobLifeProvider(), name, {"job": job, "nonce": None}, opts)


class SlurmJob(Gate, module="slurm", name="SlurmJob"):
    """Submits a batch job exactly once for each change of it, or each update, and follows it.

    Its runs carry a nonce that is made before the first of them and lives as long as the resource: a run that was killed
    finds what it has submitted, and a stack that is made again under its old name takes no job of its first life.
    """

    result: pulumi.Output[dict[str, Any]]

    def __init__(self, name: str, props: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        life = JobLife(f"{name}-life", props["job"], pulumi.ResourceOptions(parent=opts.parent))
        super().__init__(SlurmJobProvider(), name, {**props, "nonce": life.nonce}, opts, "result")


def job_props(config: StackConfig, name: str, job: Job, script: str, *, row: bool = False) -> dict[str, Any]:
    """Props of a job (:class:`slinky_iac.jobs.settings.JobSettings` reads them back)."""
    return {
        **stack_props(config),
        "job": name,
        "user": job.user,
        "script": script,
        "partition": job.partition or "",
        "ownPartition": job.partition in own_partitions(config),
        "account": job.account or "",
        "qos": job.qos or "",
        "nodes": job.nodes,
        "timeLimitS": job.time_limit or 0,
        "environment": dict(job.environment),
        "workingDirectory": job.working_directory,
        "output": job.output or "",
        "waitFor": job.wait_for,
        "runs": job.runs,
        "onDestroy": job.on_destroy,
        "timeoutS": job.timeout,
        "accounting": config.accounting.enabled,
        "awaitRow": row and config.accounting.enabled,
    }
