"""Run test files in several plain pytests side by side: ``python -m tests.shards [--record] COUNT FOLDER …``.

For thousands of tests of some milliseconds each: pytest-xdist took 45 of 125 processor seconds for its reports, and collects
all tests in every worker. Each pytest is a fork of one process that has imported what they all need. Files are dealt by
their size, so which tests run in one process stays the same until a file changes. What a pytest prints comes in one piece
when it ends. ``--record`` keeps a line of each module (tests.recorder). Exit code: 0 if every one passed, else 1.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import tempfile
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

PYTEST: Final = ("-q", "-p", "no:xdist", "-p", "no:cacheprovider")
# pytest explains no assert statement of plugins that were imported before it began (hypothesis, anyio): they aren't ours.
_FORKED: Final = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
RECORDED: Final = ("-p", "tests.recorder")
_SHARED: Final = ("tests.clusters", "tests.strategies", "slinky_iac.commands.status.cli", "slinky_iac.commands.keys.cli")
"""Modules that import most of the rest."""
ENDED: Final = ".ended"
"""Of the file that says that a pytest came to its end: a test may end its process with 0."""


def dealt(files: Sequence[Path], count: int) -> list[list[Path]]:
    """Files for each process, the longest first, each to the process that has least.

    Those with whole programs come first and go to a third of the processes: a process runs the same program once. They take
    twice as long for their size.
    """
    whole = {path for path in files if "tests.clusters" in path.read_text()}
    shards: list[list[Path]] = [[] for _ in range(count)]
    weights = [0] * count
    for path in sorted(files, key=lambda path: (path not in whole, -path.stat().st_size, path)):
        least = min(range(max(count // 3, 1) if path in whole else count), key=weights.__getitem__)
        shards[least].append(path)
        weights[least] += path.stat().st_size * (2 if path in whole else 1)
    return [sorted(shard) for shard in shards]


def main(count: int, folders: Sequence[Path], *, record: bool = False) -> int:
    """Run them; returns the exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as pytest has it for what it imports itself
        for module in _SHARED:
            import_module(module)
    gc.freeze()
    files = [path for folder in folders for path in folder.resolve(strict=True).rglob("test_*.py")]
    fork = multiprocessing.get_context("fork")
    failed = 0
    with tempfile.TemporaryDirectory() as printed:
        shards = {Path(printed, str(number)): shard for number, shard in enumerate(dealt(files, count)) if shard}
        runs = {file: fork.Process(target=_run, args=(shard, file, record)) for file, shard in shards.items()}
        for file, run in runs.items():
            file.touch()
            run.start()
        for file, run in runs.items():
            run.join()
            sys.stdout.buffer.write(file.read_bytes())
            whole = file.with_suffix(ENDED).exists()
            if run.exitcode != 0 or not whole:
                failed += 1
                print(f"this pytest ended {'' if whole else 'too early, '}with exit code {run.exitcode}")
            sys.stdout.flush()
    return 1 if failed or not runs else 0


def _run(files: Sequence[Path], printed: Path, record: bool) -> None:
    with printed.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    code = pytest.main([*PYTEST, *_FORKED, *(RECORDED if record else ()), *map(str, files)])
    printed.with_suffix(ENDED).touch()
    sys.exit(code)


if __name__ == "__main__":
    words = [each for each in sys.argv[1:] if each != "--record"]
    sys.exit(main(int(words[0]), [Path(each) for each in words[1:]], record=len(words) < len(sys.argv) - 1))
