"""What the gates of one preview ask of a cluster, and what that costs: requests, processor time, and time beside a rival's.

Run: venv/bin/python -m tests.bench.questions [--nodesets 1 10 100] [--delay 0.02] [--rounds 3]

Kubernetes' API server and slurmrestd are in memory, behind real sockets, each answer after a set delay. Every NodeSet has
ten pods and as many nodes, with a job on one of them, and loses two in the preview. Ways, in turns, each in a process of its
own, whose processor time is its own:

- gates: the gates of all NodeSets, as the engine runs them: 64 threads of one process;
- lists once: the shortest program that reads the same things: each list once, one after the other, over one connection, and
  each NodeSet; their JSON is parsed, and nothing is concluded from it.

Requests are counted by the server, so they are exact; of time the ratio says more than the seconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx

from lab.paths import REPO
from slinky_iac.cluster.reach import Reach
from slinky_iac.drain import preview
from slinky_iac.slurmrest.auth import SlurmJwtAuth
from tests import figures
from tests.bench.measure import machine
from tests.figures import Measured
from tests.gate_site import HPAS, NODESETS, PODS, SCALED, Site
from tests.unit.drain.model_session import settings
from tests.unit.slurmrest.fake import KEY

EACH = 10
REMOVED = 2
THREADS = 64
"""Calls that our plugin serves at once."""
SLURM = "/api/v1/namespaces/slurm/services/hpc-restapi:6820/proxy/slurm/v0.0.45"
DEPLOYMENT = "/apis/apps/v1/namespaces/slurm/deployments/hpc-restapi"
WAYS = ("gates", "lists once")


@dataclass(frozen=True)
class Turn:
    """One way, once."""

    kubernetes: int
    """Requests to the API server itself."""
    slurmrestd: int
    wall_s: float
    processor_s: float


def gates(kubeconfig: str, count: int) -> None:
    """The previews of all gates."""
    reach = Reach("slurm", "hpc-restapi", "jwt", "jwt.key", kubeconfig=kubeconfig)

    def one(number: int) -> None:
        wanted = settings(EACH - REMOVED, resource=f"hpc-worker-g{number}", reach=reach)
        found = preview.nodeset_scale(wanted, {"replicas": EACH})
        if found.plan is None or len(found.plan["nodes"]) != REMOVED:
            raise AssertionError(f"no plan: {found}")

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(one, range(count)))


def lists_once(kubeconfig: str, count: int) -> None:
    """What they rest on, and nothing concluded from it."""
    server = json.loads(Path(kubeconfig).read_text())["clusters"][0]["cluster"]["server"]
    each = [f"{NODESETS}/hpc-worker-g{number}" for number in range(count)]
    slurm = [f"{SLURM}/{path}" for path in ("ping/", "nodes/", "diag/", "jobs/", "reservations/", "conf")]
    with httpx.Client(base_url=server, trust_env=False) as client:
        for path in (*each, PODS, HPAS, SCALED, DEPLOYMENT, "/api/v1/namespaces/slurm/secrets/jwt"):
            client.get(path).raise_for_status().json()
        signed = SlurmJwtAuth([KEY], clock=time.time)
        for path in slurm:
            client.get(path, auth=signed).raise_for_status().json()


RUN: dict[str, Callable[[str, int], None]] = {"gates": gates, "lists once": lists_once}


def turn(site: Site, kubeconfig: str, count: int, way: str) -> Turn:
    """One way in a process of its own."""
    site.server.asked.clear()
    command = [sys.executable, "-m", "tests.bench.questions", "--once", way, kubeconfig, str(count)]
    told = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=REPO).stdout)
    proxied = sum("/proxy/" in path for path in site.server.asked)
    return Turn(len(site.server.asked) - proxied, proxied, told["wall_s"], told["processor_s"])


def measure(count: int, delay_s: float, rounds: int) -> dict[str, list[Turn]]:
    """Both ways in turns. Raises AssertionError where their number of requests isn't the same in each round."""
    found: dict[str, list[Turn]] = {way: [] for way in WAYS}
    site = Site(count, each=EACH)
    site.server.delay_s = delay_s
    site.server.objects[DEPLOYMENT] = {"metadata": {"name": "hpc-restapi"}, "status": {"availableReplicas": 1}}
    with tempfile.TemporaryDirectory(prefix="slinky-iac-bench-") as folder, site.server:
        kubeconfig = site.server.kubeconfig(Path(folder))
        for number in range(rounds):
            for way in WAYS if number % 2 == 0 else WAYS[::-1]:
                found[way].append(turn(site, kubeconfig, count, way))
    for way, turns in found.items():
        if len({(each.kubernetes, each.slurmrestd) for each in turns}) != 1:
            raise AssertionError(f"{way}: another number of requests in another round: {turns}")
    return found


def rows(count: int, found: dict[str, list[Turn]]) -> dict[str, dict[str, Measured]]:
    """For the ledger."""
    ours, rival = (found[way] for way in WAYS)
    wall = statistics.median(a.wall_s / b.wall_s for a, b in zip(ours, rival, strict=True))
    cpu = [statistics.median(each.processor_s for each in turns) for turns in (ours, rival)]
    name = WAYS[1]
    asked = [each[0].kubernetes + each[0].slurmrestd for each in (ours, rival)]
    return {
        f"{count}": {
            "to the API server": Measured(ours[0].kubernetes),
            "to slurmrestd": Measured(ours[0].slurmrestd),
            "all requests": Measured(asked[0], "", name, asked[0] / asked[1]),
            "processor time": Measured(cpu[0], "s", name, cpu[0] / cpu[1]),
            "wall clock": Measured(statistics.median(each.wall_s for each in ours), "s", name, wall),
        }
    }


def once(way: str, kubeconfig: str, count: int) -> dict[str, float]:
    """A way in this process, imports not counted."""
    wall, processor = time.perf_counter(), time.process_time()
    RUN[way](kubeconfig, count)
    return {"wall_s": time.perf_counter() - wall, "processor_s": time.process_time() - processor}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodesets", type=int, nargs="+", default=[1, 10, 100], help="sizes (default 1 10 100)")
    parser.add_argument("--delay", type=float, default=0.02, help="seconds of each answer (default 0.02)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each way (default 3)")
    parser.add_argument("--once", nargs=3, metavar=("WAY", "KUBECONFIG", "COUNT"), help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.once:
        print(json.dumps(once(args.once[0], args.once[1], int(args.once[2]))))
        return
    for count in args.nodesets:
        found = rows(count, measure(count, args.delay, args.rounds))
        figures.record(Path(__file__), "questions", found)
        told = "; ".join(f"{column} {figures.told(each)}" for column, each in found[f"{count}"].items())
        print(f"{count} NodeSets, {args.delay:g} s an answer ({machine()}): {told}", flush=True)


if __name__ == "__main__":
    main()
