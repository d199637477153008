"""The pack over the real engine: stacks in plain resources, previewed or analyzed, and what the pack said of them."""

from __future__ import annotations

import copy
import functools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from tests.integration.engine import PASSPHRASE, REPO, Engine, Project, create_project
from tests.stacks import merged

HERE = Path(__file__).resolve().parent
PACK = REPO / "policies"
BAD = sorted((HERE / "bad").glob("*.yaml"))
SOUND = sorted((HERE / "sound").glob("*.yaml"))
SITE = PACK / "site.example.json"
LAB = PACK / "site.lab.json"
Data = dict[str, Any]

_SAID = re.compile(r"^ +(?:-|\S+@v\S+) \[(\w+)\] .*? ([a-z][a-z-]+)  \((.*?)\)(?=$|can't run policy)", re.MULTILINE)
"""A line of the report; with ``--diff`` it begins with the pack's name, and what comes after follows in the same line."""


@dataclass(frozen=True)
class Said:
    """One thing that the pack said: the rule, its level, and of which resource."""

    rule: str
    level: str
    resource: str


@dataclass(frozen=True)
class Outcome:
    """How a preview or analysis ended."""

    code: int
    said: tuple[Said, ...]
    output: str
    project: Project | None = None
    """The project that was previewed."""

    @property
    def refused_by(self) -> set[str]:
        """Rules with a mandatory violation."""
        return {said.rule for said in self.said if said.level == "mandatory"}

    @property
    def spoke(self) -> set[str]:
        """Rules that said anything."""
        return {said.rule for said in self.said}


def outcome(done: subprocess.CompletedProcess[str]) -> Outcome:
    """Read what the pack said out of the CLI's own report."""
    text = done.stdout + done.stderr
    said = tuple(Said(rule, level, resource) for level, rule, resource in _SAID.findall(text))
    return Outcome(done.returncode, said, text)


def plain_stack(name: str, over: Mapping[str, Any] | None = None) -> Data:
    """One of the sound stacks in ``stacks``, with ``over`` laid over it. ``options`` of a resource may stand apart."""
    stack: Data = merged(_read(HERE / "stacks" / f"{name}.yaml"), over or {})
    for body in stack["resources"].values():
        body.update(body.pop("options", {}))
    return stack


def _read(file: Path) -> Data:
    return copy.deepcopy(_parsed(file))


@functools.cache
def _parsed(file: Path) -> Data:
    return dict(yaml.safe_load(file.read_text()))


def bad_stack(file: Path) -> Data:
    """A stack in ``bad``: a sound one with one thing changed."""
    change = _read(file)
    for about in ("site", "also"):
        change.pop(about, None)
    return plain_stack(change.pop("base", "inside"), change)


def changed_by(file: Path) -> set[str]:
    """Names of the resources that a bad stack changes or adds."""
    return set(_read(file).get("resources") or {})


def site_of(file: Path) -> Data:
    """Bounds of the site that a bad stack is judged under, by rule."""
    return dict(_read(file).get("site", {}))


def also_of(file: Path) -> set[str]:
    """Rules that refuse a bad stack as well as the one that it is named after."""
    return set(_read(file).get("also", ()))


def environment() -> dict[str, str]:
    """No Kubernetes at all, whatever this machine has; versions of the providers as the program pins them."""
    pins = dict(line.split("==") for line in (REPO / "requirements.txt").read_text().split() if "==" in line)
    return {
        "KUBECONFIG": os.devnull + "/none",
        "KUBERNETES_VERSION": pins["pulumi-kubernetes"],
        "RANDOM_VERSION": pins["pulumi-random"],
    }


def lay_out(folder: Path, stack: Mapping[str, Any]) -> None:
    """Write a plain stack and the program that declares it into a project folder."""
    for file in (HERE / "program").glob("*.py"):
        shutil.copy(file, folder)
    (folder / "stack.json").write_text(json.dumps(stack))
    for chart in ("slurm-operator", "slurm-operator-crds"):
        (folder / "charts" / chart / "templates").mkdir(parents=True, exist_ok=True)
        version = stack["resources"].get("operator", {}).get("properties", {}).get("version", "1.2.1")
        (folder / "charts" / chart / "Chart.yaml").write_text(f"apiVersion: v2\nname: {chart}\nversion: {version}\n")


def flags(folder: Path, config: Mapping[str, Any] | Path | None = None) -> list[str]:
    """Arguments that apply the pack, with a site's configuration when one is given."""
    arguments = ["--policy-pack", str(PACK)]
    if config is None:
        return arguments
    file = config if isinstance(config, Path) else folder / "site.json"
    if not isinstance(config, Path):
        file.write_text(json.dumps(config))
    return [*arguments, "--policy-pack-config", str(file)]


def plain_project(engine: Engine, folder: Path, stack: Mapping[str, Any], name: str = "plain") -> Project:
    """A project that declares a plain stack."""
    project = create_project(engine, folder, name)
    lay_out(folder, stack)
    return project


def preview(project: Project, config: Mapping[str, Any] | Path | None = None, *more: str) -> Outcome:
    """``pulumi preview`` under the pack."""
    done = project.preview(*flags(project.folder, config), *more, ok=False, env=environment())
    return replace(outcome(done), project=project)


def analyze(
    project: Project, state: Path, config: Mapping[str, Any] | Path | None = None, *, passphrase: str = PASSPHRASE
) -> Outcome:
    """``pulumi policy analyze`` of a saved state: no program, no provider, no Kubernetes."""
    arguments = ["policy", "analyze", "--file", str(state), *flags(project.folder, config)]
    env = {**environment(), "PULUMI_CONFIG_PASSPHRASE": passphrase}
    return outcome(project.run(*arguments, ok=False, env=env))
