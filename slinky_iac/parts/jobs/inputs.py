"""What a program gives the gate of a job: its script, and its other properties."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.small_files import read
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import ConfigError
from slinky_iac.parts.jobs.rules import own_partitions, script
from slinky_iac.parts.jobs.settings import Job

MOST_OF_A_SCRIPT: Final = 1 << 20
"""Bytes of a script: it is part of the state, and slurmctld takes 4 MiB (max_script_size)."""


def scripts_of(jobs: Mapping[str, Job], folder: Path | None = None) -> dict[str, str]:
    """The scripts by job; relative paths begin at ``folder``, by default the working folder. Raises :class:`ConfigError`
    with every script that can't be read or used."""
    scripts: dict[str, str] = {}
    faults: list[Finding] = []
    for name, job in jobs.items():
        if job.script is None:
            scripts[name] = f"#!/bin/sh\nexec {shlex.join(job.command)}\n"
        elif job.script.text is not None:
            scripts[name] = job.script.text
        else:
            where, file = f"jobs.{name}.script.file", (folder or Path()) / (job.script.file or "")
            try:
                scripts[name] = read(
                    file, MOST_OF_A_SCRIPT, "the most that a script may have. Keep data in a file that the job reads"
                ).decode()
            except UnicodeDecodeError:
                faults.append(
                    at(where).error(
                        "isn't UTF-8 text, as a script is. For a program set `command`, or a script that starts it"
                    )
                )
            except ValueError as wrong:
                faults.append(at(where).error(str(wrong)))
            else:
                faults += script(where, scripts[name])
    if faults:
        raise ConfigError(tuple(f"{fault}. Nothing was made" for fault in faults))
    return scripts


def job_props(config: StackConfig, name: str, job: Job, script: str, *, row: bool = False) -> dict[str, Any]:
    """Props of a job, besides those of all gates (:class:`slinky_iac.parts.jobs.props.JobSettings` reads them back)."""
    return {
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
