"""A pytest plugin that records each module that it runs from its first test to its last: ``pytest -p tests.recorder …``.

tests.lanes runs pytest with it. A module is left out where some of its tests were deselected, named one by one, or didn't
come to an end: only whole modules prove something. One line a module, in CACHE (tests.runs). Of a module that fails in a lab
the logs and the objects are kept in CACHE/failed, as they were before the test's fixtures ended.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path

import pytest

from lab import given_kubernetes, given_operator, given_slurm, paths, tools
from lab.given_host import HOST
from lab.slurm import rootfs
from tests import ledger, runs, settings_used

ON_A_CLUSTER = ("e2e", "faults")
ENGINE = "integration"


class Recorder:
    """What one pytest has seen."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._collected: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()
        self._failed: set[str] = set()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._parted: set[str] = set()
        self._read: dict[Path, int] = {}
        self._settings: defaultdict[str, set[str]] = defaultdict(set)

    @pytest.hookimpl
    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Tests of a module that aren't run."""
        self._parted |= {_module(each.nodeid) for each in items}

    @pytest.hookimpl
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """What is going to be run."""
        self._collected.update(_module(each.nodeid) for each in session.items)

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test's beginning, its body or its end."""
        module = _module(report.nodeid)
        self._seconds[module] += report.duration
        if report.failed and module not in self._failed:
            self._failed.add(module)
            if Path(module).parts[1] in ON_A_CLUSTER:
                print(f"\nlogs of the lab: {kept(Path(module))}", flush=True)
        if report.when == "teardown":
            self._ended[module] += 1
            self._settings[module] |= self._written()

    def _written(self) -> set[str]:
        """Settings of the lab's stacks whose files are new since the last test, without those of Pulumi.dev.yaml."""
        found: set[str] = set()
        for file in (paths.STATE / "projects").glob("*/Pulumi.*.yaml"):
            changed_at = file.stat().st_mtime_ns
            if self._read.get(file) != changed_at:
                self._read[file] = changed_at
                found |= settings_used.used(file.read_text())
        return found - settings_used.of_the_lab()

    @pytest.hookimpl
    def pytest_sessionfinish(self) -> None:
        """Append what was whole."""
        named = {_module(each) for each in self._config.args if "::" in each}
        whole = [
            module
            for module, count in self._collected.items()
            if count == self._ended[module] and module not in self._parted and Path(module).name not in map(_name, named)
        ]
        runs.RUNS.append(runs.RUNS.recorded, [self._run(module) for module in whole])

    def _run(self, module: str) -> runs.Run:
        folder = Path(module).parts[1]
        cluster = folder in ON_A_CLUSTER
        given = given_operator.given() if cluster else None
        return runs.Run(
            module=module,
            result="failed" if module in self._failed else runs.PASSED,
            tests=self._collected[module],
            seconds=round(self._seconds[module], 1),
            operator=(tools.OPERATOR if given is None else given.version) if cluster else None,
            kubernetes=given_kubernetes.version() if cluster else None,
            slurm=slurm() if cluster else None,
            host=("official" if HOST.named() else "stand-in") if cluster or folder == ENGINE else None,
            settings=sorted(self._settings[module]) if cluster else [],
            **ledger.origin(Path(module)),
        )


def kept(module: Path) -> Path:
    """Copy the lab's logs and objects, which go with it, to a folder named for a module; returns the folder."""
    folder = paths.CACHE / "failed" / module.stem
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for log in [paths.STATE / "logs", *paths.STATE.glob("kubernetes/nodes/*/log/pods")]:
        with suppress(OSError):  # a pod's log goes with the pod
            shutil.copytree(log, folder / log.relative_to(paths.STATE), symlinks=True)
    asked = ["kubectl", "get", "events,pods,nodesets,controllers,restapis", "-A", "-o", "yaml", "--request-timeout=20s"]
    with (folder / "objects.yaml").open("wb") as out:
        subprocess.run(asked, stdout=out, stderr=subprocess.STDOUT, check=False)
    return folder


def _module(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def _name(module: str) -> str:
    return Path(module).name


def slurm() -> str | None:
    """The version of the lab's slurmctld: the user's, or Debian's in its hosts' root file system; None before it is made."""
    if given_slurm.folder() is not None:
        return given_slurm.version()
    status = paths.CACHE / "rootfs" / rootfs.RECIPE.key() / "var" / "lib" / "dpkg" / "status"
    if not status.exists():
        return None
    found = re.search(r"^Package: slurmctld\n(?:.+\n)*?Version: ([\w.]+)", status.read_text(), re.MULTILINE)
    return found[1] if found else None


def pytest_configure(config: pytest.Config) -> None:
    """Take part where tests are run, not where they are only collected."""
    if not config.option.collectonly:
        config.pluginmanager.register(Recorder(config), "slinky-recorder")
