"""From waiting to running with an autoscaler: ours against the known recipe, which goes by pending jobs alone.

Run (as root, the lab up): venv/bin/python -m tests.bench.autoscale [--rounds 3]

On one lab, by turns, each round beginning with the other one. Three jobs of one node each are submitted to a NodeSet
without a node; they run for longer than the cool-down; then they end, and three more are submitted at that moment. A
witness looks each second for nodes that are drained while a job runs there. Rows of slurmdbd say what of the jobs was lost.

Aims: ours is no slower than the recipe by the median (1.1x), drains no node under work for longer than the operator's own
correction, and loses nothing.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from lab.slurm import cluster
from tests import figures
from tests.bench.measure import Aim, machine
from tests.e2e.gated import NODES
from tests.e2e.slurm import Slurm
from tests.e2e.world import World, lab_environment
from tests.faults.autoscaled import AUTOSCALE, Autoscaled, Witness, autoscaling, recipe
from tests.figures import Measured

WAYS = ("ours", "recipe")
COOLDOWN_S = 60
LIMIT_S = 240
BEYOND_S = 45
"""How long the jobs run beyond the cool-down: KEDA and Kubernetes look every 5 and 15 seconds."""
SETTINGS = {**AUTOSCALE, "cooldown": f"{COOLDOWN_S}s"}


@dataclass(frozen=True)
class Run:
    """One turn."""

    way: str
    first_s: float
    """Until three jobs run that were submitted to no node; :data:`LIMIT_S` where they don't."""
    second_s: float
    """Until the next three run, submitted when the first end."""
    drained_busy: int
    """Node-seconds under a drain while a job ran."""
    nodes_drained: int
    """Nodes that stayed so."""
    lost_s: int
    """Seconds of runs that slurmdbd has as anything but COMPLETED."""
    jobs: int
    rows: int
    """Rows of slurmdbd: more than jobs where one was started twice."""
    never: int = 0
    """Jobs that still waited after :data:`LIMIT_S`: with two nodes and one job that waits, the recipe asks for two."""


def turn(found: Autoscaled, way: str) -> Run:
    """One way, from no node to no node."""
    found.empty()
    with nullcontext() if way == "ours" else recipe(found, COOLDOWN_S, SETTINGS):
        with Witness(found) as seen:
            first, first_s, left = _started(found)
            seen.await_looks(COOLDOWN_S + BEYOND_S)
            found.slurm.finish(*first)
            second, second_s, also = _started(found)
            found.slurm.finish(*second)
        found.slurm.admin("scancel", *(str(job) for job in left + also), check=False)
        jobs = [*first, *second]
        found.slurm.await_completed(*jobs)
        names = ",".join(str(job) for job in jobs)
        told = found.slurm.admin("sacct", "-X", "-D", "-n", "-P", "-j", names, "-o", "State,ElapsedRaw")
        rows = [line.split("|") for line in told.splitlines() if line]
        lost = sum(int(elapsed) for state, elapsed in rows if state != "COMPLETED")
        found.empty()
    nodes = len(seen.drained_under_work)
    never = len(left) + len(also)
    return Run(way, first_s, second_s, seen.drained_busy_looks, nodes, lost, len(jobs), len(rows), never)


def _started(found: Autoscaled) -> tuple[list[int], float, list[int]]:
    """Three jobs: those that run, after how long, and those that wait after the limit."""
    began = time.monotonic()
    jobs = [found.submit("-N1") for _ in NODES]
    waiting = set(jobs)
    while waiting and time.monotonic() - began < LIMIT_S:
        waiting = {job for job in jobs if "RUNNING" not in found.slurm.job_state(job)}
    taken = min(time.monotonic() - began, LIMIT_S)
    return [job for job in jobs if job not in waiting], taken, sorted(waiting)


def measure(rounds: int) -> list[Run]:
    """All turns."""
    world = World(lab_environment())
    world.require_up()
    found: list[Run] = []
    with autoscaling(world, Slurm(cluster.LAB.hosts), SETTINGS) as stack:
        for number in range(rounds):
            for way in WAYS if number % 2 == 0 else WAYS[::-1]:
                found.append(turn(stack, way))
                print(f"round {number + 1} ({machine()}): {told(found[-1])}", flush=True)
    return found


def told(run: Run) -> str:
    """One turn in a line."""
    return (
        f"{run.way}: three run after {run.first_s:.1f} s, the next three after {run.second_s:.1f} s;"
        f" {run.nodes_drained} nodes drained under work, {run.drained_busy} node-seconds; lost {run.lost_s} s;"
        f" {run.jobs} jobs in {run.rows} rows; {run.never} never started"
    )


def ratios(runs: Sequence[Run], step: str) -> list[float]:
    """Ours to the recipe's, round by round; below 1 ours is faster."""
    ours, theirs = ([getattr(run, step) for run in runs if run.way == way] for way in WAYS)
    return [own / other for own, other in zip(ours, theirs, strict=True)]


def summary(runs: Sequence[Run]) -> str:
    """All turns: median, least and most; the ratio's spread; aims."""
    out = []
    for step, what in (("first_s", "no node to three running"), ("second_s", "the next three")):
        for way in WAYS:
            taken = sorted(getattr(run, step) for run in runs if run.way == way)
            out.append(f"{what}, {way}: median {statistics.median(taken):.1f} s ({taken[0]:.1f} to {taken[-1]:.1f})")
        found = sorted(ratios(runs, step))
        out.append(f"{what}, ours to recipe: median {statistics.median(found):.2f}x ({found[0]:.2f} to {found[-1]:.2f})")
    for way in WAYS:
        kind = [run for run in runs if run.way == way]
        out.append(
            f"{way}: {sum(run.nodes_drained for run in kind)} nodes drained under work in {len(kind)} rounds,"
            f" {sum(run.drained_busy for run in kind)} node-seconds, {sum(run.lost_s for run in kind)} s of jobs lost,"
            f" {sum(run.never for run in kind)} jobs never started"
        )
    return "\n".join([*out, *(aim.line() for aim in aims(runs))])


def rows(runs: Sequence[Run]) -> dict[str, dict[str, Measured]]:
    """For the ledger: times by their median, the rest as sums of all rounds."""
    found: dict[str, dict[str, Measured]] = {}
    for step, what in (("first_s", "until three run"), ("second_s", "until the next three run")):
        ours, theirs = (statistics.median(getattr(run, step) for run in runs if run.way == way) for way in WAYS)
        ratio = statistics.median(ratios(runs, step))
        found[what] = {"ours": Measured(ours, "s", "recipe", ratio), "recipe": Measured(theirs, "s")}
    for field, what, unit in (
        ("nodes_drained", "nodes drained while their jobs ran", ""),
        ("drained_busy", "their time under a drain", "node-seconds"),
        ("lost_s", "jobs lost", "s"),
        ("never", "jobs that never started", ""),
    ):
        found[what] = {way: Measured(sum(getattr(run, field) for run in runs if run.way == way), unit) for way in WAYS}
    return found


def aims(runs: Sequence[Run]) -> list[Aim]:
    """What was promised."""
    ours = [run for run in runs if run.way == "ours"]
    return [
        Aim("no node to three running, ours to recipe", statistics.median(ratios(runs, "first_s")), 1.1),
        Aim("the next three, ours to recipe", statistics.median(ratios(runs, "second_s")), 1.0),
        Aim("drained under work, ours", sum(run.nodes_drained for run in ours), 0, unit=" nodes"),
        Aim("jobs lost, ours", sum(run.lost_s for run in ours), 0, unit=" s"),
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default 3)")
    args = parser.parse_args(argv)
    runs = measure(args.rounds)
    figures.record(Path(__file__), "autoscaler", rows(runs))
    print(summary(runs))


if __name__ == "__main__":
    main()
