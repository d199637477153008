"""A site's own project on a real cluster, as a new user makes it: the wheel, `slinky new`, `slinky init`, `up`, a job.

Nothing of the project leads to the checkout. The checkout's program takes up the wheel's stack without a change: states name
the same modules.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import charts
from lab import slurm as outside
from lab.demo import apply_lines_of
from lab.slurm import conf
from lab.stacks import CHARTS, Stack, imported_keys
from slinky_iac.keys.raw import fingerprint
from tests.e2e.rotating import VIA
from tests.e2e.slurm import Slurm, await_same, await_true
from tests.e2e.world import World, dev_settings, steps
from tests.wheel import Site, build, made

NAME = "site"
NODESET = "burst"
NODES = ("burst-0", "burst-1")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    found = made(build(tmp_path / "dist"), tmp_path / "cluster")
    (found.folder / CHARTS).symlink_to(charts.chart_dir())
    return found


@pytest.fixture
def stack(world: World, slurm: Slurm, site: Site) -> Iterator[Stack]:
    """The stack of the site's project; whatever becomes of the test, it is gone afterwards."""
    stack = Stack(NAME, site.folder, world.env)
    yield stack
    slurm.cancel_all()
    stack.destroy()
    stack.pulumi("stack", "rm", "--yes")
    outside.apply_nodesets_conf(conf.DEFAULT_NODESETS)


def base() -> dict[str, Any]:
    """What is the lab's own: its images, its chart, short waits."""
    found = dev_settings()
    kept = {name: found[f"slinky-iac:{name}"] for name in ("operator", "restapi")}
    kept["cluster"] = {"images": found["slinky-iac:cluster"]["images"]}
    kept["keys"] = {"protect": False}
    nodeset = {
        "pod": {"terminationGrace": "2s"},
        "drain": {"deadline": "4m"},
        "partition": {"config": {"MaxTime": "UNLIMITED"}},
    }
    kept["nodesets"] = {NODESET: nodeset}
    return {f"slinky-iac:{name}": value for name, value in kept.items()}


def scaled(stack: Stack, replicas: int) -> None:
    """Other replicas in the stack's file, and nothing else."""
    whole = yaml.safe_load(stack.config_file.read_text())
    whole["config"]["slinky-iac:nodesets"][NODESET]["replicas"] = replicas
    stack.config_file.write_text(yaml.safe_dump(whole))


def drained(slurm: Slurm, node: str) -> bool:
    found = slurm.nodes()[node]
    return "DRAIN" in found["state"] and found["reason"].startswith(f"slinky-iac:{NAME}/{NODESET}: ")


def started(stack: Stack) -> subprocess.Popen[str]:
    """`pulumi up`, begun."""
    return subprocess.Popen(
        ["pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--stack", NAME],
        cwd=stack.folder,
        env={**os.environ, **stack.env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_from_an_outside_slurmctld_to_a_job_in_four_commands_and_back_without_a_lost_job(
    world: World, slurm: Slurm, site: Site, stack: Stack, tmp_path: Path
) -> None:
    (site.folder / "base.yaml").write_text(yaml.safe_dump({"config": base()}))
    before = world.identities()
    env = {**os.environ, **world.env}

    options = ["--slurmctld", "ctl", "--via", VIA, "--nodeset", f"{NODESET}=2", "--base", "base.yaml"]
    said = site.run("slinky", "init", NAME, *options, env=env)  # the first command
    for name, raw in imported_keys().items():
        assert f"{name}: imported, {fingerprint(raw)}" in said.stdout
    assert "# DECIDE: " in stack.config_file.read_text(), "pulumi leaves comments where they are"
    site.run("slinky", "check")
    via = VIA.replace("{host}", "ctl")
    told = site.run("slinky", "preflight", "--via", via, "--no-pod", "--json", env=env, check=False).stdout
    fine = {each["name"] for each in json.loads(told)["checks"] if each["verdict"] == "fine"}
    assert {"slurmctld-host", "auth-type", "configless", "jwt-key", "slurm-key"} <= fine, "before slurmrestd is there"
    assert {op for op, _ in steps(stack.pulumi("preview", "--json"))} == {"create"}
    stack.up()  # the second
    apply_lines_of(stack)  # the third, the Slurm admin's
    slurm.await_registered(*NODES)
    assert sorted(slurm.user("srun", "-p", NODESET, "-N2", "-t1", "hostname").split()) == list(NODES)  # the fourth

    assert site.run("slinky", "verify-state", "--stack", NAME, env=env).stdout == "the state holds no foreign code\n"
    ours = Stack(NAME, tmp_path / "checkout", world.env)
    ours.init(stack.config_file, charts.chart_dir(), {})
    assert steps(ours.pulumi("preview", "--json")) == [], "the checkout's program would change the wheel's stack"

    kept = slurm.submit("-p", NODESET, "-w", NODES[0], "-t", "20")
    ending = slurm.submit("-p", NODESET, "-w", NODES[1], "-t", "3")
    slurm.await_running(kept, ending)
    scaled(stack, 1)
    update = started(stack)
    await_true("the node is drained by the stack's gate", lambda: drained(slurm, NODES[1]), 120)
    assert "RUNNING" in slurm.job_state(ending)
    assert update.poll() is None, "it waits for the job"
    slurm.finish(ending)
    out, _ = update.communicate(timeout=300)
    assert update.returncode == 0, out
    assert "RUNNING" in slurm.job_state(kept)
    slurm.finish(kept)
    rows = slurm.await_completed(kept, ending)
    assert {(row.job, row.state, row.nodes) for row in rows} == {
        (str(kept), "COMPLETED", NODES[0]),
        (str(ending), "COMPLETED", NODES[1]),
    }

    stack.destroy()
    await_same("nothing of the stack is left", world.identities, before, 60)
