"""An autoscaler that the stack didn't make (``owner: autoscaler``): a HorizontalPodAutoscaler with bounds and no metric.

slurm-operator's update strategy is OnDelete then, by which it returns no node of a NodeSet that has its number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from slinky_iac.names import ANNOTATION_POD_CORDON
from tests.e2e.gated import NAMESPACE, NODES, NODESET, RESOURCE, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.faults.mid_drain import gated
from tests.made.scalers import target

__all__ = ["gated"]

NAME = "by-bounds"


@dataclass
class Bounded:
    """The NodeSet, and bounds that pull its number."""

    gated: Gated
    slurm: Slurm

    def number(self, wanted: int) -> None:
        """Let the autoscaler ask for so many, and wait until it has."""
        resource = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
        spec = {
            "scaleTargetRef": target(RESOURCE),
            "minReplicas": wanted,
            "maxReplicas": wanted,
            "metrics": [{"type": "Resource", "resource": resource}],
        }
        meta = {"name": NAME, "namespace": NAMESPACE}
        made = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": meta, "spec": spec}
        self.gated.world.kubectl("apply", "-f", "-", stdin=json.dumps(made))
        await_true(f"the autoscaler asks for {wanted}", lambda: self.replicas == wanted, 90)

    @property
    def replicas(self) -> int:
        (found,) = self.gated.world.objects("nodesets.slinky.slurm.net", NAMESPACE)
        return int(found["spec"]["replicas"])

    def drained(self) -> set[str]:
        """Nodes that take no new job."""
        return {name for name, states in self.slurm.states().items() if name in NODES and "DRAIN" in states}


@pytest.fixture
def bounded(gated: Gated, slurm: Slurm) -> Iterator[Bounded]:
    slurm.cancel_all()
    gated.up(3, nodeset={"owner": "autoscaler", "maxReplicas": 3})
    found = Bounded(gated, slurm)
    found.number(3)
    gated.world.await_pods(NAMESPACE, NODESET, 3)
    yield found
    slurm.cancel_all()
    gated.world.kubectl("delete", "hpa", "-n", NAMESPACE, NAME)
    gated.disown_replicas()


def test_a_node_of_a_number_that_is_raised_again_comes_back_by_the_next_update(bounded: Bounded) -> None:
    """The job on it ends well meanwhile, the preview names the node, and a cordon that a person has set stays."""
    slurm, gated = bounded.slurm, bounded.gated
    jobs = [slurm.submit("-p", "gpu", "--exclusive", "-N1", "-t", "30") for _ in NODES]
    slurm.await_running(*jobs)
    bounded.number(2)
    await_true("the operator drains one for the lower number", bounded.drained, 90)
    (node,) = bounded.drained()
    bounded.number(3)
    leaving, *staying = sorted(jobs, key=lambda job: slurm.job_nodes(job) != node)
    slurm.finish(leaving)
    (row,) = slurm.await_completed(leaving)
    assert (row.state, row.nodes) == ("COMPLETED", node)
    by_hand = next(each for each in NODES if each != node)
    gated.world.kubectl("annotate", "pod", "-n", NAMESPACE, pod_of(by_hand), f"{ANNOTATION_POD_CORDON}=true")
    await_true("the operator drains the one that a person cordoned", lambda: bounded.drained() == {node, by_hand}, 90)
    assert f"slurm-operator keeps {node} drained" in json.dumps(json.loads(gated.stack.pulumi("preview", "--json").stdout))
    gated.stack.up()
    assert bounded.drained() == {by_hand}
    assert all("RUNNING" in slurm.job_state(job) for job in staying)
    assert gated.changes() == []
    gated.world.kubectl("annotate", "pod", "-n", NAMESPACE, pod_of(by_hand), f"{ANNOTATION_POD_CORDON}-")
    slurm.finish(*staying)
    assert {row.state for row in slurm.await_completed(*staying)} == {"COMPLETED"}
    await_true("both are in service", lambda: not bounded.drained(), 60)


def test_a_node_of_a_number_that_is_raised_again_comes_back_with_the_next_new_pod(bounded: Bounded) -> None:
    """Without an update: the operator itself returns it when the number rises above the pods that are there."""
    slurm = bounded.slurm
    bounded.number(2)
    bounded.gated.world.await_pods(NAMESPACE, NODESET, 2)
    left = sorted(bounded.gated.pods())
    jobs = [slurm.submit("-p", "gpu", "--exclusive", "-N1", "-t", "30") for _ in left]
    slurm.await_running(*jobs)
    bounded.number(1)
    await_true("the operator drains one for the lower number", bounded.drained, 90)
    bounded.number(2)
    held = bounded.drained()
    bounded.number(3)
    await_true(f"{held} is in service again", lambda: not bounded.drained(), 90)
    assert all("RUNNING" in slurm.job_state(job) for job in jobs)
    slurm.finish(*jobs)
    assert {row.state for row in slurm.await_completed(*jobs)} == {"COMPLETED"}


def pod_of(node: str) -> str:
    """The pod behind a Slurm node."""
    return f"{RESOURCE}-{node.rpartition('-')[2]}"
