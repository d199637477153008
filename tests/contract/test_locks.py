"""Lock files hold every package that the requirements ask for, each with its hashes; and they are what is installed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from lab import python_env
from tests.stacks import ROOT
from tests.tree import tracked

LOCKS = {path.with_suffix(".txt"): path for path in tracked() if path.suffix == ".lock"}
ENTRY = re.compile(r"^([a-z0-9-]+)(?:\[[a-z,]+\])?==([^\s;]+)(?: ; (.*?))?(?: \\)?$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}(?: \\)?$")


def asked(file: Path) -> dict[str, str]:
    """Packages and versions of a requirements file and of those that it includes."""
    found: dict[str, str] = {}
    for line in file.read_text().splitlines():
        words = line.partition("#")[0].strip()
        if words.startswith("-r "):
            found |= asked(file.parent / words[3:].strip())
        elif words:
            name, _, version = re.sub(r"\[.*?\]", "", words).partition("==")
            assert version, f"{file.name}: {words} has no version"
            found[re.sub(r"[-_.]+", "-", name).lower()] = version
    return found


def locked(file: Path) -> dict[str, set[str]]:
    """Packages and their versions in a lock; one may have several, for several Pythons."""
    found: dict[str, set[str]] = {}
    for line in file.read_text().splitlines():
        if entry := ENTRY.match(line):
            found.setdefault(entry[1], set()).add(entry[2])
    return found


def test_every_environment_has_a_lock() -> None:
    wanted = {"requirements", "requirements/dev", "requirements/sbom", "requirements/docs", "requirements/build"}
    wanted |= {"requirements/ansible", "requirements/clouds", "requirements/dashboard", "policies/requirements"}
    assert {path.relative_to(ROOT).as_posix().removesuffix(".txt") for path in LOCKS} == wanted
    assert all(path.exists() for path in LOCKS)


@pytest.mark.parametrize("file", LOCKS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_lock_has_what_its_requirements_ask_for(file: Path) -> None:
    """Run the command in CONTRIBUTING.md, "Locks", after a change of requirements."""
    have = locked(LOCKS[file])
    assert {name: version for name, version in asked(file).items() if have.get(name) != {version}} == {}


@pytest.mark.parametrize("lock", LOCKS.values(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_lock_holds_packages_with_hashes_and_nothing_else(lock: Path) -> None:
    lines = lock.read_text().splitlines()
    odd = [line for line in lines if not (ENTRY.match(line) or HASH.match(line) or line.lstrip().startswith("#"))]
    assert odd == []
    bare = [line for line, after in zip(lines, [*lines[1:], ""], strict=True) if ENTRY.match(line) and not HASH.match(after)]
    assert bare == []


def test_locks_of_one_program_agree() -> None:
    """What is tested is what users get: the tools' lock holds the program's packages at the same versions."""
    small, large = locked(ROOT / "requirements.lock"), locked(ROOT / "requirements" / "dev.lock")
    assert {name: versions for name, versions in small.items() if large.get(name) != versions} == {}


def test_the_wheel_s_backend_is_locked_and_the_one_that_is_tested() -> None:
    asked_for = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert dict(each.split("==") for each in asked_for) == asked(ROOT / "requirements" / "build.txt")
    build, tools = locked(ROOT / "requirements" / "build.lock"), locked(ROOT / "requirements" / "dev.lock")
    assert {name: versions for name, versions in build.items() if tools.get(name, versions) != versions} == {}
    script = (ROOT / "build-wheel").read_text()
    assert "--require-hashes --only-binary :all: -r requirements/build.lock" in script


def test_the_lab_installs_by_hash() -> None:
    assert "--require-hashes" in python_env.installing(ROOT / "venv", [ROOT / "requirements" / "dev.lock"])


def test_the_workflow_installs_by_hash() -> None:
    flow = yaml.safe_load((ROOT / "examples" / "ci" / "github-actions.yaml").read_text())
    runs = [line for job in flow["jobs"].values() for step in job["steps"] for line in step.get("run", "").splitlines()]
    installs = [line for line in runs if "pip install" in line]
    assert len(installs) >= 5
    assert [line for line in installs if "--require-hashes" not in line or ".lock" not in line] == []
