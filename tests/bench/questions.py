"""What the gates of one preview ask of a cluster, and what that costs: requests, processor time, and time beside a rival's.

Run: venv/bin/python -m tests.bench.questions [--nodesets 1 10 100] [--nodes 36 144 576 1152 2304] [--delay S] [--rounds N]

Kubernetes' API server and slurmrestd are in memory, behind real sockets, each answer after a set delay. By NodeSets, every
one has ten pods and as many nodes, with a job on one of them, and loses two in the preview. By nodes, one NodeSet has them
all, with a job on each, and loses half. Ways, in turns, each in a process of its own, whose processor time is its own:

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
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from lab.paths import REPO
from slinky_iac.cluster.reach import Reach
from slinky_iac.drain import preview
from slinky_iac.slurmrest.auth import SlurmJwtAuth
from tests import figures
from tests.bench.measure import machine, own_peak_mib
from tests.figures import Measured
from tests.gate_site import HPAS, NODESETS, PODS, SCALED, Site
from tests.unit.drain.model_session import settings
from tests.unit.slurmrest.fake import KEY

THREADS = 64
"""Calls that our plugin serves at once."""
SLURM = "/api/v1/namespaces/slurm/services/hpc-restapi:6820/proxy/slurm/v0.0.45"
DEPLOYMENT = "/apis/apps/v1/namespaces/slurm/deployments/hpc-restapi"
WAYS = ("gates", "lists once")


@dataclass(frozen=True)
class Size:
    """What a preview is about: ``each`` pods of each of ``count`` NodeSets, of which ``removed`` go."""

    count: int
    each: int
    removed: int
    full: bool = False
    """A job on every node."""


def of_nodesets(count: int) -> Size:
    """Many small NodeSets."""
    return Size(count, 10, 2)


def of_nodes(nodes: int) -> Size:
    """One large NodeSet that is full and loses half."""
    return Size(1, nodes, nodes // 2, full=True)


@dataclass(frozen=True)
class Turn:
    """One way, once."""

    kubernetes: int
    """Requests to the API server itself."""
    slurmrestd: int
    wall_s: float
    processor_s: float
    memory_mib: float
    """The most that the process had, its interpreter and imports included."""


def gates(kubeconfig: str, size: Size) -> None:
    """The previews of all gates."""
    reach = Reach("slurm", "hpc-restapi", "jwt", "jwt.key", kubeconfig=kubeconfig)

    def one(number: int) -> None:
        wanted = settings(size.each - size.removed, resource=f"hpc-worker-g{number}", reach=reach)
        found = preview.nodeset_scale(wanted, {"replicas": size.each})
        if found.plan is None or len(found.plan.props["nodes"]) != size.removed:
            raise AssertionError(f"no plan: {found}")

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(one, range(size.count)))


def lists_once(kubeconfig: str, size: Size) -> None:
    """What they rest on, and nothing concluded from it."""
    server = json.loads(Path(kubeconfig).read_text())["clusters"][0]["cluster"]["server"]
    each = [f"{NODESETS}/hpc-worker-g{number}" for number in range(size.count)]
    slurm = [f"{SLURM}/{path}" for path in ("ping/", "nodes/", "diag/", "jobs/", "reservations/", "conf")]
    with httpx.Client(base_url=server, trust_env=False) as client:
        for path in (*each, PODS, HPAS, SCALED, DEPLOYMENT, "/api/v1/namespaces/slurm/secrets/jwt"):
            client.get(path).raise_for_status().json()
        signed = SlurmJwtAuth([KEY], clock=time.time)
        for path in slurm:
            client.get(path, auth=signed).raise_for_status().json()


RUN: dict[str, Callable[[str, Size], None]] = {"gates": gates, "lists once": lists_once}


def turn(site: Site, kubeconfig: str, size: Size, way: str) -> Turn:
    """One way in a process of its own."""
    site.server.asked.clear()
    command = [sys.executable, "-m", "tests.bench.questions", "--once", way, kubeconfig, json.dumps(asdict(size))]
    told = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=REPO).stdout)
    proxied = sum("/proxy/" in path for path in site.server.asked)
    return Turn(len(site.server.asked) - proxied, proxied, **told)


def measure(size: Size, delay_s: float, rounds: int) -> dict[str, list[Turn]]:
    """Both ways in turns. Raises AssertionError where their number of requests isn't the same in each round."""
    found: dict[str, list[Turn]] = {way: [] for way in WAYS}
    site = Site(size.count, each=size.each, full=size.full)
    site.server.delay_s = delay_s
    site.server.objects[DEPLOYMENT] = {"metadata": {"name": "hpc-restapi"}, "status": {"availableReplicas": 1}}
    with tempfile.TemporaryDirectory(prefix="slinky-iac-bench-") as folder, site.server:
        kubeconfig = site.server.kubeconfig(Path(folder))
        for number in range(rounds):
            for way in WAYS if number % 2 == 0 else WAYS[::-1]:
                found[way].append(turn(site, kubeconfig, size, way))
    for way, turns in found.items():
        if len({(each.kubernetes, each.slurmrestd) for each in turns}) != 1:
            raise AssertionError(f"{way}: another number of requests in another round: {turns}")
    return found


def columns(found: dict[str, list[Turn]]) -> dict[str, Measured]:
    """For the ledger."""
    ours, rival = (found[way] for way in WAYS)
    wall = statistics.median(a.wall_s / b.wall_s for a, b in zip(ours, rival, strict=True))
    cpu = [statistics.median(each.processor_s for each in turns) for turns in (ours, rival)]
    name = WAYS[1]
    asked = [each[0].kubernetes + each[0].slurmrestd for each in (ours, rival)]
    memory = [max(each.memory_mib for each in turns) for turns in (ours, rival)]
    return {
        "to the API server": Measured(ours[0].kubernetes),
        "to slurmrestd": Measured(ours[0].slurmrestd),
        "all requests": Measured(asked[0], "", name, asked[0] / asked[1]),
        "processor time": Measured(cpu[0], "s", name, cpu[0] / cpu[1]),
        "wall clock": Measured(statistics.median(each.wall_s for each in ours), "s", name, wall),
        "memory": Measured(memory[0], "MiB", name, memory[0] / memory[1]),
    }


def once(way: str, kubeconfig: str, size: Size) -> dict[str, float]:
    """A way in this process, imports not counted."""
    wall, processor = time.perf_counter(), time.process_time()
    RUN[way](kubeconfig, size)
    took = {"wall_s": time.perf_counter() - wall, "processor_s": time.process_time() - processor}
    return took | {"memory_mib": own_peak_mib()}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodesets", type=int, nargs="+", default=[1, 10, 100], help="sizes (default 1 10 100)")
    ladder = [36, 144, 576, 1152, 2304]
    parser.add_argument("--nodes", type=int, nargs="+", default=ladder, help="sizes (default 36 144 576 1152 2304)")
    parser.add_argument("--delay", type=float, default=0.02, help="seconds of each answer (default 0.02)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each way (default 3)")
    parser.add_argument("--once", nargs=3, metavar=("WAY", "KUBECONFIG", "SIZE"), help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.once:
        print(json.dumps(once(args.once[0], args.once[1], Size(**json.loads(args.once[2])))))
        return
    sizes = [("questions", "NodeSets", count, of_nodesets(count)) for count in args.nodesets]
    sizes += [("ladder", "nodes", nodes, of_nodes(nodes)) for nodes in args.nodes]
    for table, what, number, size in sizes:
        found = columns(measure(size, args.delay, args.rounds))
        figures.record(Path(__file__), table, {f"{number}": found})
        told = "; ".join(f"{column} {figures.told(each)}" for column, each in found.items())
        print(f"{number} {what}, {args.delay:g} s an answer ({machine()}): {told}", flush=True)


if __name__ == "__main__":
    main()
