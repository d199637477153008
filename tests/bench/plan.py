"""Time and memory of a scale-in's plan for 10,000 nodes and 100,000 jobs, and of reading slurmrestd's list of jobs.

Run: venv/bin/python -m tests.bench.plan [--nodes 10000] [--jobs 100000] [--rounds 5] [--rows 10000]

Planning, half of the nodes selected, from views of nodes and jobs that are there already:

- ours: `ClusterView.of` and `plan_scale_in`: the choice, its proof against the operator's ranking, blocks, warnings;
- sort only: when each node's last job ends, in one pass; the earliest nodes are selected. Of what the plan says, it knows
  nothing but the ends: the floor for any planner in Python;
- rescan: the obvious loop that looks at all jobs again for each node; a sample of nodes, scaled to all.

Reading, out of one body as slurmrestd writes it (some 10 kB a job), to the same values:

- ours: `JobRows`, row by row as the pieces of the answer come;
- whole: msgspec on the whole body;
- json only: the standard library's parser, without looking at what it says.

Aim: a plan in less than 0.5 s.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from lab.paths import REPO
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.plan import DrainPlan, plan_scale_in
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.settings import DrainPolicy, Owner
from slinky_iac.kube.objects import Pod
from slinky_iac.releases import OperatorVersion
from slinky_iac.slurmrest.answers import Envelope
from slinky_iac.slurmrest.controller import RowlessJobs
from slinky_iac.slurmrest.lists import JobRows, JobsAnswer
from slinky_iac.slurmrest.objects import Job, Node, Number
from tests.bench.measure import Aim, Samples, clocked, in_turns, lines, machine, median_ratio, peak_mib
from tests.unit import builders

PLAN_MOST_S = 0.5
PIECE = 65_536
"""Bytes that httpcore reads from a socket at once."""
NOW = 1_800_000_000
OWNER = Owner("bench", "gpu")
VERSION = OperatorVersion.parse("1.2.1")
WIDE = 20
"""Every so manieth job runs on four nodes."""
MEMORY = """
import re, sys
from pathlib import Path
from tests.bench.plan import READERS
content = Path(sys.argv[2]).read_bytes()
def most():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
before = most()
READERS[sys.argv[1]](content)
print(most() - before)
"""
"""A reader alone in a process: most memory beside the body, in KiB. tracemalloc would miss what Rust takes."""


@dataclass(frozen=True)
class Fleet:
    """A NodeSet of many pods, each with its node, and the jobs on them."""

    pods: tuple[Pod, ...]
    nodes: tuple[Node, ...]
    jobs: tuple[Job, ...]

    @property
    def target(self) -> int:
        """Half of the pods are selected."""
        return len(self.pods) // 2


def fleet(nodes: int, jobs: int, seed: int = 1) -> Fleet:
    """Every node busy, all jobs running: nothing may be left out of account."""
    made = random.Random(seed)
    running = []
    for number in range(1, jobs + 1):
        first = made.randrange(nodes)
        where = {(first + step) % nodes for step in range(4 if number % WIDE == 0 else 1)}
        end = NOW + made.randrange(60, 7 * 86_400)
        running.append(builders.job(number, ",".join(f"gpu-{n}" for n in sorted(where)), start_time=NOW, end_time=end))
    return Fleet(
        pods=tuple(
            builders.pod(f"gpu-pod-{n}", ordinal=n, slurm_node=f"gpu-{n}", slurm_states=("MIXED",)) for n in range(nodes)
        ),
        nodes=tuple(builders.node(f"gpu-{n}", "MIXED+DYNAMIC_NORM", alloc_cpus=8) for n in range(nodes)),
        jobs=tuple(running),
    )


def ours(given: Fleet) -> DrainPlan:
    """The plan as a preview has it."""
    cluster = ClusterView.of(given.nodes, given.jobs)
    count = len(given.pods)
    state = builders.nodeset("gpu", count)
    policy = DrainPolicy()
    seen = Observation(NOW, VERSION, tuple(given.pods), cluster=cluster)
    return plan_scale_in(seen, state, given.target, policy, OWNER)


def sort_only(given: Fleet) -> list[Pod]:
    """The pods whose nodes' last jobs end first."""
    last: dict[str, int] = {}
    for job in given.jobs:
        for node in job.node_names:
            last[node] = max(last.get(node, 0), job.expected_end or 0)
    ranked = sorted(given.pods, key=lambda pod: (last.get(pod.slurm_node, 0), -pod.ordinal))
    return ranked[: len(given.pods) - given.target]


def rescan(given: Fleet, pods: Sequence[Pod]) -> list[Pod]:
    """The same choice among ``pods`` by the loop that one writes first."""
    ends = {
        pod.name: max((job.expected_end or 0 for job in given.jobs if pod.slurm_node in job.node_names), default=0)
        for pod in pods
    }
    return sorted(pods, key=lambda pod: (ends[pod.name], -pod.ordinal))


def check(given: Fleet) -> None:
    """The plan is one: nothing blocks it, and by the ends in the rows it is no dearer than the rival's choice."""
    plan = ours(given)
    rivals = {pod.name for pod in sort_only(given)}
    last: dict[str, int] = {}
    for job in given.jobs:
        for node in job.node_names:
            last[node] = max(last.get(node, 0), job.expected_end or 0)
    mine = sorted((last.get(each.node, 0) for each in plan.selected), reverse=True)
    theirs = sorted((last.get(pod.slurm_node, 0) for pod in given.pods if pod.name in rivals), reverse=True)
    if plan.blocks or len(plan.selected) != len(rivals) or mine > theirs:
        raise AssertionError(f"no plan, or a dearer one than by sorting: {plan.blocks}")


def planning(given: Fleet, rounds: int, sample: int) -> Samples:
    """All planners in turns."""
    tried = given.pods[:: max(len(given.pods) // sample, 1)][:sample]
    scale = len(given.pods) / len(tried)
    ways: dict[str, Callable[[], float]] = {
        "ours": lambda: clocked(lambda: ours(given)),
        "sort only": lambda: clocked(lambda: sort_only(given)),
        "rescan": lambda: clocked(lambda: rescan(given, tried)) * scale,
    }
    return in_turns(ways, rounds)


def body(rows: int) -> bytes:
    """An answer of ``GET jobs/`` with so many running jobs, as wide as slurmrestd's own rows: those have some 170 fields, of
    which we read a dozen."""
    listed = ",\n    ".join(json.dumps(row(number)) for number in range(1, rows + 1))
    meta = {"slurm": {"release": "26.05.5", "cluster": "bench", "version": {"major": "26"}}}
    rest = json.dumps({"last_update": count(NOW), "errors": [], "warnings": [], "meta": meta})
    return f'{{"jobs": [\n    {listed}\n  ], {rest[1:]}'.encode()


def count(value: int) -> dict[str, object]:
    """A number as slurmrestd writes it."""
    return {"set": True, "infinite": False, "number": value}


def row(number: int) -> dict[str, object]:
    """One running job."""
    node = f"gpu-{number % 1000}"
    times = {"start_time": count(NOW), "end_time": count(NOW + 3600), "submit_time": count(NOW), "time_limit": count(60)}
    unread = {f"a_number_that_we_do_not_read_{n}": count(n) for n in range(90)}
    texts = {f"a_text_that_we_do_not_read_{n}": "/home/alice/some/where" for n in range(40)}
    cores = [{"index": core, "status": ["ALLOCATED"]} for core in range(16)]
    sockets = {"nodes": {"allocation": [{"name": node, "sockets": [{"index": 0, "cores": cores}]}]}}
    plain = {"job_id": number, "job_state": ["RUNNING"], "nodes": node, "user_name": "alice", "partition": "gpu"}
    return {**plain, **unread, **times, **texts, "job_resources": sockets, "name": "train", "requeue": True, "shared": []}


def read_ours(content: bytes) -> object:
    """As the client reads it, in pieces as they come from a socket."""
    rows, whole = JobRows(), memoryview(content)
    for at in range(0, len(whole), PIECE):
        rows.feed(bytes(whole[at : at + PIECE]))
    return rows.answer(RowlessJobs.parse(rows.rest()), 0.0, 0.0)


class WholeBody(Envelope, frozen=True, kw_only=True):
    """GET jobs/ with its rows."""

    jobs: tuple[Job, ...]
    last_update: Number


def read_whole(content: bytes) -> object:
    """The same values by the shortest way to write it."""
    body = WholeBody.parse(content)
    return JobsAnswer(body.jobs, body.last_update.number, 0.0, 0.0)


READERS: dict[str, Callable[[bytes], object]] = {"ours": read_ours, "whole": read_whole, "json only": json.loads}


def reading(content: bytes, rounds: int) -> Samples:
    """All readers in turns."""
    return in_turns({name: partial(clocked, partial(read, content)) for name, read in READERS.items()}, rounds)


def read_memory(content: bytes) -> dict[str, float]:
    """Most memory of each reading, in MiB beside the body."""
    with tempfile.NamedTemporaryFile(prefix="slinky-iac-bench-") as file:
        file.write(content)
        file.flush()
        kib = {}
        for name in READERS:
            command = [sys.executable, "-c", MEMORY, name, file.name]
            kib[name] = int(subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPO).stdout)
    return {name: value / 1024 for name, value in kib.items()}


def report_planning(given: Fleet, rounds: int, sample: int) -> str:
    """Planning in lines for people."""
    check(given)
    samples = planning(given, rounds, sample)
    what = f"plan of {len(given.pods)} nodes, {len(given.jobs)} jobs, down to {given.target}"
    ratios = f"  ours to sort only: {median_ratio(samples, 'ours', 'sort only'):.1f}x; "
    ratios += f"rescan to ours: {median_ratio(samples, 'rescan', 'ours'):.0f}x"
    memory = f"  most memory: the views {peak_mib(lambda: fleet(len(given.pods), len(given.jobs))):.0f} MiB; beside them "
    memory += f"ours {peak_mib(lambda: ours(given)):.1f} MiB, sort only {peak_mib(lambda: sort_only(given)):.1f} MiB"
    aim = Aim("a plan", statistics.median(samples["ours"]), PLAN_MOST_S, unit=" s")
    head = f"{what} ({machine()}); rescan: {sample} nodes, scaled"
    return "\n".join([head, *lines(samples), ratios, memory, aim.line()])


def report_reading(rows: int, rounds: int) -> str:
    """Reading in lines for people."""
    content, few = body(rows), body(100)
    if read_ours(few) != read_whole(few):
        raise AssertionError("the two readings differ")
    samples = reading(content, rounds)
    mib = len(content) / (1 << 20)
    head = f"list of {rows} jobs, {mib:.0f} MiB ({machine()})"
    ratios = f"  whole to ours: {median_ratio(samples, 'whole', 'ours'):.2f}x; "
    ratios += f"ours to json only: {median_ratio(samples, 'ours', 'json only'):.2f}x"
    held = ", ".join(f"{name} {most:.0f} MiB ({most / mib:.1f}x)" for name, most in read_memory(content).items())
    return "\n".join([head, *lines(samples), ratios, f"  most memory beside the body: {held}"])


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000, help="nodes (default 10000)")
    parser.add_argument("--jobs", type=int, default=100_000, help="running jobs (default 100000)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each kind (default 5)")
    parser.add_argument("--sample", type=int, default=20, help="nodes that are looked up by rescanning (default 20)")
    parser.add_argument("--rows", type=int, default=10_000, help="jobs in the list that is read (default 10000)")
    args = parser.parse_args(argv)
    print(report_planning(fleet(args.nodes, args.jobs), args.rounds, args.sample), flush=True)
    print(report_reading(args.rows, args.rounds), flush=True)


if __name__ == "__main__":
    main()
