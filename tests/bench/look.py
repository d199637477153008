"""One look of a gate at Slurm with many job records, end to end on real daemons, against `scontrol show jobs`.

Run (as root): venv/bin/python -m tests.bench.look [--sizes 1000 10000 20000 50000] [--holding 500] [--rounds 2]
[--arenas 1] [--most 4096] [--lists]

It brings up a Slurm cluster of its own beside the lab's, fills it with held jobs (slurmctld and slurmrestd do with them all
that they do with any record) and with allocations that hold nodes, and starts a slurmrestd with a bounded address space.
Each size in turns:

- look: nodes, jobs and reservations by our client to the gate's view, in a process of its own, whose memory is read;
- states: slurmrestd's `jobs/state/`, by which a look finds the jobs that hold nodes; its own processor time beside it;
- squeue: `squeue --only-job-state` of all jobs on slurmctld's own host, its start included: what slurmctld takes for them;
- scontrol: `scontrol show jobs -o` there;
- list, with ``--lists``: slurmrestd's list of all records, as a look read it before.

A size that would take slurmrestd past ``--most`` MiB, by the one before, is not tried but extrapolated. ``--arenas 0``:
glibc's own number of heaps, of which each keeps the largest answer that was made in it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import jwt

from lab.slurm.cluster import Cluster
from slinky_iac.drain.observe import cluster_view
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.endpoints import Direct
from tests import figures
from tests.bench.drain import slurm
from tests.bench.measure import Aim, Samples, clocked, in_turns, lines, machine, median_ratio, own_peak_mib
from tests.figures import Measured

PORT = 6830
MOST_JOBS = 60_000
LOOK_S, LOOK_MIB = 10.0, 200.0
WHOLE = 50_000
CROWD = "PartitionName=crowd Nodes=metal-1,metal-2 OverSubscribe=FORCE:8000 State=UP\n"
"""Job records that the aims are for."""
KEPT = 'ulimit -v "$1"; shift; exec "$@"'
TIMED = 'began=$EPOCHREALTIME; "$@" >/dev/null || exit 1; ended=$EPOCHREALTIME; echo "$began $ended"'


@dataclass(frozen=True)
class Found:
    """What was measured at one size."""

    size: int
    samples: Samples
    ours_mib: float
    """Most memory of the process that looked."""
    theirs_mib: float
    """Most memory of slurmrestd."""
    states_s: float = 0.0
    """slurmrestd's own processor time for one list of states."""


class Rest:
    """A slurmrestd of this measurement's own, with a bounded address space."""

    def __init__(self, cluster: Cluster, arenas: int, most_mib: int) -> None:
        env = ["SLURM_JWT=daemon", "SLURMRESTD_SECURITY=disable_unshare_files,disable_unshare_sysv"]
        env += [f"MALLOC_ARENA_MAX={arenas}"] if arenas else []
        argv = ["bash", "-c", KEPT, "kept", str((most_mib + 1024) * 1024), "setpriv", "--reuid=nobody", "--regid=nogroup"]
        argv += ["--clear-groups", "env", *env, "/usr/sbin/slurmrestd", f"0.0.0.0:{PORT}"]
        self.process = subprocess.Popen(cluster.hosts.entered("rest", argv), stderr=subprocess.DEVNULL)
        self.url = f"http://{cluster.site.network.address(12)}:{PORT}"
        self.key = cluster.site.keys / "jwt_hs256.key"

    @property
    def pid(self) -> int:
        """slurmrestd itself, at the end of the line of wrappers."""
        pid = self.process.pid
        while children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            pid = int(children[0])
        return pid

    def most_mib(self) -> float:
        """Its most memory so far."""
        rows = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(row.split()[1]) for row in rows if row.startswith("VmHWM")) / 1024

    def token(self) -> dict[str, str]:
        """The header that slurmctld takes for an hour."""
        now = int(time.time())
        claims = {"iat": now, "exp": now + 3600, "sun": "slurm"}
        return {"X-SLURM-USER-TOKEN": jwt.encode(claims, self.key.read_bytes(), algorithm="HS256")}

    def asked(self, path: str) -> None:
        """One plain question."""
        httpx.get(f"{self.url}/slurm/v0.0.45/{path}", headers=self.token(), timeout=600).raise_for_status()

    def processor_s(self) -> float:
        """Seconds of a processor that it has used so far, its kernel's part included."""
        user, system = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def hold(self, count: int) -> None:
        """So many allocations without a step: jobs that hold a node and take nothing of the machine."""
        wish = {
            "name": "train", "account": "research", "user_id": "1000", "partition": "crowd", "tasks": 1, "minimum_nodes": 1,
            "time_limit": {"set": True, "number": 600}, "current_working_directory": "/tmp", "environment": ["PATH=/bin"],
        }  # fmt: skip
        with httpx.Client(base_url=self.url, headers=self.token(), timeout=60) as client:
            for _ in range(count):
                client.post("/slurm/v0.0.45/job/allocate", json={"job": wish}).raise_for_status()

    def submit(self, count: int) -> None:
        """So many more held jobs."""
        wish = {
            "name": "train", "hold": True, "account": "research", "user_id": "1000", "partition": "all", "tasks": 1,
            "current_working_directory": "/tmp", "environment": ["PATH=/usr/bin:/bin"],
        }  # fmt: skip
        with httpx.Client(base_url=self.url, headers=self.token(), timeout=60) as client:
            for _ in range(count):
                body = {"script": "#!/bin/sh\nsleep 1\n", "job": wish}
                client.post("/slurm/v0.0.45/job/submit", json=body).raise_for_status()


@contextmanager
def slurmrestd(cluster: Cluster, arenas: int, most_mib: int) -> Iterator[Rest]:
    """A :class:`Rest`, ended at the end."""
    rest = Rest(cluster, arenas, most_mib)
    try:
        for _ in range(100):
            try:
                rest.asked("ping/")
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        yield rest
    finally:
        os.kill(rest.pid, signal.SIGTERM)
        rest.process.wait()


def look_once(url: str, key: Path) -> dict[str, float]:
    """A look in this process: seconds, and the most memory that the process had."""
    with SlurmrestClient(Direct(url, plain_http=True), [key.read_bytes()], budget_s=600) as client:
        began = time.perf_counter()
        view = cluster_view(client)
        seconds = time.perf_counter() - began
    return {
        "s": seconds,
        "mib": own_peak_mib(),
        "held": len({job.job_id for jobs in view.jobs_on.values() for job in jobs}),
    }


def measure(cluster: Cluster, rest: Rest, size: int, holding: int, rounds: int, *, lists: bool) -> Found:
    """All ways in turns. Raises AssertionError where a look missed a job that holds a node."""
    ours: list[float] = []
    theirs: list[float] = []

    def look() -> float:
        argv = [sys.executable, "-m", "tests.bench.look", "--once", rest.url, str(rest.key)]
        told = json.loads(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)
        if told["held"] != holding:
            raise AssertionError(f"a look found {told['held']} jobs on nodes, and {holding} are")
        ours.append(told["mib"])
        return float(told["s"])

    def on_ctl(*command: str) -> float:
        argv = ["bash", "-c", TIMED, "timed", *command]
        began, ended = cluster.hosts.run("ctl", argv, timeout=600).stdout.split()
        return float(ended) - float(began)

    def states() -> float:
        before = rest.processor_s()
        seconds = clocked(lambda: rest.asked("jobs/state/"))
        theirs.append(rest.processor_s() - before)
        return seconds

    ways: dict[str, Callable[[], float]] = {
        "look": look,
        "states": states,
        "squeue": lambda: on_ctl("squeue", "--only-job-state", "--states=all", "--noheader"),
        "scontrol": lambda: on_ctl("scontrol", "show", "jobs", "-o"),
    }
    if lists:
        ways["list"] = lambda: clocked(lambda: rest.asked("jobs/"))
    return Found(size, in_turns(ways, rounds), max(ours), rest.most_mib(), min(theirs))


def aims(first: Found, last: Found) -> tuple[Aim, ...]:
    """What was promised, for 50,000 records, from the smallest and the largest size that was measured."""
    slope = (last.ours_mib - first.ours_mib) / max(last.size - first.size, 1)
    ours = last.ours_mib + slope * (WHOLE - last.size)
    slowest = max(last.samples["look"]) * WHOLE / last.size
    return (
        Aim(f"look at {WHOLE} records, from {last.size}", slowest, LOOK_S, unit=" s"),
        Aim(f"our process at {WHOLE} records, from {first.size} and {last.size}", ours, LOOK_MIB, unit=" MiB"),
    )


def row(found: Found) -> dict[str, Measured]:
    """One size for the ledger."""
    seconds = {way: statistics.median(taken) for way, taken in found.samples.items()}
    ratio = median_ratio(found.samples, "look", "scontrol")
    return {
        "look": Measured(seconds["look"], "s", "scontrol show jobs", ratio),
        **{way: Measured(taken, "s") for way, taken in seconds.items() if way != "look"},
        "states, processor of slurmrestd": Measured(found.states_s, "s"),
        "our process": Measured(found.ours_mib, "MiB"),
        "slurmrestd": Measured(found.theirs_mib, "MiB"),
    }


def report(found: Found) -> str:
    """One size in lines for people."""
    ratio = median_ratio(found.samples, "look", "scontrol")
    memory = f"  memory: our process {found.ours_mib:.0f} MiB, slurmrestd {found.theirs_mib:.0f} MiB"
    whole = f"  slurmrestd's processor time for the states: {found.states_s:.2f} s"
    head = f"{found.size} job records ({machine()})"
    return "\n".join([head, *lines(found.samples), f"  look to scontrol: {ratio:.1f}x", memory, whole])


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 20_000, WHOLE], help="job records")
    parser.add_argument("--holding", type=int, default=500, help="jobs among them that hold nodes (default 500)")
    parser.add_argument("--lists", action="store_true", help="slurmrestd's list of all records too")
    parser.add_argument("--rounds", type=int, default=2, help="looks of each kind (default 2)")
    parser.add_argument("--arenas", type=int, default=1, help="MALLOC_ARENA_MAX of slurmrestd (default 1; 0: glibc's own)")
    parser.add_argument("--most", type=int, default=4096, help="MiB that slurmrestd may take (default 4096)")
    parser.add_argument("--once", nargs=2, metavar=("URL", "KEY"), help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.once:
        print(json.dumps(look_once(args.once[0], Path(args.once[1]))))
        return
    found: list[Found] = []
    with slurm(f"MaxJobCount={MOST_JOBS}\n{CROWD}") as cluster:
        for size in sorted(args.sizes):
            before = found[-1] if found else Found(0, {}, 0, 0)
            if before.size and before.theirs_mib * size / before.size > args.most:
                print(f"{size} job records: not tried, slurmrestd would pass {args.most} MiB")
                break
            with slurmrestd(cluster, args.arenas, args.most) as rest, ThreadPoolExecutor(4) as pool:
                more = size - (before.size or args.holding)
                rest.hold(0 if before.size else args.holding)
                list(pool.map(rest.submit, [more // 4 + (part < more % 4) for part in range(4)]))
                found.append(measure(cluster, rest, size, args.holding, args.rounds, lists=args.lists))
            figures.record(Path(__file__), "look", {f"{size:,}": row(found[-1])})
            print(report(found[-1]), flush=True)
    if found:
        print("\n".join(aim.line() for aim in aims(found[0], found[-1])))


if __name__ == "__main__":
    main()
