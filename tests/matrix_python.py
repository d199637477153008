"""The tests without a cluster on other Pythons, with the lowest and the newest packages that a wheel asks for:
``python -m tests.matrix_python [--python VERSION …] [--packages lowest|newest …]``.

Pythons from OLDEST on are looked for on PATH and among pyenv's; without ``--python`` all that are there are used. A cell is
a Python and a set of packages; each has an environment in CACHE, brought up to date by pip. Exit code: 0 if every cell
passed, else 1; 2 where a Python that was asked for can't be used.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from lab import paths

OLDEST: Final = (3, 11)
TESTS: Final = ("tests/contract", "tests/unit/config", "tests/unit/components", "tests/unit/kube")
PACKAGES: Final = ("lowest", "newest")
_ASK: Final = "import sys, json; print(json.dumps([sys.version_info[:2], sys.executable]))"


class PythonRefused(ValueError):
    """A Python that can't be used; the message says what to do."""


def ranges() -> list[str]:
    """What a wheel asks for, as pyproject.toml has it."""
    found: list[str] = tomllib.loads((paths.REPO / "pyproject.toml").read_text())["project"]["dependencies"]
    return found


def asked(packages: str) -> list[str]:
    """Requirements of a set: ``newest`` leaves the choice to pip, ``lowest`` takes the beginning of each range."""
    if packages == "newest":
        return ranges()
    return [re.sub(r">=([^,]+).*", r"==\1", each) for each in ranges()]


def tools() -> list[str]:
    """The tests' own packages, at their versions, without the program's."""
    files = (paths.REPO / "requirements" / "dev.txt", paths.REPO / "requirements" / "lab.txt")
    lines = [line for file in files for line in file.read_text().splitlines()]
    return [line for line in lines if line and not line.startswith(("#", "-r"))]


def _candidates() -> Iterator[str]:
    yield sys.executable
    for minor in range(OLDEST[1], OLDEST[1] + 10):
        if found := shutil.which(f"python3.{minor}"):
            yield found
    for found in sorted(Path.home().glob(".pyenv/versions/3.*/bin/python")):
        yield str(found)


def pythons() -> dict[str, str]:
    """Interpreters that run here, by version ("3.12"), those that are too old included; the first of each."""
    found: dict[str, str] = {}
    for each in _candidates():
        done = subprocess.run([each, "-c", _ASK], capture_output=True, text=True, check=False)
        if done.returncode == 0:  # pyenv has commands of versions that it doesn't run
            (major, minor), program = json.loads(done.stdout)
            found.setdefault(f"{major}.{minor}", program)
    return found


def chosen(wanted: Sequence[str], found: dict[str, str]) -> dict[str, str]:
    """The interpreters to use. Raises PythonRefused for one that is too old or isn't there."""
    usable = {version: program for version, program in found.items() if _number(version) >= OLDEST}
    have = ", ".join(sorted(usable, key=_number))
    for version in wanted:
        if not re.fullmatch(r"3\.\d+", version) or _number(version) < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise PythonRefused(f"Python {version} can't be used: {oldest} or newer; here are {have}. Nothing was run")
        if version not in usable:
            raise PythonRefused(
                f"Python {version} isn't on PATH, nor among pyenv's versions; here are {have}. Nothing was run"
            )
    return {version: usable[version] for version in (wanted or sorted(usable, key=_number))}


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _environment(version: str, program: str, packages: str) -> Path:
    folder = paths.CACHE / "matrix" / f"{version}-{packages}"
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([program, "-m", "venv", "--clear", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--upgrade", "--disable-pip-version-check"]
    subprocess.run([*pip, *asked(packages), *tools()], check=True)
    return python


def main(argv: Sequence[str]) -> int:
    """Run the cells; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.matrix_python", description="tests on other Pythons and packages")
    parser.add_argument("--python", nargs="+", default=[], metavar="VERSION")
    parser.add_argument("--packages", nargs="+", choices=PACKAGES, default=PACKAGES)
    wanted = parser.parse_args(argv)
    try:
        used = chosen(wanted.python, pythons())
    except PythonRefused as error:
        print(error, file=sys.stderr)
        return 2
    failed = []
    for version, program in used.items():
        for packages in wanted.packages:
            cell = f"Python {version}, {packages} packages"
            print(f"-- {cell}", flush=True)
            python = _environment(version, program, packages)
            pytest = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
            if subprocess.run(pytest, cwd=paths.REPO, check=False).returncode:
                failed.append(cell)
    print(f"failed: {'; '.join(failed)}" if failed else "every cell passed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
