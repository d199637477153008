"""What others made is never taken up nor destroyed, and what a cut-off run left behind is taken up: on real parts."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from lab.stacks import Stack
from tests.e2e.world import Settings, World, dev_settings

NAME = "first-look"
NAMESPACE = "slurm"
OPERATOR = "slinky"


@pytest.fixture
def empty(world: World) -> Iterator[World]:
    """A lab without a stack and without the namespace."""
    world.vacate()
    world.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")
    yield world
    world.vacate()
    world.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")


def stack(world: World, **cluster: Any) -> Stack:
    settings: Settings = copy.deepcopy(dev_settings())
    settings["slinky-iac:cluster"] |= cluster
    return world.stack(NAME, settings)


def failed(stack: Stack, *arguments: str) -> str:
    done = stack.pulumi(*arguments, check=False)
    assert done.returncode != 0, done.stdout
    return done.stdout + done.stderr


def there(world: World, kind: str, name: str, *where: str) -> bool:
    return world.kubectl("get", kind, name, *where, check=False).returncode == 0


def test_a_namespace_of_others_is_refused_in_preview_and_outlives_the_stack(empty: World) -> None:
    empty.kubectl("create", "namespace", NAMESPACE)
    own = stack(empty)
    for arguments in (["preview"], ["up", "--yes", "--skip-preview"]):
        assert "this stack did not make it" in failed(own, *arguments)
    own = stack(empty, createNamespace=False)
    own.up()
    own.pulumi("state", "unprotect", "--all", "--yes")
    own.destroy()
    assert there(empty, "namespace", NAMESPACE)


def test_a_namespace_that_this_stack_made_stays_in_the_program_unless_it_is_kept(empty: World) -> None:
    stack(empty).up()
    for arguments in (["preview"], ["up", "--yes", "--skip-preview"]):
        assert "can't change from true to false" in failed(stack(empty, createNamespace=False), *arguments)
    stack(empty, keepNamespace=True).up()
    stack(empty, createNamespace=False).up()
    assert there(empty, "controllers.slinky.slurm.net", "slurm", "-n", NAMESPACE)
    own = stack(empty, createNamespace=False)
    own.pulumi("state", "unprotect", "--all", "--yes")
    own.destroy()
    assert there(empty, "namespace", NAMESPACE)


def test_a_restapi_that_somebody_deleted_is_said_at_once(empty: World) -> None:
    own = stack(empty)
    own.up()
    empty.take_the_fence_away()
    empty.kubectl("delete", "restapis.slinky.slurm.net", "-n", NAMESPACE, "slurm")
    previewed = own.pulumi("preview", check=False)
    assert "Run `pulumi up --refresh`" in previewed.stdout + previewed.stderr
    began = time.monotonic()
    assert "Run `pulumi up --refresh`" in failed(own, "up", "--yes", "--skip-preview")
    assert time.monotonic() - began < 60, "it waits for no deadline"
    own.up("--refresh")
    assert there(empty, "restapis.slinky.slurm.net", "slurm", "-n", NAMESPACE)


@pytest.mark.parametrize("setting", ["install", "installCrds"])
def test_the_crds_of_live_nodesets_are_not_deleted_with_the_operator(empty: World, setting: str) -> None:
    settings: Settings = copy.deepcopy(dev_settings())
    settings["slinky-iac:cluster"]["fence"] = False
    settings["slinky-iac:operator"]["protectCrds"] = False
    empty.stack(NAME, settings).up()
    before = {item["metadata"]["uid"] for item in empty.objects("nodesets.slinky.slurm.net", NAMESPACE)}
    settings["slinky-iac:operator"][setting] = False
    for arguments in (["preview"], ["up", "--yes", "--skip-preview"]):
        assert "can't change from true to false" in failed(empty.stack(NAME, settings), *arguments)
    assert {item["metadata"]["uid"] for item in empty.objects("nodesets.slinky.slurm.net", NAMESPACE)} == before != set()
    assert there(empty, "deployment", "slurm-operator", "-n", OPERATOR)


@pytest.mark.parametrize("chart", ["slurm-operator-crds", "slurm-operator"])
def test_an_update_cut_off_while_a_release_is_made_is_healed_by_the_one_command_that_is_said(
    empty: World, chart: str
) -> None:
    own = stack(empty)
    command = ["pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--stack", NAME]
    env = {**os.environ, **empty.env}
    run = subprocess.Popen(command, cwd=own.folder, env=env, stdout=subprocess.DEVNULL, start_new_session=True)
    selector = f"owner=helm,name={chart}"
    while not (found := empty.kubectl("get", "secret", "-n", OPERATOR, "-l", selector, "-o", "name", check=False)).stdout:
        assert run.poll() is None, "the update ended before Helm had written anything"
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    assert found.stdout.startswith("secret/sh.helm.release.v1."), found.stdout
    own.unlock()
    heal = f"kubectl delete secret -n {OPERATOR} -l {selector}"
    for arguments in (["preview"], ["up", "--yes", "--skip-preview"]):
        assert heal in failed(own, *arguments)
    empty.kubectl(*heal.split()[1:])
    own.up()
    assert own.outputs()["nodesets"] == {"cpu": 1, "gpu": 2}


def test_the_stack_keeps_to_its_kubernetes(empty: World) -> None:
    """The UID of kube-system is recorded; a state that says another one is a stack of another cluster."""
    own = stack(empty)
    own.up()
    exported = json.loads(own.pulumi("stack", "export").stdout)
    (identity,) = [r for r in exported["deployment"]["resources"] if r["type"].endswith(":ClusterIdentity")]
    uid = empty.kubectl("get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}").stdout
    assert identity["outputs"]["kubernetes"] == uid
    settings = copy.deepcopy(dev_settings())
    settings["slinky-iac:kubernetes"] = {"cluster": "00000000-0000-4000-8000-000000000000"}
    assert "names the Kubernetes cluster" in failed(empty.stack(NAME, settings), "preview")
    settings["slinky-iac:kubernetes"] = {"cluster": uid}
    empty.stack(NAME, settings).up()
