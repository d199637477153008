"""The batch scripts of jobs, read where they are files."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from slinky_iac.config.findings import Finding, error
from slinky_iac.config.jobs import Job
from slinky_iac.config.rules_jobs import script
from slinky_iac.errors import ConfigError

MOST: Final = 1 << 20
"""Bytes of a script: it is part of the state, and slurmctld takes 4 MiB (max_script_size)."""


def scripts_of(jobs: Mapping[str, Job], folder: Path | None = None) -> dict[str, str]:
    """The scripts by job; relative paths begin at ``folder``, by default the working folder. Raises :class:`ConfigError`
    with every script that can't be read or used."""
    found: dict[str, str] = {}
    faults: list[Finding] = []
    for name, job in jobs.items():
        text, wrong = _read(f"jobs.{name}", job, folder or Path())
        found[name] = text
        faults += wrong
    if faults:
        raise ConfigError(tuple(map(str, faults)))
    return found


def _read(path: str, job: Job, folder: Path) -> tuple[str, list[Finding]]:
    if job.script is None:
        return f"#!/bin/sh\nexec {shlex.join(job.command)}\n", []
    if job.script.text is not None:
        return job.script.text, []
    where = f"{path}.script.file"
    try:
        with (folder / (job.script.file or "")).open("rb") as file:
            text = file.read(MOST + 1).decode()
    except OSError as fault:
        return "", [error(where, f"can't be read: {fault.strerror}. Nothing was made; give a path relative to Pulumi.yaml")]
    except UnicodeDecodeError:
        return "", [error(where, "isn't UTF-8 text. Nothing was made; a program is started by `command`, or by a script")]
    return text, list(_faults(where, text))


def _faults(where: str, text: str) -> Iterator[Finding]:
    if len(text.encode()) > MOST:
        yield error(where, f"has more than {MOST} bytes. Nothing was made; leave data in a file that the job reads")
    yield from script(where, text)
