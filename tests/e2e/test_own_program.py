"""A person's own program makes one NodeSet with its gate in a cluster that another program has made: no stack file of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab import charts
from lab import slurm as outside
from lab.demo import nodeset_lines
from lab.slurm import conf
from lab.stacks import Stack
from tests.e2e.gated import NAMESPACE, NODES, STACK, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World, ready

STANDS_ON = STACK
NAME, NODESET = "own-program", "cpu"
PROGRAM = """\
import pulumi

from components import NodeSet, NodeSetArgs
from slinky_iac.config.sections import Cluster, Images, Operator
from slinky_iac.parts.slurmctld.settings import Controller, ExternalSlurmctld
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.config.workers import NodeSet as Settings
from slinky_iac.config.workers import PodSettings

images = Images(slurmd="slinky-lab/slurm:26.05", sidecar="slinky-lab/busybox:1", pull_policy="Never")
lab = ClusterConfig(
    cluster=Cluster(name="lab", namespace="slurm", slurm_version="26.05", images=images),
    operator=Operator(version="1.0.1"),
    controller=Controller(external=ExternalSlurmctld(host="ctl")),
)
settings = Settings(replicas=1, pod=PodSettings(termination_grace=2))
cpu = NodeSet("cpu", NodeSetArgs(cluster=lab, name="cpu", settings=settings))
pulumi.export("replicas", cpu.replicas)
"""


@pytest.fixture
def program(world: World, tmp_path: Path) -> Iterator[Stack]:
    """The program, in a project of its own; nothing of it is made yet. It goes to Kubernetes as the lab's administrator:
    `rights` reads a stack file of ours, and it has none."""
    stack = replace(world.named(NAME), account=None)
    settings = tmp_path / "settings.yaml"
    settings.write_text("config: {}\n")
    stack.init(settings, charts.chart_dir(), {})
    main = stack.folder / "__main__.py"
    main.unlink()
    main.write_text(PROGRAM)
    yield stack
    stack.destroy()


def test_a_nodeset_alone_joins_the_cluster_of_another_program_and_drains_before_it_goes(
    gated: Gated, world: World, slurm: Slurm, program: Stack
) -> None:
    gated.reset()
    lines = nodeset_lines(str(gated.stack.outputs()["outsideSlurmConf"]))
    outside.apply_nodesets_conf(f"{lines}\n{conf.DEFAULT_NODESETS.splitlines()[1]}\nPartitionName=cpu Nodes=cpu State=UP\n")
    program.up()
    slurm.await_registered("cpu-0")
    assert program.outputs() == {"replicas": 1}
    program.pulumi("preview", "--expect-no-changes")

    job = slurm.submit("-p", "cpu", "-t", "5")
    slurm.await_running(job)
    destroy = Gated(world, slurm, program).start_up(command="destroy")
    ours = f"slinky-iac:{NAME}/{NODESET}: "
    await_true("its node is drained", lambda: slurm.reason("cpu-0").startswith(ours), 60)
    slurm.finish(job)
    out, _ = destroy.communicate(timeout=120)
    assert destroy.returncode == 0, out
    (row,) = slurm.await_completed(job)
    assert (row.state, row.nodes) == ("COMPLETED", "cpu-0")
    assert world.pods(NAMESPACE, NODESET) == {}
    assert sorted(world.pods(NAMESPACE, "gpu")) == list(NODES)
    assert all(ready(pod) for pod in world.pods(NAMESPACE, "gpu").values())
