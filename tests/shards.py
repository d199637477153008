"""Run test files in several plain pytests side by side: ``python -m tests.shards COUNT FOLDER …``.

For thousands of tests of some milliseconds each: pytest-xdist took 45 of 125 processor seconds for its reports, and collects
all tests in every worker. Files are dealt by their size, so which tests run in one process stays the same until a file
changes. What a pytest prints comes in one piece when it ends. Exit code: 0 if every one passed, else 1.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab import paths

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider")


def dealt(files: Sequence[Path], count: int) -> Iterator[list[Path]]:
    """Files for each process: the longest ones forth, the next ones back, and so on."""
    longest = sorted(files, key=lambda path: (-path.stat().st_size, path))
    for number in range(count):
        yield sorted([*longest[number :: 2 * count], *longest[2 * count - 1 - number :: 2 * count]])


def main(count: int, folders: Sequence[Path]) -> int:
    """Run them; returns the exit code."""
    files = [path for folder in folders for path in folder.rglob("test_*.py")]
    shards = [shard for shard in dealt(files, count) if shard]
    runs = [
        subprocess.Popen([*PYTEST, *map(str, shard)], cwd=paths.REPO, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for shard in shards
    ]
    failed = 0
    for run in runs:
        printed, _ = run.communicate()
        sys.stdout.buffer.write(printed)
        sys.stdout.flush()
        failed += run.returncode != 0
    return 1 if failed or not shards else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), [Path(each) for each in sys.argv[2:]]))
