#!/usr/bin/env python3
# SBATCH --job-name=python
# SBATCH --output=python-%j.out
# SBATCH --time=5
"""A batch script may be in any language that the nodes have: this one sums in as many processes as Slurm gave CPUs."""

import os
from concurrent.futures import ProcessPoolExecutor


def part(numbers: range) -> int:
    """The sum of the squares of some numbers."""
    return sum(each * each for each in numbers)


if __name__ == "__main__":
    cpus = int(os.environ.get("SLURM_CPUS_ON_NODE", "1"))
    parts = [range(at, 100_000, cpus) for at in range(cpus)]
    with ProcessPoolExecutor(cpus) as pool:
        print(f"{cpus} CPUs: {sum(pool.map(part, parts))}")
