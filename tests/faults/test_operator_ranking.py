"""The planner's picture of the operator, against the operator itself: which pods it removes where no gate marks any.

Each case is a NodeSet of three with something on it; the prediction is noted, then `kubectl scale` asks for fewer, and the
operator's choice is read from what it does: pods that it deletes, and nodes that it drains to delete them later.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from slinky_iac import names
from slinky_iac.cluster import pulumi_state
from slinky_iac.drain.ranking import Prediction, predicted_victims
from slinky_iac.drain.session import open_session
from slinky_iac.drain.settings import GateSettings, gates
from slinky_iac.engine.plugin_process import Severity
from tests.e2e.gated import NAMESPACE, NODES, NODESET, RESOURCE, STACK, Gated
from tests.e2e.slurm import Slurm, await_true

STANDS_ON = STACK
PENDING = "pending termination"
"""In the reason of a node that the operator drains because its pod is to go."""
LOOK = "tests/look"
"""An annotation of ours that nothing reads: any change of a pod makes the operator look now, not within 30 s."""


@dataclass(frozen=True)
class Mix:
    """What is on the three nodes when fewer are asked for."""

    replicas: int
    """Pods that may stay."""
    busy: Mapping[str, int] = field(default_factory=dict)
    """Time limits of running jobs, in minutes, by node."""
    costs: Mapping[str, int] = field(default_factory=dict)
    """Deletion costs by node."""
    cordoned: tuple[str, ...] = ()
    """Idle nodes whose Kubernetes node is cordoned, so that the operator cordons and drains them."""


def some_mix(seed: int) -> Mix:
    """Jobs, costs and cordons by dice; the same for the same seed."""
    dice = random.Random(seed)
    busy = {node: dice.choice([10, 20, 30]) for node in NODES if dice.random() < 0.5}
    cordoned = tuple(node for node in NODES if node not in busy and dice.random() < 0.5)
    return Mix(
        replicas=dice.choice([1, 2]),
        busy=busy,
        costs={node: dice.choice([-100, -5, 7]) for node in NODES if dice.random() < 0.35},
        cordoned=cordoned,
    )


CASES = {
    "all idle": Mix(2),
    "highest ordinal busy": Mix(2, busy={"gpu-2": 10}),
    "low cost on one of two busy": Mix(2, busy={"gpu-1": 20, "gpu-2": 10}, costs={"gpu-1": -100}),
} | {f"dice {seed}": some_mix(seed) for seed in (1, 8, 15, 19, 24)}


@pytest.fixture(scope="module")
def unsteered(gated: Gated) -> Iterator[Gated]:
    """The NodeSet while `kubectl scale` writes its replicas; in the end they are as many as before, and pulumi's again."""
    yield gated
    gated.disown_replicas()


@pytest.fixture(scope="module")
def settings(gated: Gated) -> GateSettings:
    """The gate's, as the stack has them: how Kubernetes and slurmrestd are reached."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in gated.stack.env.items():
            patch.setenv(name, value)
        patch.chdir(gated.stack.folder)
        (found,) = gates(pulumi_state.export(gated.stack.name)).values()
    return found


@pytest.fixture
def three(unsteered: Gated, slurm: Slurm) -> Iterator[Gated]:
    """Three idle pods in service; what a case did to them is undone."""
    gated = unsteered
    yield gated
    for kubernetes_node in gated.world.objects("nodes", ""):
        gated.world.kubectl("uncordon", kubernetes_node["metadata"]["name"])
    slurm.cancel_all()
    _scale(gated, 3)
    gated.world.await_pods(NAMESPACE, NODESET, 3)
    for pod in gated.world.pods(NAMESPACE, NODESET).values():
        _annotate(gated, pod, f"{names.ANNOTATION_DELETION_COST}-")
    slurm.await_registered(*NODES)


@pytest.mark.parametrize("case", CASES)
def test_the_operator_gives_up_whom_the_planner_predicts(
    three: Gated, slurm: Slurm, settings: GateSettings, case: str
) -> None:
    gated, mix = three, CASES[case]
    jobs = _occupy(gated, slurm, mix)
    prediction, nodes = _prediction(settings, gated, mix.replicas)
    print(f"{case}: {mix}; predicted: {', '.join(sorted(nodes[pod] for pod in prediction.victims))}")

    _scale(gated, mix.replicas)
    chosen: set[str] = set()

    def decided() -> bool:
        chosen.update(_chosen(gated, slurm))
        return len(chosen) >= len(NODES) - mix.replicas

    await_true("the operator has chosen", decided, 90)
    print(f"the operator's choice: {', '.join(sorted(chosen))}")
    assert chosen ^ {nodes[pod] for pod in prediction.victims} <= {nodes[pod] for pod in prediction.uncertain}

    for job in (job for node, job in jobs.items() if node in chosen):
        slurm.finish(job)
    await_true("exactly these are gone", lambda: _looked_at(gated) == set(NODES) - chosen, 120)
    states = {node: slurm.job_state(job) for node, job in jobs.items() if node not in chosen}
    assert all(state == {"RUNNING"} for state in states.values()), "the others' jobs run on"


def _scale(gated: Gated, replicas: int) -> None:
    gated.world.take_the_fence_away()
    gated.world.kubectl("scale", "nodesets.slinky.slurm.net", "-n", NAMESPACE, RESOURCE, f"--replicas={replicas}")


def _occupy(gated: Gated, slurm: Slurm, mix: Mix) -> dict[str, int]:
    """Bring about what the mix says; returns the jobs by node, when the operator has noticed all of it."""
    jobs = {node: slurm.submit("-p", "gpu", "-w", node, "-t", str(limit)) for node, limit in mix.busy.items()}
    slurm.await_running(*jobs.values())
    pods = gated.world.pods(NAMESPACE, NODESET)
    for node, cost in mix.costs.items():
        _annotate(gated, pods[node], f"{names.ANNOTATION_DELETION_COST}={cost}")
    for node in mix.cordoned:
        gated.world.kubectl("cordon", pods[node]["spec"]["nodeName"])

    def noticed() -> bool:
        _looked_at(gated)
        if _annotated(gated, names.ANNOTATION_POD_DEADLINE) != set(mix.busy):
            return False
        return _annotated(gated, names.ANNOTATION_POD_CORDON) == set(mix.cordoned)

    await_true("the operator has written deadlines and cordons", noticed, 120, every=2.0)
    return jobs


def _prediction(settings: GateSettings, gated: Gated, replicas: int) -> tuple[Prediction, dict[str, str]]:
    """What the planner says the operator alone would delete, and the Slurm nodes of the pods."""
    with pytest.MonkeyPatch.context() as patch, open_session(settings.reach, "", report=_silent) as session:
        for name, value in gated.stack.env.items():
            patch.setenv(name, value)
        seen = session.observe(settings)
    return predicted_victims(seen.pods, replicas, settings.version), {pod.name: pod.slurm_node for pod in seen.pods}


def _chosen(gated: Gated, slurm: Slurm) -> set[str]:
    """Nodes whose pods the operator deletes, or drains to delete them."""
    waiting = {name for name, node in slurm.nodes().items() if PENDING in node["reason"]}
    return (set(NODES) - set(gated.pods())) | waiting


def _looked_at(gated: Gated) -> set[str]:
    """Make the operator look; returns the nodes whose pods are there to stay."""
    pods = gated.world.pods(NAMESPACE, NODESET)
    _annotate(gated, next(iter(pods.values())), f"{LOOK}={time.monotonic_ns()}")
    return set(pods)


def _annotate(gated: Gated, pod: dict[str, Any], change: str) -> None:
    gated.world.kubectl("annotate", "--overwrite", "pod", "-n", NAMESPACE, pod["metadata"]["name"], change)


def _annotated(gated: Gated, name: str) -> set[str]:
    pods = gated.world.pods(NAMESPACE, NODESET)
    return {node for node, pod in pods.items() if name in pod["metadata"].get("annotations", {})}


def _silent(message: str, *, severity: Severity = "info", keep: bool = False) -> None:
    """No person watches a test."""
