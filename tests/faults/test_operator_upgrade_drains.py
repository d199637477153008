"""A newer slurm-operator returns no node that a person has drained (docs/releases.md). From 1.2 on, its first sync
would set such nodes IDLE. The step is the newest one that the lab has: 1.0.1 to 1.1.0, or 1.1.0 to yours."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.gated import NAMESPACE, NODESET, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World
from tests.faults.later_operator import LATER, release_of
from tests.faults.test_operator_upgrade import AFTER, BEFORE, ON_DELETE, documented, image_of, label, of_earlier, running
from tests.faults.test_operator_upgrade import pods as uids

REASON = "bad DIMM"


@pytest.fixture(scope="module")
def earlier(ground: None, world: World, slurm: Slurm) -> Iterator[Gated]:
    """Three pods behind gates, of the earlier operator."""
    with of_earlier(world, slurm, "upgraded-drains", nodeset=ON_DELETE) as gated:
        yield gated


def take_report(world: World, node: str) -> None:
    """Take the operator's report on a pod's Slurm node off the pod: the next sync writes it again."""
    pod = world.pods(NAMESPACE, NODESET)[node]
    kept = [each for each in pod["status"]["conditions"] if not reports(each)]
    patch = json.dumps([{"op": "replace", "path": "/status/conditions", "value": kept}])
    kind = ("pod", pod["metadata"]["name"], "-n", NAMESPACE)
    world.kubectl("patch", *kind, "--subresource=status", "--type=json", "-p", patch)


def reports(condition: dict[str, Any]) -> bool:
    return str(condition["type"]).startswith("SlurmNodeState")


def test_a_node_that_a_person_has_drained_stays_so_under_the_newer_operator(earlier: Gated, slurm: Slurm) -> None:
    gated, pods, world = earlier, uids(earlier), earlier.world
    job = slurm.submit("-p", "gpu", "-w", "gpu-0", "-t", "20")
    slurm.await_running(job)
    slurm.admin("scontrol", "update", "nodename=gpu-2", "state=drain", f"reason={REASON}")
    label(world, NAMESPACE)
    gated.write(3, nodeset=ON_DELETE, operator=AFTER)
    gated.stack.pulumi(*documented("pulumi up --target")[1:], "--yes")
    if release_of(LATER).notes_nodesets:
        refused = gated.try_up()
        said = refused.stdout + refused.stderr
        assert refused.returncode != 0, said
        assert f"would set 1 node(s) IDLE that are drained or DOWN, in its first moments: gpu-2 ({REASON})" in said
        assert running(gated) == image_of(BEFORE), "the operator is as it was"
        (command,) = set(re.findall(r"`(scontrol update nodename=gpu-2 [^`]*)`", said))
        slurm.admin(*shlex.split(command))
    gated.stack.up()
    assert running(gated) == image_of(AFTER)

    take_report(world, "gpu-2")
    kept = f"{NAMESPACE}/gpu-2"
    await_true(
        f"the newer operator has looked at {kept}",
        lambda: any(map(reports, world.pods(NAMESPACE, NODESET)["gpu-2"]["status"]["conditions"])),
        180,
    )
    assert "DRAIN" in slurm.states()["gpu-2"]
    assert slurm.reason("gpu-2").startswith(REASON), "it is the person's"
    assert uids(gated) == pods
    assert "RUNNING" in slurm.job_state(job)
    slurm.finish(job)
    (row,) = slurm.await_completed(job)
    assert (row.state, row.nodes, row.exit_code) == ("COMPLETED", "gpu-0", "0:0")
