"""The program in examples/: types are right, and the cluster gets the VM's address."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from typing import Any

import pytest
from pulumi.runtime import mocks

from tests.clusters import SECRETS
from tests.program import Recording, configured, run
from tests.stacks import ROOT

PROGRAM = ROOT / "examples" / "program" / "__main__.py"


class Cloud(Recording):
    """Gives a VM its address."""

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        known, state = super().new_resource(args)
        return known, {**state, **({"accessIpV4": "10.1.2.3"} if args.typ.startswith("openstack:") else {})}


def test_the_cluster_gets_the_address_of_the_vm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(PROGRAM.parent)  # as Pulumi's language host does
    secrets = {name: SECRETS[name] for name in ("slurmKey", "jwtKey")}
    with configured({}, {**secrets, "gpuReplicas": "2", "databasePassword": "a-password"}):
        recording = run(lambda: runpy.run_path(str(PROGRAM), run_name="__main__"), recording=Cloud())
    controller = recording.one("kubernetes:slinky.slurm.net/v1beta1:Controller")
    vm = recording.one("openstack:compute/instance:Instance", "slurmctld")
    assert controller.inputs["spec"]["externalConfig"]["host"] == "10.1.2.3"
    assert vm.urn in recording.before(controller)
    assert {each.inputs["nodeset"] for each in recording.of("NodeSetScale")} == {"cpu", "gpu"}


def test_its_own_tests_pass_with_pulumis_mocks_alone() -> None:
    """As a user runs them: none of this repository's stand-ins, settings or plugins."""
    pytest_of_user = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", "."]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*pytest_of_user, "test_program.py"], cwd=PROGRAM.parent, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_its_types_are_right() -> None:
    files = [str(PROGRAM), str(PROGRAM.parent / "test_program.py")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *files], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
