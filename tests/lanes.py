"""Run test modules over several labs side by side: ``python -m tests.lanes FOLDER … [--beside FOLDER …]``.

End-to-end tests mostly wait (for drains, deadlines, leases), so two labs on two cores take little more than half the time
of one. The first lab is the ordinary one; every other has a network namespace and a state folder of its own, as
`lab/README.md` describes. A lane takes the next module as soon as it is through with one; what a module prints comes in one
piece when it ends. Modules that need no lab (``--beside``) run at the same time, for they use the processor while labs wait;
a lane that has no module of its own left takes its lab down and helps with them.
All labs are taken down at the end, also after Ctrl-C. Exit code: 0 if every module passed, else 1.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from lab import paths

ON_ONE_STACK = (
    "test_drain_jobs.py",
    "test_drain_policy.py",
    "test_status.py",
    "test_drift.py",
    "test_clients.py",
    "test_own_program.py",
    "test_drain_teardown.py",
)
"""They find the stack up that the one before left, if one lane has them all; the last of them destroys it."""
LONGEST = (
    *("test_stack_life.py", "test_bad_world.py", "test_leaks.py", "test_slurmrest_real.py", "test_preflight.py"),
    *("test_wheel.py", "test_two_stacks.py", "test_outside_hosts.py", "test_key_rotation.py", "test_webhook.py"),
    *("test_jobs.py", "test_handoff.py"),
    *("test_unknowns.py", "test_bad_stacks.py", "test_ci_gate.py", "test_bad_input.py", "test_external_keys.py"),
    *("test_ci_script.py", "test_two_gates.py", "test_language_host.py", "test_node_table.py", "test_examples.py"),
)
"""Begun first, in this order, by the other lanes and beside them, so that no lane is left alone with a long one."""
IN_LAB = 'eval "$(./lab/lab env)" && exec "$@"'


@dataclass(frozen=True)
class Lane:
    """One lab and the way to run a command in it."""

    name: str
    entered: tuple[str, ...]
    env: dict[str, str]

    def lab(self, command: str) -> subprocess.CompletedProcess[bytes]:
        """Run a command of `lab/lab`."""
        return subprocess.run([*self.entered, "./lab/lab", command], cwd=paths.REPO, env=self.env, check=False)

    def test(self, module: Path) -> tuple[int, str]:
        """Run a module's tests; returns pytest's exit code and what it printed."""
        pytest = [sys.executable, "-m", "pytest", "-q", "--durations=5", "--durations-min=5", str(module)]
        argv = [*self.entered, "bash", "-c", IN_LAB, "-", *pytest]
        done = subprocess.run(
            argv, cwd=paths.REPO, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        return done.returncode, done.stdout


def modules(folders: Sequence[Path]) -> list[Path]:
    """Test modules of the folders: those on one stack, then the longest. A file that is named itself is taken as it is."""
    found = [path for folder in folders for path in (sorted(folder.glob("test_*.py")) if folder.is_dir() else [folder])]
    order = (*ON_ONE_STACK, *LONGEST)
    return sorted(found, key=lambda path: (order.index(path.name) if path.name in order else len(order), path.name))


class Work:
    """Modules that wait to be run. The first lane begins with those on one stack, every other ends with them."""

    def __init__(self, waiting: Sequence[Path], beside: Sequence[Path] = ()) -> None:
        self._waiting = list(waiting)
        self._beside = list(beside)
        self._lock = threading.Lock()

    def take(self, *, first: bool) -> Path | None:
        """The next module for a lane; None where nothing is left."""
        with self._lock:
            if not self._waiting:
                return None
            others = [path for path in self._waiting if path.name not in ON_ONE_STACK]
            chosen = self._waiting[0] if first or not others else others[0]
            self._waiting.remove(chosen)
            return chosen

    def take_beside(self) -> Path | None:
        """The next module that needs no lab; None where nothing is left."""
        with self._lock:
            return self._beside.pop(0) if self._beside else None


def lanes(count: int) -> tuple[list[Lane], list[subprocess.Popen[bytes]]]:
    """The ordinary lab and ``count`` - 1 others; and the processes that keep the others' networks."""
    made = [Lane("lab", (), dict(os.environ))]
    holders = []
    for number in range(2, count + 1):
        script = "ip link set lo up && echo up && exec sleep infinity"
        argv = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--", "sh", "-c", script]
        holder = subprocess.Popen(argv, stdout=subprocess.PIPE)
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"up\n", "no network namespace could be made: run as root"
        holders.append(holder)
        env = {**os.environ, "SLINKY_LAB_STATE": f"{paths.USUAL_STATE}-lane{number}"}
        made.append(Lane(f"lab-{number}", ("nsenter", "-t", str(holder.pid), "-n", "--"), env))
    return made, holders


class Report:
    """What lanes print, one piece at a time, and what failed."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self._lock = threading.Lock()

    def run(self, lane: Lane, module: Path) -> None:
        """Run a module on a lane and tell of it."""
        begun = monotonic()
        code, printed = lane.test(module)
        with self._lock:
            if code:
                self.failed.append(module.name)
            print(f"\n-- {module.name} on {lane.name}, {monotonic() - begun:.0f} s\n{printed}", end="", flush=True)


def work(lane: Lane, waiting: Work, report: Report, *, first: bool) -> None:
    """Bring the lane's lab up and run modules until none is left."""
    if lane.lab("up").returncode:
        report.failed.append(f"{lane.name} did not come up")
        return
    while module := waiting.take(first=first):
        report.run(lane, module)
    lane.lab("down")
    help_out(waiting, report)


def help_out(waiting: Work, report: Report) -> None:
    """Run modules that need no lab until none is left."""
    while module := waiting.take_beside():
        report.run(Lane("no lab", (), dict(os.environ)), module)


def main(argv: Sequence[str]) -> int:
    """Run the modules; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.lanes", description="test modules over several labs")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--labs", type=int, default=2)
    parser.add_argument("--beside", nargs="+", type=Path, default=[], metavar="FOLDER", help="tests that need no lab")
    asked = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    waiting, report = Work(modules(asked.folders), modules(asked.beside)), Report()
    made, holders = lanes(asked.labs)
    try:
        with ThreadPoolExecutor(len(made) + 1) as pool:
            runs = [pool.submit(work, lane, waiting, report, first=lane is made[0]) for lane in made]
            if asked.beside:
                runs.append(pool.submit(help_out, waiting, report))
            for run in runs:
                run.result()
    finally:
        for lane in made:
            lane.lab("down")
        for holder in holders:
            holder.kill()
            holder.wait()
    if report.failed:
        print(f"\nfailed: {', '.join(report.failed)}", flush=True)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
