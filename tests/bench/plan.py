"""Time and memory of a scale-in's plan for 10,000 nodes and 100,000 jobs, and of reading slurmrestd's lists.

Run: venv/bin/python -m tests.bench.plan [--nodes 10000] [--jobs 100000] [--rounds 5] [--rows 10000]

Planning, from views of nodes and jobs that are there already. Cases: half of one NodeSet goes; one of it; two of ten in each
of many small NodeSets; half, while jobs wait that name their nodes by --nodelist. Ways:

- ours: `ClusterView.of` and `plan_scale_in`: the choice, its proof against the operator's ranking, blocks, warnings;
- ends only: when each node's last job ends, in one pass; the earliest nodes are selected. Of what the plan says, it knows
  nothing but the ends: the floor for any planner in Python.

Reading, out of one body of rows as a real slurmrestd wrote them (rows.json: 9 kB a job, 2.7 kB a node), to the same values:

- ours: `JobRows` and `NodeRows`, row by row as the pieces of the answer come;
- whole: msgspec on the whole body;
- json only: the standard library's parser, without looking at what it says.

Times are of the processor. Aim: a plan in less than 0.5 s. How planning grows is a test, by counted steps:
tests/unit/drain/test_growth.py.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lab.paths import REPO
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.plan import DrainPlan, plan_scale_in
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.settings import DrainPolicy, Owner
from slinky_iac.kube.objects import Pod
from slinky_iac.releases import OperatorVersion
from slinky_iac.slurmrest.answers import Envelope
from slinky_iac.slurmrest.controller import RowlessJobs, RowlessNodes
from slinky_iac.slurmrest.lists import JobRows, NodeRows
from slinky_iac.slurmrest.objects import Job, Node
from tests import figures
from tests.bench.measure import Aim, Samples, in_turns, lines, machine, median_ratio, peak_mib, worked
from tests.figures import Measured
from tests.made.jobs import job as made_job
from tests.made.nodes import node as made_node
from tests.made.nodesets import nodeset
from tests.made.pods import pod as made_pod

PLAN_MOST_S = 0.5
PIECE = 65_536
"""Bytes that httpcore reads from a socket at once."""
NOW = 1_800_000_000
OWNER = Owner("bench", "gpu")
VERSION = OperatorVersion.parse("1.2.1")
WIDE = 20
"""Every so manieth job runs on four nodes."""
RIVAL = "ends only"
ROWS = json.loads(Path(__file__).with_name("rows.json").read_text())
MEMORY = """
import re, sys
from pathlib import Path
from tests.bench.plan import READERS
content = Path(sys.argv[3]).read_bytes()
def most():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
before = most()
READERS[sys.argv[1]][sys.argv[2]](content)
print(most() - before)
"""
"""A reader alone in a process: most memory beside the body, in KiB. tracemalloc would miss what Rust takes."""


@dataclass(frozen=True)
class Fleet:
    """NodeSets of pods, each with its node, and the jobs on them."""

    nodesets: tuple[tuple[Pod, ...], ...]
    nodes: tuple[Node, ...]
    jobs: tuple[Job, ...]
    removed: int
    """Pods that go, of each NodeSet."""

    @property
    def pods(self) -> tuple[Pod, ...]:
        """All of them."""
        return tuple(pod for each in self.nodesets for pod in each)


def fleet(nodes: int, jobs: int, *, size: int = 0, removed: int = 0, waiting: int = 0, seed: int = 1) -> Fleet:
    """Every node busy, all jobs running: nothing may be left out of account. ``size``: pods of a NodeSet, by default all in
    one; ``removed``: by default half; ``waiting``: jobs in the queue that name four nodes each."""
    made = random.Random(seed)
    running = []
    for number in range(1, jobs + 1):
        first = made.randrange(nodes)
        where = {(first + step) % nodes for step in range(4 if number % WIDE == 0 else 1)}
        end = NOW + made.randrange(60, 7 * 86_400)
        running.append(made_job(number, ",".join(f"gpu-{n}" for n in sorted(where)), start_time=NOW, end_time=end))
    for number in range(jobs + 1, jobs + waiting + 1):
        named = ",".join(f"gpu-{made.randrange(nodes)}" for _ in range(4))
        running.append(made_job(number, "", state="PENDING", required_nodes=named))
    pods = tuple(made_pod(f"gpu-pod-{n}", ordinal=n, slurm_node=f"gpu-{n}", slurm_states=("MIXED",)) for n in range(nodes))
    each = size or nodes
    return Fleet(
        nodesets=tuple(pods[at : at + each] for at in range(0, nodes, each)),
        nodes=tuple(made_node(f"gpu-{n}", "MIXED+DYNAMIC_NORM", alloc_cpus=8) for n in range(nodes)),
        jobs=tuple(running),
        removed=removed or each // 2,
    )


def ours(given: Fleet) -> list[DrainPlan]:
    """The plans as a preview has them: one view, a plan for each NodeSet."""
    cluster = ClusterView.of(given.nodes, given.jobs)
    return [
        plan_scale_in(
            Observation(NOW, VERSION, pods, cluster=cluster),
            nodeset("gpu", len(pods)),
            len(pods) - given.removed,
            DrainPolicy(),
            OWNER,
        )
        for pods in given.nodesets
    ]


def ends_of(given: Fleet) -> dict[str, int]:
    """When each node's last job ends."""
    last: dict[str, int] = {}
    for job in given.jobs:
        for node in job.node_names:
            last[node] = max(last.get(node, 0), job.expected_end or 0)
    return last


def ends_only(given: Fleet) -> list[list[Pod]]:
    """Of each NodeSet the pods whose nodes' last jobs end first."""
    last = ends_of(given)
    key: Callable[[Pod], tuple[int, int]] = lambda pod: (last.get(pod.slurm_node, 0), -pod.ordinal)  # noqa: E731
    return [heapq.nsmallest(given.removed, pods, key=key) for pods in given.nodesets]


def check(given: Fleet) -> None:
    """The plans are plans: nothing blocks them, and they are no dearer than the rival's choice: by the nodes that jobs in
    the queue name, then by the ends in the rows."""
    last = ends_of(given)
    named = {node for job in given.jobs if job.waits for node in job.required or ()}
    for plan, rivals in zip(ours(given), ends_only(given), strict=True):
        mine = sorted(((each.node in named, last.get(each.node, 0)) for each in plan.selected), reverse=True)
        theirs = sorted(((pod.slurm_node in named, last.get(pod.slurm_node, 0)) for pod in rivals), reverse=True)
        if plan.blocks or len(mine) != len(theirs) or mine > theirs:
            raise AssertionError(f"no plan, or a dearer one than by ends: {plan.blocks}")


def planning(given: Fleet, rounds: int) -> Samples:
    """Both planners in turns."""
    ways = {"ours": lambda: worked(lambda: ours(given)), RIVAL: lambda: worked(lambda: ends_only(given))}
    return in_turns(ways, rounds)


def cases(nodes: int, jobs: int) -> Iterator[tuple[str, Fleet]]:
    """What is planned, by name. Views are made one after the other: they are large."""
    yield f"half of {nodes:,}", fleet(nodes, jobs)
    yield f"one of {nodes:,}", fleet(nodes, jobs, removed=1)
    yield f"2 of 10, {nodes // 10:,} NodeSets", fleet(nodes, jobs, size=10, removed=2)
    yield f"half of {nodes:,}, {nodes // 2:,} jobs wait with --nodelist", fleet(nodes, jobs, waiting=nodes // 2)
    many = fleet(nodes, jobs, size=nodes // 20, removed=nodes // 200 or 1, waiting=nodes // 2)
    yield f"{many.removed} of {nodes // 20:,}, 20 NodeSets, {nodes // 2:,} jobs wait with --nodelist", many


def body(kind: str, rows: int) -> bytes:
    """An answer of ``GET jobs/`` or ``nodes/`` with so many rows, each as a real slurmrestd wrote it."""
    meta = {"slurm": {"release": "26.05.5", "cluster": "bench", "version": {"major": "26"}}}
    row = job_row if kind == "jobs" else node_row
    rest = {"last_update": count(NOW), "errors": [], "warnings": [], "meta": meta}
    return json.dumps({kind: [row(number) for number in range(1, rows + 1)], **rest}, indent=2).encode()


def count(value: int) -> dict[str, object]:
    """A number as slurmrestd writes it."""
    return {"set": True, "infinite": False, "number": value}


def job_row(number: int) -> dict[str, object]:
    """A running job."""
    return {**ROWS["job"], "job_id": number, "nodes": f"gpu-{number % 1000}", "end_time": count(NOW + number)}


def node_row(number: int) -> dict[str, object]:
    """Its node."""
    return {**ROWS["node"], "name": f"gpu-{number}", "hostname": f"gpu-{number}"}


Reader = Callable[[bytes], object]


def fed(rows: JobRows | NodeRows, content: bytes) -> bytes:
    """The rest of a body whose rows were read in pieces, as they come from a socket."""
    whole = memoryview(content)
    for at in range(0, len(whole), PIECE):
        rows.feed(bytes(whole[at : at + PIECE]))
    return rows.rest()


def jobs_by_rows(content: bytes) -> object:
    """As the client reads jobs."""
    rows = JobRows()
    return rows.answer(RowlessJobs.parse(fed(rows, content)), 0.0, 0.0).jobs


def nodes_by_rows(content: bytes) -> object:
    """As the client reads nodes."""
    rows = NodeRows()
    return rows.answer(RowlessNodes.parse(fed(rows, content)), 0.0, 0.0).nodes


class WholeJobs(Envelope, frozen=True, kw_only=True):
    """GET jobs/ with its rows."""

    jobs: tuple[Job, ...]


class WholeNodes(Envelope, frozen=True, kw_only=True):
    """GET nodes/ with its rows."""

    nodes: tuple[Node, ...]


READERS: dict[str, dict[str, Reader]] = {
    "jobs": {"ours": jobs_by_rows, "whole": lambda content: WholeJobs.parse(content).jobs, "json only": json.loads},
    "nodes": {"ours": nodes_by_rows, "whole": lambda content: WholeNodes.parse(content).nodes, "json only": json.loads},
}
"""By list, and by way; the shortest way to write it reads the whole."""


def reading(kind: str, content: bytes, rounds: int) -> Samples:
    """All readers of a list in turns."""
    ways = {name: partial(worked, partial(read, content)) for name, read in READERS[kind].items()}
    return in_turns(ways, rounds)


def read_memory(kind: str, content: bytes) -> dict[str, float]:
    """Most memory of each reading, in MiB beside the body."""
    with tempfile.NamedTemporaryFile(prefix="slinky-iac-bench-") as file:
        file.write(content)
        file.flush()
        kib = {}
        for name in READERS[kind]:
            command = [sys.executable, "-c", MEMORY, kind, name, file.name]
            kib[name] = int(subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPO).stdout)
    return {name: value / 1024 for name, value in kib.items()}


def planned(given: Fleet, rounds: int) -> tuple[dict[str, Measured], Samples]:
    """A row of planning, and its samples."""
    check(given)
    samples = planning(given, rounds)
    ours_s, rival_s = (statistics.median(samples[way]) for way in ("ours", RIVAL))
    row = {
        "ours": Measured(ours_s, "s", RIVAL, median_ratio(samples, "ours", RIVAL)),
        RIVAL: Measured(rival_s, "s"),
        "memory beside the views": Measured(peak_mib(lambda: ours(given)), "MiB"),
    }
    return row, samples


def read(kind: str, rows: int, rounds: int) -> tuple[dict[str, Measured], Samples]:
    """A row of reading, and its samples."""
    content, few = body(kind, rows), body(kind, 100)
    if READERS[kind]["ours"](few) != READERS[kind]["whole"](few):
        raise AssertionError("the two readings differ")
    samples = reading(kind, content, rounds)
    memory = read_memory(kind, content)
    return {
        "body": Measured(len(content) / (1 << 20), "MiB"),
        "ours": Measured(statistics.median(samples["ours"]), "s", "whole", median_ratio(samples, "ours", "whole")),
        "json only": Measured(
            statistics.median(samples["json only"]), "s", "whole", median_ratio(samples, "json only", "whole")
        ),
        "memory, ours": Measured(memory["ours"], "MiB"),
        "memory, json only": Measured(memory["json only"], "MiB"),
    }, samples


def report(name: str, row: dict[str, Measured], samples: Samples) -> str:
    """One row in lines for people."""
    told = [f"  {column}: {figures.told(each)}" for column, each in row.items()]
    return "\n".join([f"{name} ({machine()})", *lines(samples), *told])


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000, help="nodes (default 10000)")
    parser.add_argument("--jobs", type=int, default=100_000, help="running jobs (default 100000)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each kind (default 5)")
    parser.add_argument("--rows", type=int, default=10_000, help="rows in the lists that are read (default 10000)")
    args = parser.parse_args(argv)
    for name, given in cases(args.nodes, args.jobs):
        row, samples = planned(given, args.rounds)
        figures.record(Path(__file__), "planning", {name: row})
        print(report(f"plan: {name}", row, samples), flush=True)
        print(Aim("a plan", row["ours"].value, PLAN_MOST_S, unit=" s").line(), flush=True)
    for kind in READERS:
        row, samples = read(kind, args.rows, args.rounds)
        figures.record(Path(__file__), "reading", {f"{args.rows:,} {kind}": row})
        print(report(f"list of {args.rows:,} {kind}", row, samples), flush=True)


if __name__ == "__main__":
    main()
