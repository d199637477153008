"""The planner's picture of the operator, against the operator itself: what it deletes when nobody steers it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from slinky_iac import stack_state
from slinky_iac.drain.progress import Severity
from slinky_iac.drain.ranking import predicted_victims
from slinky_iac.drain.session import open_session
from tests.e2e.gated import NAMESPACE, NODES, RESOURCE, Gated, bring_up
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World


@pytest.fixture(scope="module")
def gated(world: World, slurm: Slurm) -> Iterator[Gated]:
    gated = bring_up(world, slurm)
    yield gated
    slurm.cancel_all()
    gated.stack.pulumi("refresh", "--yes")
    gated.stack.destroy()


def _silent(message: str, *, severity: Severity = "info", keep: bool = False) -> None:
    """Nobody watches a test."""


def predicted(gated: Gated, replicas: int, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Slurm nodes of the pods that the planner says the operator alone would delete."""
    for name, value in gated.stack.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(gated.stack.folder)
    (settings,) = stack_state.gates(stack_state.export(gated.stack.name)).values()
    with open_session(settings.reach, "", report=_silent) as session:
        seen = session.observe(settings)
    victims = predicted_victims(seen.pods, replicas, settings.version).victims
    return {pod.node for pod in seen.pods if pod.name in victims}


@pytest.mark.parametrize(
    ("busy", "cheap"),
    [((), None), (("gpu-2",), None), (("gpu-1", "gpu-2"), "gpu-1")],
    ids=["all idle", "highest ordinal busy", "a deletion cost on a busy one"],
)
def test_the_operator_deletes_what_the_planner_predicts(
    gated: Gated, slurm: Slurm, monkeypatch: pytest.MonkeyPatch, busy: tuple[str, ...], cheap: str | None
) -> None:
    gated.stack.pulumi("refresh", "--yes")
    gated.reset()
    for node in busy:
        slurm.await_running(slurm.submit("-p", "gpu", "-w", node, "-t", "10", seconds=60))
    if busy:
        await_true("the operator has written a deadline on the busy pods", lambda: _deadlines(gated) >= set(busy), 90)
    if cheap is not None:
        pod = gated.world.pods(NAMESPACE, "gpu")[cheap]["metadata"]["name"]
        cost = "nodeset.slinky.slurm.net/pod-deletion-cost=-100"
        gated.world.kubectl("annotate", "--overwrite", "pod", "-n", NAMESPACE, pod, cost)

    victims = predicted(gated, 2, monkeypatch)
    gated.world.kubectl("scale", "nodesets.slinky.slurm.net", "-n", NAMESPACE, RESOURCE, "--replicas=2")
    await_true("one pod is gone", lambda: len(gated.pods()) == 2, 180)
    gated.disown_replicas()
    assert set(NODES) - set(gated.pods()) == victims


def _deadlines(gated: Gated) -> set[str]:
    key = "nodeset.slinky.slurm.net/pod-deadline"
    pods = gated.world.pods(NAMESPACE, "gpu")
    return {node for node, pod in pods.items() if key in pod["metadata"].get("annotations", {})}
