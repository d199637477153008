"""One bulk drain against one call a node and against scontrol, on real slurmctld and slurmrestd.

Run (as root): venv/bin/python -m tests.bench.drain [--sizes 1000 5000] [--rounds 5] [--sample 200]

It brings up a Slurm cluster of its own beside the lab's, with dynamic nodes without a host behind them (State=CLOUD):
slurmctld does with them all that an update of a node's state does. Compared, in turns, each with every node undrained:

- bulk: SlurmrestClient.drain of all nodes, given a look at them (a gate has looked anyway);
- bulk and look: the same with the look of its own, which protects other people's drains and which scontrol doesn't take;
- scontrol: `scontrol update nodename=s[...] state=drain`, timed on slurmctld's host, its start included;
- one by one: SlurmrestClient.drain of one node a call, over one open connection; a sample of nodes, scaled to all.

Aims: bulk at most 1.5x scontrol's time, and at least 50x faster than one by one.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from ipaddress import IPv4Network
from pathlib import Path

from lab import supervise
from lab.slurm import conf
from lab.slurm.cluster import Cluster
from lab.slurm.site import Site
from lab.slurm.topology import Network
from slinky_iac import names
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.endpoints import Direct
from slinky_iac.slurmrest.lists import NodesAnswer
from tests import figures
from tests.bench.measure import Aim, Samples, clocked, in_turns, lines, machine, median_ratio
from tests.figures import Measured

NETWORK = Network("slabn-out", "sn-", IPv4Network("10.96.0.0/24"), None)
REASON = names.drain_reason("bench", "fake", "how long a drain takes")
SCONTROL_MOST, ONE_BY_ONE_LEAST = 1.5, 50.0
MAX_NODES = 16_384
TIMED = 'began=$EPOCHREALTIME; "$@" >&2 || exit 1; ended=$EPOCHREALTIME; echo "$began $ended"'


@dataclass(frozen=True)
class Fleet:
    """A cluster with ``size`` fake nodes."""

    cluster: Cluster
    client: SlurmrestClient
    size: int

    @property
    def names(self) -> tuple[str, ...]:
        """All its fake nodes."""
        return tuple(node_name(number) for number in range(1, self.size + 1))

    def scontrol(self, *arguments: str) -> float:
        """Run scontrol on slurmctld's host; seconds that it took there."""
        argv = ["bash", "-c", TIMED, "timed", "scontrol", *arguments]
        began, ended = self.cluster.hosts.run("ctl", argv, timeout=600).stdout.split()
        return float(ended) - float(began)

    def look(self) -> NodesAnswer:
        """All nodes now."""
        answer = self.client.nodes()
        if answer is None:
            raise AssertionError("no list of nodes without having asked for changes only")
        return answer

    def restore(self) -> None:
        """Undrain every fake node."""
        self.scontrol("update", f"nodename={hostlist(1, self.size)}", "state=undrain")

    def drained(self) -> int:
        """How many fake nodes carry the drain."""
        return sum(1 for node in self.look().nodes if node.drained_or_draining and node.reason == REASON)


def node_name(number: int) -> str:
    """Name of a fake node, from 1 on."""
    return f"s{number:05}"


def hostlist(first: int, last: int) -> str:
    """Fake nodes as Slurm's expression."""
    return f"s[{first:05}-{last:05}]"


def only(look: NodesAnswer, name: str) -> NodesAnswer:
    """The look with one node in it, so that a call for one node doesn't pay for a table of all."""
    return replace(look, nodes=(look.by_name()[name],))


@contextmanager
def slurm(more: str = "") -> Iterator[Cluster]:
    """A Slurm cluster of this measurement's own, with room for all nodes and ``more`` in slurm.conf; down at the end."""
    with tempfile.TemporaryDirectory(prefix="slinky-iac-bench-") as name:
        root = Path(name)
        supervisor = supervise.Supervisor(root / "run", root / "logs")
        cluster = Cluster(Site(root / "slurm", root / "hosts", NETWORK, supervisor))
        try:
            # Slurm takes the last of two values; the lab's own is what the operator sets for its controllers.
            cluster.set_nodesets_conf(f"{conf.DEFAULT_NODESETS}MaxNodeCount={MAX_NODES}\n{more}")
            cluster.up()
            yield cluster
        finally:
            cluster.down()
            supervisor.sweep()


def client_of(cluster: Cluster) -> SlurmrestClient:
    """Our client, straight to slurmrestd."""
    url = f"http://{cluster.site.network.address(12)}:{conf.REST_PORT}"
    return SlurmrestClient(Direct(url, plain_http=True), [(cluster.site.keys / "jwt_hs256.key").read_bytes()], budget_s=600)


def compare(fleet: Fleet, rounds: int, sample: int) -> Samples:
    """All ways in turns. Raises AssertionError where a way left a node undrained."""
    look, everyone = fleet.look(), fleet.names
    tried = everyone[:: max(len(everyone) // sample, 1)][:sample]
    singles = {name: only(look, name) for name in tried}

    def bulk(seen: NodesAnswer | None) -> float:
        def drain() -> None:
            if not fleet.client.drain(everyone, REASON, seen=seen).complete:
                raise AssertionError("a bulk drain left nodes undrained")

        return restored(clocked(drain), len(everyone))

    def scontrol() -> float:
        expression = hostlist(1, fleet.size)
        return restored(fleet.scontrol("update", f"nodename={expression}", "state=drain", f"reason={REASON}"), len(everyone))

    def one_by_one() -> float:
        began = time.perf_counter()
        for name in tried:
            fleet.client.drain([name], REASON, seen=singles[name])
        return restored(time.perf_counter() - began, len(tried)) * len(everyone) / len(tried)

    def restored(seconds: float, expected: int) -> float:
        there = fleet.drained()
        if there != expected:
            raise AssertionError(f"{there} nodes are drained, not {expected}")
        fleet.restore()
        return seconds

    ways = {"bulk": lambda: bulk(look), "bulk and look": lambda: bulk(None), "scontrol": scontrol, "one by one": one_by_one}
    fleet.client.drain(everyone[:1], REASON, seen=singles[tried[0]])  # connection, token and version, as in a gate's wait
    fleet.restore()
    return in_turns(ways, rounds)


def aims(samples: Samples) -> tuple[Aim, ...]:
    """What was promised."""
    return (
        Aim("bulk to scontrol", median_ratio(samples, "bulk", "scontrol"), SCONTROL_MOST),
        Aim("one by one to bulk", median_ratio(samples, "one by one", "bulk"), ONE_BY_ONE_LEAST, at_least=True),
    )


def row(samples: Samples) -> dict[str, Measured]:
    """One size for the ledger."""
    rivals = {"bulk": "scontrol", "bulk and look": "scontrol", "scontrol": None, "one by one": "bulk"}
    return {
        way: Measured(
            statistics.median(samples[way]), "s", rival, None if rival is None else median_ratio(samples, way, rival)
        )
        for way, rival in rivals.items()
    }


def report(size: int, sample: int, samples: Samples) -> str:
    """One size in lines for people."""
    look = statistics.median(samples["bulk and look"]) - statistics.median(samples["bulk"])
    head = f"{size} nodes ({machine()}); one by one: {min(sample, size)} nodes, scaled to {size}"
    told = f"  look: {look:.3f} s, the list of all nodes; bulk with it to scontrol: "
    told += f"{median_ratio(samples, 'bulk and look', 'scontrol'):.1f}x"
    return "\n".join([head, *lines(samples), told, *(aim.line() for aim in aims(samples))])


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000], help="nodes (default 1000 5000)")
    parser.add_argument("--rounds", type=int, default=5, help="drains of each kind (default 5)")
    parser.add_argument("--sample", type=int, default=200, help="nodes drained one by one (default 200)")
    args = parser.parse_args(argv)
    with slurm() as cluster, client_of(cluster) as client:
        there = 0
        for size in sorted(args.sizes):
            fleet = Fleet(cluster, client, size)
            kind = ("CPUs=2", "RealMemory=1000", "Feature=fake", "State=CLOUD")
            fleet.scontrol("create", f"nodename={hostlist(there + 1, size)}", *kind)
            there = size
            samples = compare(fleet, args.rounds, args.sample)
            figures.record(Path(__file__), "drains", {f"{size:,}": row(samples)})
            print(report(size, args.sample, samples), flush=True)


if __name__ == "__main__":
    main()
