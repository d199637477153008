"""A site's own project, made by the wheel's template in a folder that isn't the checkout, on a real cluster: its whole life.

The checkout's program takes up the wheel's stack without a change: states name the same modules.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from lab import charts
from lab import slurm as outside
from lab.demo import nodeset_lines
from lab.slurm import conf
from lab.stacks import CHARTS, Stack, imported_keys
from tests.e2e.gated import NAMESPACE, NODESET, Gated, settings
from tests.e2e.slurm import Slurm, await_same
from tests.e2e.world import World, encrypted, steps
from tests.wheel import Site, build, made

NAME = "site"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    found = made(build(tmp_path / "dist"), tmp_path / "cluster")
    (found.folder / CHARTS).symlink_to(charts.chart_dir())
    return found


@pytest.fixture
def stack(world: World, slurm: Slurm, site: Site) -> Iterator[Stack]:
    """The stack of the site's project; whatever becomes of the test, it is gone afterwards."""
    stack = Stack(NAME, site.folder, world.env)
    write(stack, 2)
    stack.pulumi("stack", "select", "--create", NAME)
    for name, raw in imported_keys().items():
        stack.pulumi("config", "set", "--secret", name, stdin=b64encode(raw).decode())
    yield stack
    slurm.cancel_all()
    stack.destroy()
    stack.pulumi("stack", "rm", "--yes")
    outside.set_nodesets_conf(conf.DEFAULT_NODESETS)
    outside.reconfigure()


def write(stack: Stack, replicas: int) -> None:
    """Settings of the lab with one NodeSet; encrypted values and the salt stay."""
    before = yaml.safe_load(stack.config_file.read_text()) if stack.config_file.exists() else {}
    stack.config_file.write_text(yaml.safe_dump({**before, "config": {**settings(replicas), **encrypted(stack)}}))


def test_a_sites_own_project_lives_from_preview_to_destroy_and_loses_no_job(
    world: World, slurm: Slurm, site: Site, stack: Stack, tmp_path: Path
) -> None:
    before = world.identities()
    preview = steps(stack.pulumi("preview", "--json"))
    assert {op for op, _ in preview} == {"create"}
    stack.up()
    outside.set_nodesets_conf(nodeset_lines(str(stack.outputs()["outsideSlurmConf"])))
    outside.reconfigure()
    slurm.await_registered("gpu-0", "gpu-1")

    looked = site.run("slinky", "verify-state", "--stack", NAME, env=world.env)
    assert looked.stdout == "the state holds no foreign code\n"
    ours = Stack(NAME, tmp_path / "checkout", world.env)
    ours.init(stack.config_file, charts.chart_dir(), {})
    assert steps(ours.pulumi("preview", "--json")) == [], "the checkout's program would change the wheel's stack"

    kept = slurm.submit("-p", NODESET, "-w", "gpu-0", "-t", "20")
    ending = slurm.submit("-p", NODESET, "-w", "gpu-1", "-t", "3")
    slurm.await_running(kept, ending)
    write(stack, 1)
    gated = Gated(world, slurm, stack)
    gated.finish_when_drained(gated.start_up(), ("gpu-1",), ending)
    gated.await_pods("gpu-0")
    assert "RUNNING" in slurm.job_state(kept)
    slurm.finish(kept)
    rows = slurm.await_completed(kept, ending)
    assert {(row.job, row.state, row.nodes) for row in rows} == {
        (str(kept), "COMPLETED", "gpu-0"),
        (str(ending), "COMPLETED", "gpu-1"),
    }
    assert len(rows) == 2, "nothing ran twice"

    stack.destroy()
    assert world.pods(NAMESPACE, NODESET) == {}
    await_same("nothing of the stack is left", world.identities, before, 60)
