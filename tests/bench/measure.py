"""What the measurements share: runs in turns, medians, aims, and the state of the machine. Pure but for the clock."""

from __future__ import annotations

import gc
import os
import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

Ways = Mapping[str, Callable[[], float]]
"""What is compared, by name; each call does it once and returns seconds."""
Samples = dict[str, list[float]]
"""Seconds of each round, by name."""


@dataclass(frozen=True)
class Aim:
    """A number that was promised, and the one that was measured."""

    what: str
    measured: float
    bound: float
    unit: str = "x"
    at_least: bool = False

    @property
    def reached(self) -> bool:
        """Whether the promise is kept."""
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound

    def line(self) -> str:
        """One line for people."""
        sense = "at least" if self.at_least else "at most"
        verdict = "reached" if self.reached else "MISSED"
        return f"  {self.what}: {self.measured:.2f}{self.unit} (aim {sense} {self.bound:g}{self.unit}): {verdict}"


def in_turns(ways: Ways, rounds: int) -> Samples:
    """Run all ways once a round, each round beginning with another one, so that none has the quieter machine."""
    names = list(ways)
    samples: Samples = {name: [] for name in names}
    for number in range(rounds):
        at = number % len(names)
        for name in names[at:] + names[:at]:
            samples[name].append(ways[name]())
    return samples


def clocked(action: Callable[[], object]) -> float:
    """Seconds that ``action`` takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def worked(action: Callable[[], object]) -> float:
    """Seconds of a processor that ``action`` takes in this process: of what only computes, on a machine that others use."""
    began = time.process_time()
    action()
    return time.process_time() - began


def peak_mib(action: Callable[[], object]) -> float:
    """Most memory in MiB that Python objects made by ``action`` held at once. Slows it down: never time the same run."""
    gc.collect()
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1] / (1 << 20)
    finally:
        tracemalloc.stop()


def own_peak_mib() -> float:
    """Most memory of this process so far, in MiB. ru_maxrss won't do: on Linux that of a child begins with its parent's."""
    rows = Path("/proc/self/status").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("VmHWM")) / 1024


def median_ratio(samples: Mapping[str, Sequence[float]], above: str, below: str) -> float:
    """Median of the ratios of one round each: what slows a whole round down slows both."""
    return statistics.median(a / b for a, b in zip(samples[above], samples[below], strict=True))


def lines(samples: Mapping[str, Sequence[float]]) -> list[str]:
    """A line for each way: fastest, median, slowest."""
    width = max(len(name) for name in samples)
    return [
        f"  {name:<{width}}  median {statistics.median(taken):8.3f} s   ({min(taken):.3f} to {max(taken):.3f})"
        for name, taken in samples.items()
    ]


def machine() -> str:
    """When and where: a number without the load it was taken under says little on a shared machine."""
    load = ", ".join(f"{number:.1f}" for number in os.getloadavg())
    now = datetime.now(tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{now}, {os.cpu_count()} cores, load average {load}, Python {platform.python_version()}"
