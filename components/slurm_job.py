"""A Slurm job as a resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi.dynamic import Resource

from slinky_iac.parts.jobs.gates import JobLifeProvider, SlurmJobProvider

from .gates import Gate


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
