"""Slurm from outside, in the words of its own commands: squeue, sacct, scontrol, sbatch, srun."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lab.slurm.hosts import Hosts

HELD = "trap 'kill $!; exit 0' USR1; sleep infinity & wait"
"""A batch script that runs until it gets SIGUSR1. The trap comes first: the signal may come right after the start."""


@dataclass(frozen=True)
class Accounted:
    """What slurmdbd remembers of a job, as `sacct -X -D` tells it: one row a run, so a requeue shows as a second row."""

    job: str
    state: str
    nodes: str
    exit_code: str


def await_true(what: str, check: Callable[[], object], timeout: float, every: float = 0.5) -> None:
    """Wait until ``check`` holds; fail naming ``what`` and what it last said."""
    end = time.monotonic() + timeout
    last: object = None
    while time.monotonic() < end:
        last = check()
        if last:
            return
        time.sleep(every)
    raise AssertionError(f"{what}: not within {timeout:.0f} s; last seen: {last!r}")


def await_same(what: str, got: Callable[[], set[str]], wanted: set[str], timeout: float) -> None:
    """Wait until ``got`` is ``wanted``; fail naming ``what``, what is too much and what is missing."""
    last: set[str] = set()

    def same() -> bool:
        nonlocal last
        last = got()
        return last == wanted

    try:
        await_true(what, same, timeout)
    except AssertionError as late:
        raise AssertionError(f"{late}; too much: {sorted(last - wanted)}; missing: {sorted(wanted - last)}") from None


class Slurm:
    """Commands on the login host (as a user) and on slurmctld's host (as root).

    ``admin_host``: where root's run. On a host whose slurmctld is stopped none do: it holds the socket that they sign by.
    """

    def __init__(self, hosts: Hosts, admin_host: str = "ctl") -> None:
        self._hosts = hosts
        self._admin_host = admin_host

    def admin(self, *argv: str, check: bool = True) -> str:
        """Run a command as root on slurmctld's host, or on another that it was given."""
        return self._hosts.run(self._admin_host, list(argv), timeout=60, check=check).stdout

    def user(self, *argv: str, user: str = "alice", timeout: float = 120, check: bool = True) -> str:
        """Run a command as a user on the login host."""
        return self._hosts.run("login-1", list(argv), user=user, timeout=timeout, check=check).stdout

    def on(self, host: str, *argv: str) -> str:
        """Run a command as root on one of the outside hosts."""
        return self._hosts.run(host, list(argv), timeout=60).stdout

    def submit(self, *options: str, seconds: int | None = None, user: str = "alice") -> int:
        """Submit a batch job that sleeps, or without ``seconds`` runs until :meth:`finish`; returns its id."""
        script = f"sleep {seconds}" if seconds is not None else HELD
        out = self.user("sbatch", "--parsable", "-D", "/tmp", "-o", "/dev/null", *options, f"--wrap={script}", user=user)
        return int(out.strip().split(";")[0])

    def finish(self, *jobs: int) -> None:
        """Let jobs that wait for it end by themselves, with exit code 0."""
        self.admin("scancel", "--batch", "--signal=USR1", *(str(job) for job in jobs))

    def nodes(self) -> dict[str, dict[str, Any]]:
        """All nodes by name, from `scontrol show nodes --json`."""
        listed = json.loads(self.admin("scontrol", "show", "nodes", "--json"))["nodes"]
        return {node["name"]: node for node in listed}

    def states(self) -> dict[str, frozenset[str]]:
        """State flags of all nodes."""
        return {name: frozenset(node["state"]) for name, node in self.nodes().items()}

    def reason(self, node: str) -> str:
        """Drain reason of a node; empty where there is none."""
        return str(self.nodes()[node]["reason"])

    def jobs(self) -> dict[int, dict[str, Any]]:
        """Jobs that slurmctld remembers, by id."""
        listed = json.loads(self.admin("scontrol", "show", "jobs", "--json"))["jobs"]
        return {job["job_id"]: job for job in listed}

    def job_state(self, job: int) -> frozenset[str]:
        """State flags of one job."""
        return frozenset(self.jobs()[job]["job_state"])

    def job_nodes(self, job: int) -> str:
        """Nodes of one job, as a hostlist."""
        return str(self.jobs()[job]["nodes"])

    def await_running(self, *jobs: int, timeout: float = 60) -> None:
        """Wait until all these jobs run."""
        await_true(f"jobs {jobs} run", lambda: all("RUNNING" in self.job_state(j) for j in jobs), timeout)

    def await_registered(self, *nodes: str, timeout: float = 120) -> None:
        """Wait until slurmctld knows these nodes, and they may run jobs."""

        def there() -> bool:
            states = self.states()
            bad = {"DRAIN", "DOWN", "NOT_RESPONDING", "UNKNOWN"}
            return all(node in states and not states[node] & bad for node in nodes)

        await_true(f"nodes {nodes} are registered", there, timeout)

    def accounted(self, *jobs: int) -> list[Accounted]:
        """Rows of slurmdbd about these jobs, requeued runs included (`-D`)."""
        names = ",".join(str(job) for job in jobs)
        out = self.admin("sacct", "-X", "-D", "-n", "-P", "-j", names, "-o", "JobID,State,NodeList,ExitCode")
        return [Accounted(*line.split("|")) for line in out.splitlines() if line]

    def await_completed(self, *jobs: int, timeout: float = 180) -> list[Accounted]:
        """Wait until slurmdbd has all these jobs ended, and return its rows."""

        def ended() -> list[Accounted]:
            rows = self.accounted(*jobs)
            open_states = ("RUNNING", "PENDING", "COMPLETING", "REQUEUED", "SUSPENDED")
            done = len(rows) >= len(jobs) and not any(row.state.startswith(open_states) for row in rows)
            return rows if done else []

        await_true(f"jobs {jobs} have ended in slurmdbd", ended, timeout, every=1.0)
        return self.accounted(*jobs)

    def cancel_all(self) -> None:
        """End every job, so that a test begins with an empty cluster."""
        for user in ("alice", "bob", "root"):
            self.admin("scancel", "-u", user, check=False)
        await_true("no job holds a node", lambda: not self.admin("squeue", "-h", "-t", "R,CG,S").strip(), 60)
