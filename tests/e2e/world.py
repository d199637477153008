"""The lab as the tests use it: stacks in folders of their own, kubectl, and the knobs of the environment."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from lab import charts, engine, obtain, paths
from lab.stacks import Stack, imported_keys

Settings = dict[str, Any]
"""The ``config`` mapping of a Pulumi.<stack>.yaml."""


def lab_environment() -> dict[str, str]:
    """What `lab env` exports, for commands that a test runs itself."""
    pulumi = obtain.ensure(say=lambda _line: None)["pulumi"]
    return engine.environment(pulumi, os.environ["PATH"])


class World:
    """One lab."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env = env

    def require_up(self) -> None:
        """Fail with the way out where the lab isn't up."""
        ready = self.kubectl("get", "--raw", "/readyz", check=False)
        assert ready.returncode == 0, f"the lab is not up: run ./lab/lab up. {ready.stderr}"

    def kubectl(self, *arguments: str, check: bool = True, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run kubectl against the lab."""
        env = {**os.environ, **self.env}
        return subprocess.run(
            ["kubectl", *arguments], env=env, input=stdin, capture_output=True, text=True, check=check, timeout=120
        )

    def objects(self, kind: str, namespace: str) -> list[dict[str, Any]]:
        """All objects of a kind in a namespace."""
        found: list[dict[str, Any]] = json.loads(self.kubectl("get", kind, "-n", namespace, "-o", "json").stdout)["items"]
        return found

    def pods(self, namespace: str, nodeset: str) -> dict[str, dict[str, Any]]:
        """Pods of a NodeSet by their Slurm node name (``spec.hostname``), terminating ones excepted."""
        resource = f"slurm-worker-{nodeset}"
        return {
            pod["spec"]["hostname"]: pod
            for pod in self.objects("pods", namespace)
            if pod["metadata"]["labels"].get("app.kubernetes.io/instance") == resource
            and "deletionTimestamp" not in pod["metadata"]
        }

    def stack(self, name: str, settings: Settings, folder: Path | None = None) -> Stack:
        """A stack with these settings and the outside hosts' keys; an existing one of the name is taken up again."""
        stack = Stack(name, folder or paths.STATE / "projects" / name, self.env)
        draft = paths.STATE / "projects" / f"{name}.draft.yaml"
        draft.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(yaml.safe_dump({"config": settings}))
        secrets = imported_keys() if settings["slinky-iac:keys"]["source"] == "imported" else {}
        stack.init(draft, charts.chart_dir(), secrets)
        return stack


def dev_settings(*edits: Callable[[Settings], None]) -> Settings:
    """Settings of Pulumi.dev.yaml, edited."""
    settings: Settings = yaml.safe_load((paths.REPO / "Pulumi.dev.yaml").read_text())["config"]
    for edit in edits:
        edit(settings)
    return settings


def steps(preview: subprocess.CompletedProcess[str]) -> list[tuple[str, str]]:
    """Operation and logical name of every step of `preview --json`, without those that change nothing."""
    report = json.loads(preview.stdout)
    return [(step["op"], step["urn"].rsplit("::", 1)[1]) for step in report["steps"] if step["op"] != "same"]


def names(rows: Iterable[tuple[str, str]]) -> set[str]:
    """Logical names of steps."""
    return {name for _, name in rows}
