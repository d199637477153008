"""Run test modules over several labs side by side: ``python -m tests.lanes FOLDER … [--beside FOLDER …]``.

End-to-end tests mostly wait (for drains, deadlines, leases), so two labs on two cores take little more than half the time
of one. The first lab is the ordinary one; every other has a network namespace and a state folder of its own, as
`lab/README.md` describes. A lane takes the next module as soon as it is through with one; what a module prints comes in one
piece when it ends. Modules that need no lab (``--beside``) run at the same time, two at once and with a lower priority: they
use the processor while labs wait. A lane that has no module of its own left takes its lab down and helps with them.
All labs are taken down at the end, also after Ctrl-C. Each module that ran whole is recorded (tests.recorder). Exit code: 0
if every module passed, 2 if the ledger can't be read, else 1.
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
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

from lab import locks, own_network, paths
from tests import runs

ON_ONE_STACK = (
    *("test_preflight.py", "test_drain_jobs.py", "test_drain_policy.py", "test_bad_world.py", "test_status.py"),
    *("test_drift.py", "test_jobs.py", "test_user_pages.py", "test_tokens.py", "test_clients.py", "test_own_program.py"),
    "test_drain_teardown.py",
)
"""They find the stack up that the one before left; the last of them destroys it."""
TOGETHER = (
    ON_ONE_STACK,
    ("test_hostlist_real.py", "test_lab_kubernetes.py", "test_slurm_image.py"),
    ("test_node_table.py", "test_chart_digest.py", "test_key_source.py"),  # they share an API server
    ("test_two_gates.py", "test_scaler_gate.py", "test_terminal.py"),
    ("test_dynamic.py", "test_interrupts.py", "test_plugin_process.py"),
    ("test_rollout_order.py", "test_slurm_conf_order.py", "test_munge_client.py"),
    ("test_diagram.py", "test_page.py", "test_site.py"),  # a browser's
    (
        *("test_saved_state.py", "test_own_parts.py", "test_reads.py", "test_contract.py", "test_manual.py"),
        *("test_rules_cluster.py", "test_rules_jobs.py", "test_rules_keys.py", "test_rules_ways.py"),
    ),
)
"""Modules of one folder that one pytest runs: each of its own would begin by importing the library."""
Modules = tuple[Path, ...]
"""What one pytest runs."""
BESIDE = 2
"""Modules that need no lab and run at once."""
LATER = ("nice", "-n", "10")
"""They take what labs leave: labs mostly wait, so each second that they wait for a processor makes the whole run longer."""
IN_LAB = 'eval "$(./lab/lab env)" && exec "$@"'


@dataclass(frozen=True)
class Lane:
    """One lab, or none, and the way to run a command there."""

    name: str
    entered: tuple[str, ...]
    env: dict[str, str]
    has_lab: bool = True

    def lab(self, command: str) -> subprocess.CompletedProcess[bytes]:
        """Run a command of `lab/lab`."""
        return subprocess.run([*self.entered, "./lab/lab", command], cwd=paths.REPO, env=self.env, check=False)

    def test(self, modules: Modules) -> tuple[int, str]:
        """Run modules' tests; returns pytest's exit code and what it printed."""
        slowest = ("--durations=30", "--durations-min=5")
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "tests.recorder", *slowest, *map(str, modules)]
        lab = ("bash", "-c", IN_LAB, "-") if self.has_lab else ()
        argv = ["setpriv", "--pdeathsig", "KILL", *self.entered, *lab, *pytest]  # where we are killed, no test goes on
        done = subprocess.run(
            argv, cwd=paths.REPO, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        return done.returncode, done.stdout


def modules(folders: Sequence[Path], took: dict[str, float]) -> list[Modules]:
    """Test modules of the folders, the longest first, so that no lane is left alone with a long one at the end. A file that
    is named itself is taken as it is. ``took``: seconds of modules, by the ledger; what isn't in it is taken for long."""
    found = [path for folder in folders for path in (sorted(folder.glob("test_*.py")) if folder.is_dir() else [folder])]
    units: dict[tuple[Path, tuple[str, ...]], list[Path]] = {}
    for path in found:
        group = next((group for group in TOGETHER if path.name in group), (path.name,))
        units.setdefault((path.parent, group), []).append(path)
    made = [tuple(sorted(unit, key=lambda path: _place(path, group))) for (_, group), unit in units.items()]
    return sorted(made, key=lambda unit: (-sum(took.get(str(path), runs.UNKNOWN_S) for path in unit), unit))


def _place(path: Path, names: tuple[str, ...]) -> int:
    return names.index(path.name) if path.name in names else len(names)


class Work:
    """Modules that wait to be run."""

    def __init__(self, waiting: Sequence[Modules], beside: Sequence[Modules], no_lab: Lane) -> None:
        self.no_lab = no_lab
        self._waiting = list(waiting)
        self._beside = list(beside)
        self._lock = threading.Lock()

    def take(self) -> Modules | None:
        """The next modules for a lane; None where nothing is left."""
        with self._lock:
            return self._waiting.pop(0) if self._waiting else None

    def take_beside(self) -> Modules | None:
        """The next modules that need no lab; None where nothing is left."""
        with self._lock:
            return self._beside.pop(0) if self._beside else None

    def stop(self) -> None:
        """Nothing more is begun."""
        with self._lock:
            self._waiting.clear()
            self._beside.clear()


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

    def run(self, lane: Lane, modules: Modules) -> bool:
        """Run modules on a lane and tell of them; returns whether all passed."""
        begun = monotonic()
        names = " ".join(path.name for path in modules)
        code, printed = lane.test(modules)
        with self._lock:
            if code:
                self.failed.append(names)
            print(f"\n-- {names} on {lane.name}, {monotonic() - begun:.0f} s\n{printed}", end="", flush=True)
        return not code


def clear(lane: Lane) -> None:
    """Take down what a run that was killed has left of the lane's lab, in whatever network it is: its stacks name a project
    of another checkout, and its daemons take the processor."""
    note = Path(lane.env.get("SLINKY_LAB_STATE") or paths.USUAL_STATE) / own_network.NOTE
    way = own_network.OwnNetwork(note).way()
    replace(lane, entered=way or lane.entered).lab("down")


def work(lane: Lane, waiting: Work, report: Report) -> None:
    """Run modules until none is left, in a lab with nothing of an earlier run in it.

    If a module fails, the lane takes the lab down and brings it up again: a stack that the module did not destroy would make
    all later modules fail.
    """
    clean = False
    while modules := waiting.take():
        if not clean:
            clear(lane)
            if lane.lab("up").returncode:
                report.failed.append(f"{lane.name} did not come up for {modules[0].name}")
                return
        clean = report.run(lane, modules)
    lane.lab("down")
    help_out(waiting, report)


def help_out(waiting: Work, report: Report) -> None:
    """Run modules that need no lab until none is left."""
    while modules := waiting.take_beside():
        report.run(waiting.no_lab, modules)


def no_lab() -> Lane:
    """A place for modules that need no lab. Its variables are asked for once: `lab env` waits for every `lab up`."""
    shown = subprocess.run(["bash", "-c", IN_LAB, "-", "env", "-0"], cwd=paths.REPO, stdout=subprocess.PIPE, check=True)
    pairs = (each.split("=", 1) for each in shown.stdout.decode().split("\0") if each)
    return Lane("no lab", LATER, dict(pairs), has_lab=False)


def main(argv: Sequence[str]) -> int:
    """Run the modules; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.lanes", description="test modules over several labs")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--labs", type=int, default=2)
    parser.add_argument("--beside", nargs="+", type=Path, default=[], metavar="FOLDER", help="tests that need no lab")
    asked = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        took = runs.seconds(runs.RUNS.known())
    except runs.LedgerRefused as error:
        print(error, file=sys.stderr)
        return 2
    with locks.alone(f"lanes-{paths.CGROUP}", lambda: print("another run has these labs; waiting", file=sys.stderr)):
        return run(asked.labs, modules(asked.folders, took), modules(asked.beside, took))


def run(labs: int, in_labs: Sequence[Modules], beside: Sequence[Modules]) -> int:
    """Run modules over so many labs, and others beside them; returns the exit code."""
    waiting, report = Work(in_labs, beside, no_lab()), Report()
    made, holders = lanes(labs)
    try:
        with ThreadPoolExecutor(len(made) + BESIDE) as pool:
            lanes_at_work = [pool.submit(work, lane, waiting, report) for lane in made]
            lanes_at_work += [pool.submit(help_out, waiting, report) for _ in range(BESIDE)]
            try:
                for lane_at_work in lanes_at_work:
                    lane_at_work.result()
            finally:
                waiting.stop()
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
