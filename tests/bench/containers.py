"""What each container of a cluster uses, against what `cluster.defaultResources` asks for it, on the lab.

Run (as root, the lab up): venv/bin/python -m tests.bench.containers [--jobs 60] [--waiting 500]

All of Slurm is in Kubernetes with the defaults. From before the first pod on, every container's cgroup is read ten times
a second, so that containers that end (init) are seen too, unless they live for less. Then jobs run on three worker pods,
others are held in the queue, and users and this program ask. Memory is what a kubelet counts, the working set: what the
cgroup uses without the part of the page cache that can be dropped at once. slurmd is left out: its resources are its jobs'.

Aims: no container uses more memory than it asks for, and none more CPU on average.
"""

from __future__ import annotations

import argparse
import os
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lab.kubernetes import layout, machine
from tests import figures
from tests.bench.measure import Aim
from tests.bench.measure import machine as this_machine
from tests.e2e.slurm import await_true
from tests.e2e.test_two_stacks import INSIDE
from tests.e2e.world import Settings, World, lab_environment
from tests.faults.later_operator import Inside, all_inside, labs_own, lived
from tests.figures import Measured

EVERY_S: Final = 0.1
WINDOW_S: Final = 10.0
MI: Final = 1 << 20
_ID: Final = re.compile("[0-9a-f]{64}")
_UNITS: Final = {"": 1.0, "m": 0.001, "Ki": 1024.0, "Mi": float(MI), "Gi": 1024.0 * MI}
_QUANTITY: Final = re.compile(r"([0-9.]+)(m|Ki|Mi|Gi)?")


@dataclass(frozen=True)
class Sample:
    """One look at a container's cgroup."""

    at: float
    memory: int
    """Bytes of its working set."""
    cpu: float
    """Seconds of a processor since it began."""


@dataclass(frozen=True)
class Used:
    """What a container has used, as far as it was seen."""

    memory: float
    """MiB, at most."""
    cpu: float
    """CPUs on average."""
    cpu_most: float
    """CPUs on average of the busiest ten seconds."""


@dataclass(frozen=True)
class Asked:
    """What it asks for and its limit: CPUs and MiB; 0 where it says nothing."""

    cpu: float
    memory: float
    limit: float


@dataclass(frozen=True)
class Row:
    """A container of one kind of pod: the most of all of them."""

    name: str
    used: Used
    asked: Asked


def quantity(text: str) -> float:
    """A quantity of Kubernetes' as a number. Raises ValueError for another unit than those of the defaults."""
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} isn't a quantity that this bench reads")
    return float(found[1]) * _UNITS[found[2] or ""]


def used(samples: Sequence[Sample]) -> Used:
    """What samples say; a container that lived for less than ten seconds has used what it has in ten."""
    begin = Sample(samples[0].at - EVERY_S, 0, 0.0)
    seen = [begin, *samples]
    end, rates = 0, []
    for first in seen:
        while end < len(seen) - 1 and seen[end].at - first.at < WINDOW_S:
            end += 1
        rates.append((seen[end].cpu - first.cpu) / max(seen[end].at - first.at, WINDOW_S))
    lived_s = max(seen[-1].at - begin.at, WINDOW_S)
    return Used(max(each.memory for each in samples) / MI, seen[-1].cpu / lived_s, max(rates))


def look(top: Path, place: str) -> Iterator[tuple[str, Sample]]:
    """Each container below a node's cgroup, by its id. ``top``: where the hierarchies are mounted."""
    v2 = (top / "cgroup.controllers").exists()
    folder = (top if v2 else top / "memory") / place
    for parent, names, _ in os.walk(folder):  # passes over a folder that ends under it, as rglob of Python 3.11 doesn't
        for found in (Path(parent, name) for name in names if _ID.fullmatch(name)):
            try:
                yield found.name, (_v2(found) if v2 else _v1(found, top / "cpuacct" / found.relative_to(top / "memory")))
            except OSError:  # it has just ended
                continue


def _v1(memory: Path, cpu: Path) -> Sample:
    usage = int((memory / "memory.usage_in_bytes").read_text())
    dropped = _field(memory / "memory.stat", "total_inactive_file")
    return Sample(time.monotonic(), max(usage - dropped, 0), int((cpu / "cpuacct.usage").read_text()) / 1e9)


def _v2(folder: Path) -> Sample:
    usage = int((folder / "memory.current").read_text())
    dropped = _field(folder / "memory.stat", "inactive_file")
    return Sample(time.monotonic(), max(usage - dropped, 0), _field(folder / "cpu.stat", "usage_usec") / 1e6)


def _field(file: Path, name: str) -> int:
    return next((int(line.split()[1]) for line in file.read_text().splitlines() if line.split()[:1] == [name]), 0)


@dataclass
class Watch:
    """Looks at all nodes of the lab until it is left."""

    seen: dict[str, list[Sample]] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _failed: BaseException | None = None

    def __enter__(self) -> Watch:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self._failed is not None:  # figures of half a run would read as those of a whole one
            raise RuntimeError("the watch of the containers ended before the run did") from self._failed

    def _run(self) -> None:
        try:
            while not self._over.wait(EVERY_S):
                for node in layout.NODES:
                    for name, sample in look(machine.CGROUPS, node.cgroup):
                        self.seen.setdefault(name, []).append(sample)
        except Exception as error:  # raised where the watch is left
            self._failed = error


def rows(pods: Iterable[Mapping[str, Any]], seen: Mapping[str, Sequence[Sample]]) -> tuple[Row, ...]:
    """A row for each container that was seen and isn't slurmd, by its name and its pod's daemon."""
    found: dict[str, list[tuple[Used, Asked]]] = {}
    for pod in pods:
        daemon = pod["metadata"]["labels"].get("app.kubernetes.io/name", "")
        spec, status = pod["spec"], pod["status"]
        described = {each["name"]: each for each in (*spec.get("initContainers", ()), *spec["containers"])}
        for each in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
            samples = seen.get(each.get("containerID", "").rpartition("/")[2])
            if samples and each["name"] != "slurmd":
                name = each["name"] if each["name"] == daemon else f"{each['name']} of {daemon}"
                found.setdefault(name, []).append((used(samples), asked(described[each["name"]])))
    return tuple(Row(name, _most([one for one, _ in each]), each[0][1]) for name, each in sorted(found.items()))


def asked(container: Mapping[str, Any]) -> Asked:
    """What a container of a pod asks for."""
    resources = container.get("resources", {})
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    memory, limit = (quantity(each.get("memory", "0")) / MI for each in (requests, limits))
    return Asked(quantity(requests.get("cpu", "0")), memory, limit)


def _most(found: Sequence[Used]) -> Used:
    return Used(*(max(getattr(each, name) for each in found) for name in ("memory", "cpu", "cpu_most")))


def settings() -> Settings:
    """All daemons in Kubernetes, with the defaults."""
    found = all_inside("hs256", operator=labs_own, resources={"cpus": 1, "memory": "500Mi"})
    found["slinky-iac:cluster"]["defaultResources"] = True
    return found


def busy(inside: Inside, jobs: int, waiting: int) -> None:
    """Jobs that run, jobs that wait, and questions; returns when those have run."""
    submit = "sbatch --parsable -n1 -D /tmp -o /dev/null"
    for count, script in ((waiting, "--hold --wrap=true"), (jobs, "--wrap='sleep 1'")):
        for begin in range(0, count, 50):  # a command in a pod has two minutes
            inside.slurm("sh", "-c", f"for n in $(seq {min(50, count - begin)}); do {submit} {script}; done >/dev/null")

    def ran() -> bool:
        inside.program("status")
        inside.slurm("squeue", "-h")
        inside.slurm("sacct", "-a", "-n")
        return not inside.slurm("squeue", "-h", "-t", "R,CG").strip() and waiting == int(
            inside.slurm("sh", "-c", "squeue -h -t PD | wc -l")
        )

    await_true("the jobs have run", ran, 600, every=2)


def measure(jobs: int, waiting: int) -> tuple[Row, ...]:
    """One life of the cluster."""
    world = World(lab_environment())
    world.require_up()
    with Watch() as watch, lived(world, operator=labs_own, settings=settings()) as inside:
        busy(inside, jobs, waiting)
        time.sleep(WINDOW_S)  # what users of a quiet cluster see is part of the average
        return rows(world.objects("pods", INSIDE), watch.seen)


def table(found: Iterable[Row]) -> dict[str, dict[str, Measured]]:
    """For the ledger."""
    return {
        each.name: {
            "memory, most": _to(each.used.memory, each.asked.memory, "MiB"),
            "memory asked for": Measured(each.asked.memory, "MiB"),
            "limit of memory": Measured(each.asked.limit, "MiB"),
            "CPUs, average": _to(each.used.cpu, each.asked.cpu, ""),
            "CPUs, most of 10 s": Measured(each.used.cpu_most),
            "CPUs asked for": Measured(each.asked.cpu),
        }
        for each in found
    }


def _to(value: float, request: float, unit: str) -> Measured:
    return Measured(value, unit, *(("what it asks for", value / request) if request else (None, None)))


def aims(found: Iterable[Row]) -> list[Aim]:
    """What was promised."""
    return [
        aim
        for each in found
        for aim in (
            Aim(f"{each.name}: memory", each.used.memory, each.asked.memory, unit=" MiB"),
            Aim(f"{each.name}: CPUs on average", each.used.cpu, each.asked.cpu, unit=""),
        )
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=60, help="jobs that run (default 60)")
    parser.add_argument("--waiting", type=int, default=500, help="jobs that are held in the queue (default 500)")
    args = parser.parse_args(argv)
    found = measure(args.jobs, args.waiting)
    figures.record(Path(__file__), "containers", table(found))
    print(f"{this_machine()}; {args.jobs} jobs, {args.waiting} held")
    print("\n".join(aim.line() for aim in aims(found)))


if __name__ == "__main__":
    main()
