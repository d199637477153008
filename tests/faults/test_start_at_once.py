"""A scale-out in parts (`drain.startAtOnce`) on the real operator: the next pod is asked for once the one before it has
registered with slurmctld, also by the run after one that was killed."""

from __future__ import annotations

import subprocess

from tests.e2e.gated import NAMESPACE, NODES, RESOURCE, STACK, Gated
from tests.e2e.slurm import Slurm, await_true

STANDS_ON = STACK
ONE = {"startAtOnce": 1, "registerDeadline": "3m"}


def asked_for(gated: Gated) -> int:
    (found,) = (each for each in gated.world.objects("nodesets", NAMESPACE) if each["metadata"]["name"] == RESOURCE)
    return int(found["spec"]["replicas"])


def on_their_way(gated: Gated, slurm: Slurm) -> int:
    """Pods that are asked for and not in service; the number first, so that a pod that registers meanwhile isn't a fault."""
    number = asked_for(gated)
    up = [
        node
        for node, states in slurm.states().items()
        if node in NODES and not states & {"DOWN", "UNKNOWN", "NOT_RESPONDING"}
    ]
    return number - len(up)


def watched(gated: Gated, slurm: Slurm, run: subprocess.Popen[str]) -> int:
    """The most pods that were on their way at once, until the run ends well."""
    most = 0

    def ended() -> bool:
        nonlocal most
        over = run.poll() is not None
        most = max(most, on_their_way(gated, slurm))
        return over

    await_true("the update has ended", ended, 300, every=0.2)
    out, _ = run.communicate()
    assert run.returncode == 0, out
    assert "drain.startAtOnce is 1" in out, out
    return most


def test_pods_start_one_after_the_other_whoever_kills_the_update(gated: Gated, slurm: Slurm) -> None:
    gated.up(0)
    await_true("no pod is left", lambda: not gated.world.pods(NAMESPACE, "gpu"), 120)
    gated.write(3, ONE)
    first = gated.start_up()
    await_true("the first pod is asked for", lambda: asked_for(gated) >= 1, 120, every=0.2)
    gated.kill(first)
    assert asked_for(gated) == 1
    assert watched(gated, slurm, gated.start_up()) == 1
    slurm.await_registered(*NODES)
    assert gated.changes() == []
