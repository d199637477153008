"""Jobs of a stack as Slurm's own commands show them."""

from __future__ import annotations

import json
import uuid
from typing import Any

from lab.stacks import Stack
from tests.e2e.slurm import Slurm


def fresh(name: str) -> str:
    """A job name that no earlier test has used: slurmdbd remembers all of them."""
    return f"{name}-{uuid.uuid4().hex[:6]}"


def hello(**more: Any) -> dict[str, Any]:
    """A job of alice's on bare metal that says where it runs."""
    return {"user": "alice", "command": ["hostname"], "workingDirectory": "/tmp", "partition": "metal"} | more


def script(text: str, **more: Any) -> dict[str, Any]:
    """The same with a script."""
    return {**hello(**more), "command": [], "script": {"text": f"#!/bin/sh\n{text}\n"}}


def results(stack: Stack) -> dict[str, dict[str, Any]]:
    """The stack output about its jobs."""
    found: dict[str, dict[str, Any]] = json.loads(stack.pulumi("stack", "output", "jobs", "--json").stdout)
    return found


def starts(slurm: Slurm, name: str) -> list[str]:
    """Ids of all jobs of a name that slurmdbd knows and that have ever begun, each run once."""
    out = slurm.admin("sacct", "-a", "-X", "-D", "-n", "-P", f"--name={name}", "-S", "now-2hours", "-o", "JobID,Start")
    rows = [line.split("|") for line in out.splitlines() if line]
    return [job for job, start in rows if start not in ("Unknown", "None")]


def waiting(slurm: Slurm, name: str) -> list[str]:
    """Ids of all jobs of a name that are in the queue or run."""
    return slurm.admin("squeue", "-a", "-h", f"--name={name}", "-o", "%i").split()
