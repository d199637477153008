"""Jobs of the stack as a part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slinky_iac import names
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.jobs.inputs import job_props, scripts_of
from slinky_iac.parts.jobs.objects import token
from slinky_iac.parts.jobs.rules import OF_DAEMONS, smoke_jobs
from slinky_iac.parts.part import MadeOnce, OwnGate, Part
from slinky_iac.specs.objects import Object


class Jobs(Part):
    """Gates make the jobs; all of it needs slurmrestd."""

    name = "jobs"
    daemon_rules = OF_DAEMONS
    providers = {
        "JobLife": "slinky_iac.parts.jobs.gates.JobLifeProvider",
        "SlurmJob": "slinky_iac.parts.jobs.gates.SlurmJobProvider",
    }

    def texts(self, config: StackConfig) -> Mapping[str, str]:
        """The scripts of jobs, by job."""
        return scripts_of(config.jobs)

    def gates(self, config: StackConfig, texts: Mapping[str, str]) -> Iterator[OwnGate]:
        """One a job, and one a short job."""
        for name, job in config.jobs.items():
            yield _gate(f"job-{name}", name, job_props(config, name, job, texts[name]))
        for name, job in smoke_jobs(config).items():
            yield _gate(name, name, job_props(config, name, job, scripts_of({name: job})[name], row=True))

    def environments(self, config: StackConfig) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Of jobs."""
        return ((f"jobs.{name}.environment", job.environment) for name, job in config.jobs.items())

    def job_scripts(self, config: StackConfig) -> Iterator[tuple[str, str]]:
        """Those that are in the stack's file."""
        for name, job in config.jobs.items():
            if job.script is not None and job.script.text is not None:
                yield f"jobs.{name}.script.text", job.script.text

    def unknown_number(self, config: StackConfig, nodeset: str) -> Iterator[Finding]:
        """Partitions with nodes get a short job."""
        if config.smoke.enabled and not config.smoke.partitions:
            yield at("smoke.partitions").error(
                f"is needed where an Output gives a number of nodes (nodesets.{nodeset}.replicas): which partitions have"
                " nodes isn't known. Name those that are to run a job"
            )

    def behind(self, config: StackConfig, daemon: names.Part) -> Iterator[Object]:
        """Tokens of slurmrestd."""
        return (token(config, name) for name in config.tokens if daemon == "slurmrestd")

    def written_secrets(self, config: StackConfig) -> Iterator[tuple[str, str | None]]:
        """Those with tokens."""
        base = config.cluster.resource_name
        return (
            (f"tokens.{name}.secret", user_token.secret or names.user_token_secret(base, name))
            for name, user_token in config.tokens.items()
        )


def _gate(logical: str, job: str, props: Mapping[str, Any]) -> OwnGate:
    """Runs of a job carry a nonce that is as old as the resource: a run that was killed finds what it has submitted, and a
    stack that is made again under its old name takes no job of its first life."""
    return OwnGate("SlurmJob", logical, props, "result", job, MadeOnce("JobLife", "life", {"job": job}, "nonce"))
