"""Slurm jobs that a stack runs through slurmrestd."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from slinky_iac.config.base import Section, one_of
from slinky_iac.config.fields import DnsLabel, FilePath, Seconds, SlurmName, SlurmUser, checked, no_shell
from slinky_iac.config.outputs import IN_NAMES, USERS, WORK
from slinky_iac.config.shown import name_of

Folder = Annotated[str, Field(pattern=r"^/[^\x00-\x1f\x7f]*$", max_length=1024), checked(no_shell)]
"""An absolute path on the nodes where a job runs."""
Output = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=1024), checked(no_shell)]
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


def _variables(value: dict[str, str]) -> dict[str, str]:
    for name, text in value.items():
        if _VARIABLE.fullmatch(name) is None:
            raise ValueError(f"got the name {name_of(name)}; a variable's name is letters, digits and '_'")
        if not set(text).isdisjoint("\0\n\r"):
            raise ValueError(f"{name}: the value must be one line")
    return value


Word = Annotated[str, Field(pattern=r"^[^\x00\n\r]*$", max_length=4096)]
Variables = Annotated[dict[str, str], AfterValidator(_variables)]


class JobScript(Section):
    """A batch script, here or in a file."""

    takes_none: ClassVar[Mapping[str, str]] = {"text": WORK, "file": WORK}

    text: str | None = Field(default=None, max_length=1 << 20)
    """The script itself. It begins with `#!`. slurmrestd reads no #SBATCH lines."""
    file: FilePath | None = None
    """Path of a file with it, absolute or relative to Pulumi.yaml. Its text is part of the job: if it changes, the job
    runs again."""

    _one_source = one_of("text", "file", why="where the script is")


class Job(Section):
    """A batch job that `pulumi up` submits, exactly once, as its own user."""

    finding_ids: ClassVar[Mapping[str, str]] = {
        "jobs-forgotten": "The stack runs jobs and has no slurmdbd. Acknowledge it where a repeated run does no harm."
    }
    takes_none: ClassVar[Mapping[str, str]] = {
        "user": WORK,
        "command.*": WORK,
        "partition": WORK,
        "account": WORK,
        "qos": WORK,
        "environment.**": WORK,
        "workingDirectory": WORK,
        "output": WORK,
    }

    user: SlurmUser
    """Who runs it: a user whom slurmctld's host knows. root and SlurmUser are refused."""
    script: JobScript | None = None
    """Its batch script."""
    command: tuple[Word, ...] = ()
    """A program and its arguments, in place of a script: no shell reads them."""
    partition: SlurmName | None = None
    """Partition; by default slurmctld's default partition."""
    account: SlurmName | None = None
    """Account that it is charged to; by default the user's default account."""
    qos: SlurmName | None = None
    """Quality of service."""
    nodes: int = Field(default=1, ge=1, le=65533)
    """Number of nodes."""
    time_limit: Seconds | None = None
    """Time limit, in seconds or as 30m; Slurm counts whole minutes. By default the partition's."""
    environment: Variables = Field(default_factory=dict)
    """Its environment, PATH included. Nothing of the environment of `pulumi up` goes to it. No secrets: previews and the
    state show it."""
    working_directory: Folder
    """Where it begins, on the nodes where it runs."""
    output: Output | None = None
    """File of its output, with sbatch's patterns such as %j; by default slurm-%j.out in the working directory."""
    wait_for: Literal["completed", "submitted"] = "completed"
    """completed: `pulumi up` waits for its end, and fails where the job fails. submitted: it continues once the job is in
    the queue."""
    runs: Literal["on-change", "on-every-update"] = "on-change"
    """on-change: it runs once, and again when what it is has changed or its last run failed. on-every-update: each `pulumi
    up` runs it, and each preview shows that."""
    on_destroy: Literal["cancel", "wait"] = "cancel"
    """What becomes of a run that is not over when the job is removed, or when another run takes its place."""
    timeout: Seconds = 3600
    """How long one `pulumi up` waits for it, in seconds or as 2h. Then the update fails, the job stays as it is, and the
    next `pulumi up` continues waiting."""

    _one_script = one_of("script", "command", why="what the job runs")


class Smoke(Section):
    """A short job in each partition at the end of each `pulumi up`, and its row in slurmdbd."""

    takes_none: ClassVar[Mapping[str, str]] = {"user": USERS, "partitions.*": WORK}

    enabled: bool = False
    """Run them. Each preview then shows one job a partition."""
    user: SlurmUser | None = None
    """Who runs them: an ordinary user whom slurmctld's host knows."""
    partitions: tuple[SlurmName, ...] = ()
    """Partitions; by default those of the stack that have a NodeSet with pods, or an outside host."""
    timeout: Seconds = 120
    """How long each may take, from its submission to its row in slurmdbd. Then the update fails, and says which partition it
    was."""


class UserToken(Section):
    """A token of slurmrestd that slurm-operator makes, keeps in a Secret and renews, for a program in Kubernetes."""

    finding_ids: ClassVar[Mapping[str, str]] = {
        "job-user-unknown": "slurmctld runs in Kubernetes, and its pod doesn't know a user of `jobs`, `smoke` or `tokens`."
        " List the user in `identity.passwd` ([identity.md](identity.md)). Acknowledge it if slurmctld's image knows the"
        " user.",
        "token-renewal-stops": "This release of slurm-operator can stop to renew a token of `tokens`. Acknowledge it where"
        " an expired token is noticed and its Secret deleted.",
    }
    takes_none: ClassVar[Mapping[str, str]] = {"secret": IN_NAMES, "user": USERS}

    user: SlurmUser
    """Whom it is for: an ordinary user whom slurmctld's host knows. root and SlurmUser are refused."""
    lifetime: Seconds = Field(default=3600, ge=300)
    """Lifetime of each, in seconds or as 8h; at the most keys.maxTokenLifespan. The operator renews it at four fifths
    of it."""
    refresh: bool = True
    """Renew it. With false the Secret is immutable, and its token is not renewed."""
    secret: DnsLabel | None = None
    """Name of the Secret, whose entry is `token`; by default the token's own name and `-token`. Mount it as a file: an
    environment variable would be inherited by jobs of sbatch."""


UserTokens = dict[DnsLabel, UserToken]
Jobs = dict[DnsLabel, Job]
