"""A scale-in through the gate against the operator's own (`kubectl scale`), on the lab, on the same cluster in turns.

Run (as root, the lab up): venv/bin/python -m tests.bench.gate [--rounds 3] [--keep FILE]

A NodeSet of three loses a pod by one way and then another by the other way; the next round begins with the other way.
First with a job on each node, that on the selected node the first to end; then with nothing running. A round takes some
five minutes. With --keep the rounds are added to a file, and the summary is of all that the file holds, so that a lab
that others use too can be given back between rounds.

Aims, with jobs: the gate patches the NodeSet within one poll (2 s) and its look of the job's end, and from the job's end on
the pod isn't gone later than by the operator alone.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lab.slurm import cluster
from tests import figures
from tests.bench.measure import Aim, machine
from tests.bench.watching import Times, Watched, times, watch
from tests.e2e.gated import NAMESPACE, NODES, NODESET, RESOURCE, Gated, bring_up
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World, lab_environment
from tests.figures import Measured

WAYS = ("gate", "operator alone")
SCENES = ("busy", "idle")
JOB_S = 55
"""Longer than pulumi's start and the operator's stale view together: at its end only the end itself is waited for."""
POLL_S = 2.0
LOOK_S = 1.0
"""What a look and the patch may take beside the poll, on two busy cores."""
STEPS = {
    "asked to drained": ("asked", "drained"),
    "drained to seen by the operator": ("drained", "seen"),
    "job's end to NodeSet patched": ("job_end", "patched"),
    "job's end to seen by the operator": ("job_end", "seen_idle"),
    "job's end to pod deleted": ("job_end", "deleted"),
    "job's end to pod gone": ("job_end", "gone"),
    "seen by the operator to NodeSet patched": ("seen", "patched"),
    "asked to NodeSet patched": ("asked", "patched"),
    "asked to pod gone": ("asked", "gone"),
    "NodeSet patched to pod deleted": ("patched", "deleted"),
    "pod deleted to pod gone": ("deleted", "gone"),
    "NodeSet patched to pod gone": ("patched", "gone"),
}


@dataclass(frozen=True)
class Run:
    """One scale-in."""

    scene: str
    way: str
    times: Times

    def seconds(self, step: str) -> float | None:
        """How long a step of STEPS took; negative where its end came first."""
        begin, end = (getattr(self.times, name) for name in STEPS[step])
        return None if begin is None or end is None else end - begin


class Bench:
    """The lab with the gated stack, and both watches."""

    def __init__(self, gated: Gated, pods: Watched, nodesets: Watched) -> None:
        self.gated = gated
        self.slurm = gated.slurm
        self._pods = pods
        self._nodesets = nodesets

    def round(self, scene: str, ways: Sequence[str]) -> Iterator[Run]:
        """Both ways once, from three replicas to two and on to one."""
        self.gated.stack.pulumi("refresh", "--yes")
        self.gated.reset()
        if scene == "busy":
            self.occupy("gpu-0", 3600, 60)
            self.occupy("gpu-1", 3600, 30)
        for at, way in enumerate(ways):
            yield Run(scene, way, self.scale_in(scene, way, 2 - at))

    def occupy(self, node: str, seconds: int, limit: int) -> int:
        """A job on a node, running; ``limit`` in minutes."""
        job = self.slurm.submit("-p", NODESET, "-w", node, "-t", str(limit), seconds=seconds)
        self.slurm.await_running(job)
        return job

    def scale_in(self, scene: str, way: str, replicas: int) -> Times:
        """One pod less. Raises AssertionError where another pod than the last one goes."""
        node = NODES[replicas]
        job = None
        if scene == "busy":
            self.vacate(node)
            job = self.occupy(node, JOB_S, 2)
        if way == "gate" and self.gated.current["slinky-iac:nodesets"][NODESET]["replicas"] != replicas + 1:
            self.gated.stack.pulumi("refresh", "--yes")
        asked = self.by_gate(replicas) if way == "gate" else self.by_operator(replicas)
        self.gated.await_pods(*NODES[:replicas])
        await_true(f"the pod of {node} is gone", lambda: self.moments(asked, node, replicas, job).gone, 120)
        return self.moments(asked, node, replicas, job)

    def vacate(self, node: str) -> None:
        """End the job that held a node's place."""
        self.slurm.admin("scancel", "-w", node, check=False)
        await_true(f"{node} is empty", lambda: not self.slurm.admin("squeue", "-h", "-w", node).strip(), 60)

    def by_gate(self, replicas: int) -> float:
        """`pulumi up` with fewer replicas, to its end."""
        self.gated.write(replicas)
        asked = time.time()
        run = self.gated.start_up()
        out, _ = run.communicate(timeout=300)
        if run.returncode:
            raise AssertionError(f"pulumi up failed:\n{out[-4000:]}")
        return asked

    def by_operator(self, replicas: int) -> float:
        """`kubectl scale`, and the operator does all."""
        self.gated.world.take_the_fence_away()
        asked = time.time()
        self.gated.world.kubectl("scale", "nodesets.slinky.slurm.net", "-n", NAMESPACE, RESOURCE, f"--replicas={replicas}")
        await_true("a pod less", lambda: len(self.gated.pods()) == replicas, 240)
        self.gated.disown_replicas()
        return asked

    def moments(self, asked: float, node: str, replicas: int, job: int | None) -> Times:
        """What is known so far."""
        log = self.slurm.admin("tail", "-n", "4000", "/var/log/slurm/slurmctld.log")
        return times(
            asked=asked, node=node, replicas=replicas, job=job,
            pods=tuple(self._pods.events), nodesets=tuple(self._nodesets.events), log=log,
        )  # fmt: skip


def measure(rounds: int, before: Mapping[str, int], keep: Callable[[Run], None]) -> list[Run]:
    """Bring the stack up, measure, take it down. ``before``: rounds of each scene so far, which decide who begins."""
    world = World(lab_environment())
    world.require_up()
    slurm = Slurm(cluster.LAB.hosts)
    gated = bring_up(world, slurm)
    env = {**os.environ, **world.env}
    version = world.kubectl(
        "get", "nodesets.slinky.slurm.net", "-n", NAMESPACE, "-o", "jsonpath={.items[0].apiVersion}"
    ).stdout
    pods, nodesets = f"/api/v1/namespaces/{NAMESPACE}/pods", f"/apis/{version}/namespaces/{NAMESPACE}/nodesets"
    found = []
    try:
        with watch(pods, env) as seen_pods, watch(nodesets, env) as seen_nodesets:
            bench = Bench(gated, seen_pods, seen_nodesets)
            for more in range(rounds):
                for scene, done in before.items():
                    number = done + more
                    ways = WAYS if number % 2 == 0 else WAYS[::-1]
                    for run in bench.round(scene, ways):
                        keep(run)
                        print(f"round {number + 1}, {scene}, {run.way} ({machine()})", *told(run), sep="\n", flush=True)
                        found.append(run)
    finally:
        slurm.cancel_all()
        gated.stack.pulumi("refresh", "--yes")
        gated.stack.pulumi("destroy", "--yes")
    return found


def told(run: Run) -> list[str]:
    """One scale-in in lines for people."""
    return [f"    {step:<40}{seconds:7.2f} s" for step in STEPS if (seconds := run.seconds(step)) is not None]


def medians(runs: Sequence[Run], scene: str, way: str) -> dict[str, float]:
    """Median seconds of every step that could be seen in each run of a kind."""
    kind = [run for run in runs if (run.scene, run.way) == (scene, way)]
    found = {step: [run.seconds(step) for run in kind] for step in STEPS}
    return {
        step: statistics.median(s for s in taken if s is not None)
        for step, taken in found.items()
        if taken and None not in taken
    }


def aims(runs: Sequence[Run]) -> list[Aim]:
    """What was promised, with jobs."""
    gate, alone = (medians(runs, "busy", way) for way in WAYS)
    worst = max(
        s
        for run in runs
        if (run.scene, run.way) == ("busy", "gate")
        if (s := run.seconds("job's end to NodeSet patched")) is not None
    )
    gone = "job's end to pod gone"
    return [
        Aim("gate opens after the job's end, slowest", worst, POLL_S + LOOK_S, unit=" s"),
        Aim("job's end to pod gone, gate beyond operator alone", gate[gone] - alone[gone], 0.0, unit=" s"),
    ]


def summary(runs: Sequence[Run]) -> str:
    """All runs in lines for people: medians, then aims."""
    out = []
    for scene in dict.fromkeys(run.scene for run in runs):
        gate, alone = (medians(runs, scene, way) for way in WAYS)
        out.append(f"{scene}, medians of {sum(1 for run in runs if run.scene == scene) // 2} rounds: gate | operator alone")
        out += [f"  {step:<42}{_cell(gate, step)} |{_cell(alone, step)}" for step in STEPS if step in gate or step in alone]
    judged = aims(runs) if any(run.scene == "busy" for run in runs) else []
    return "\n".join([*out, *(aim.line() for aim in judged)])


def rows(runs: Sequence[Run], scene: str) -> dict[str, dict[str, Measured]]:
    """A scene for the ledger: the steps that were seen, by way."""
    gate, alone = (medians(runs, scene, way) for way in WAYS)
    found: dict[str, dict[str, Measured]] = {}
    for step in STEPS:
        ours, rival = gate.get(step), alone.get(step)
        both = ours is not None and rival is not None and min(ours, rival) > 0
        if ours is not None:
            ratio = ours / rival if both and rival is not None else None
            found[step] = {WAYS[0]: Measured(ours, "s", WAYS[1] if both else None, ratio)}
        if rival is not None and rival > 0:
            found.setdefault(step, {})[WAYS[1]] = Measured(rival, "s")
    return found


def _cell(found: Mapping[str, float], step: str) -> str:
    return f"{found[step]:8.2f} s" if step in found else f"{'-':>8}  "


def plain(run: Run) -> dict[str, Any]:
    """For --keep."""
    return asdict(run)


def parsed(kept: Mapping[str, Any]) -> Run:
    """The inverse of :func:`plain`."""
    return Run(kept["scene"], kept["way"], Times(**kept["times"]))


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default 3)")
    parser.add_argument("--scenes", nargs="+", choices=SCENES, default=list(SCENES), help="default: both")
    parser.add_argument("--keep", type=Path, help="file that rounds are added to, and that the summary is of")
    args = parser.parse_args(argv)
    kept = args.keep.read_text().splitlines() if args.keep and args.keep.exists() else []
    before = [parsed(json.loads(line)) for line in kept]
    rounds = {scene: sum(1 for run in before if run.scene == scene) // 2 for scene in args.scenes}

    def keep(run: Run) -> None:
        if args.keep:
            with args.keep.open("a") as file:
                file.write(json.dumps(plain(run)) + "\n")

    runs = measure(args.rounds, rounds, keep)
    for scene in args.scenes:
        figures.record(Path(__file__), f"scale-in {scene}", rows([*before, *runs], scene))
    print(summary([*before, *runs]))


if __name__ == "__main__":
    main()
