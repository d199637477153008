"""Whole programs with the newest pulumi-kubernetes that the package index has: what they register is what they register with
the one that is locked, taking up what is there is asked for, and no value is null."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.clusters import STACKS
from tests.stacks import ROOT

REGISTERED = """
import json, sys
from importlib.metadata import version
from tests.clusters import STACKS, _open, recorded
made = {name: [[e.type, e.name, _open(e.inputs)] for e in recorded(name).resources] for name in STACKS}
made = {name: sorted(each, key=lambda e: e[:2]) for name, each in made.items()}
print(json.dumps({"version": version("pulumi-kubernetes"), "made": made}, default=str))
"""
PROVIDER = "pulumi:providers:kubernetes"
ASKS = "upsertExistingObjects"
"""4.29 and newer end a creation over an existing object with AlreadyExists, unless the provider has it."""


def registered(*path: Path) -> dict[str, Any]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*path, ROOT]))}
    argv = [sys.executable, "-c", REGISTERED]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def newest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("newest")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), "pulumi-kubernetes<5"]
    done = subprocess.run(pip, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return registered(folder)


def test_programs_register_the_same_with_the_newest_as_with_the_locked_one(newest: dict[str, Any]) -> None:
    locked = registered()
    assert newest["version"] != locked["version"]
    for name in STACKS:
        providers = [inputs for kind, _, inputs in newest["made"][name] if kind == PROVIDER]
        assert providers
        assert {inputs.pop(ASKS) for inputs in providers} <= {True, "true"}
        assert newest["made"][name] == locked["made"][name]


def nulls(value: object, path: str = "") -> list[str]:
    """Where a value is null; 4.30 and newer hand those of Helm values on to the chart."""
    if isinstance(value, dict):
        return [found for key, each in value.items() for found in nulls(each, f"{path}.{key}")]
    if isinstance(value, list):
        return [found for number, each in enumerate(value) for found in nulls(each, f"{path}[{number}]")]
    return [path] if value is None else []


def test_no_value_of_a_helm_release_is_null(newest: dict[str, Any]) -> None:
    releases = [inputs for made in newest["made"].values() for kind, _, inputs in made if kind.endswith(":Release")]
    assert releases
    assert [found for each in releases for found in nulls(each)] == []
