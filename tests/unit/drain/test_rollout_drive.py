"""A rollout from its first look to its last, over the model of operator and Slurm."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.drain import scale
from slinky_iac.drain.proof import Met
from slinky_iac.drain.settings import DrainPolicy
from slinky_iac.errors import DrainDeadline
from tests.unit.drain.model import PERSON, Job, World, world
from tests.unit.drain.model_session import ModelSession, settings


class Rolling(ModelSession):
    """A session whose kubelet starts new pods while the gate rests."""

    def may_be_outdated(self, _name: str) -> bool:
        return any(pod.template != self.w.template for pod in self.w.pods.values())

    def pause(self, seconds: float) -> bool:
        for pod in self.w.pods.values():
            if not pod.running and not pod.terminating:
                self.w.register(pod)
                pod.ready, pod.ready_changed = True, self.w.now
        for job in [job for job in self.w.jobs.values() if job.end is not None and job.end <= self.w.now]:
            del self.w.jobs[job.job_id]
        return super().pause(seconds)


def outdated(version: str = "1.1.0", pods: int = 3) -> World:
    """A NodeSet whose template was just written."""
    made = world(version, pods)
    made.on_delete, made.template = True, 2
    return made


def gate(**changes: Any) -> Any:
    return settings(3, **{"updates": "Gated", "max_unavailable": 1, **changes})


@pytest.mark.parametrize("version", ["1.0.1", "1.1.0", "1.2.1"])
def test_every_pod_is_replaced_and_no_job_is_lost(version: str) -> None:
    w = outdated(version)
    w.jobs[1] = Job(1, ("gpu-1",), w.now, w.now + 300)
    w.jobs[2] = Job(2, ("gpu-2",), w.now, w.now + 200, suspended=True)
    session = Rolling(w)
    scale.roll(session, gate())
    assert {pod.template for pod in w.pods.values()} == {2}
    assert w.lost == []
    assert {node.template for node in w.nodes.values()} == {2}, "slurmctld has what the new pods are, not the old ones"
    assert w.deleted == ["hpc-worker-gpu-0", "hpc-worker-gpu-1", "hpc-worker-gpu-2"], "the suspended one's end is unknown"


def test_nodes_of_a_scale_in_before_it_are_not_called_replaced() -> None:
    w = outdated(pods=2)
    session, met = Rolling(w), Met(gate().owner)
    met.nodes.add("gpu-7")
    scale.roll(session, gate(), met)
    assert [line for line in session.said if "replaced: gpu-0, gpu-1" in line]
    assert [line for line in session.said if "gpu-7" in line] == []


def test_each_batch_has_the_deadline_of_a_drain() -> None:
    """Three jobs of 400 s, one after the other, and a deadline of 600 s."""
    w = outdated()
    session = Rolling(w)
    for number in range(3):
        w.jobs[number + 1] = Job(number + 1, (f"gpu-{number}",), w.now, w.now + 400 * (number + 1))
    scale.roll(session, gate())
    assert {pod.template for pod in w.pods.values()} == {2}
    assert w.lost == []


def test_a_batch_that_is_late_ends_it_with_the_rest_as_it_was() -> None:
    w = outdated()
    w.jobs[1] = Job(1, ("gpu-1",), w.now, None)
    session = Rolling(w)
    with pytest.raises(DrainDeadline, match="gpu-1: 1 job"):
        scale.roll(session, gate())
    assert {pod.node: pod.template for pod in w.pods.values()} == {"gpu-0": 2, "gpu-1": 1, "gpu-2": 2}
    assert w.nodes["gpu-1"].drain, "the next run goes on with it"


def test_a_node_that_a_person_holds_is_named_and_left() -> None:
    w = outdated()
    w.nodes["gpu-1"].drain, w.nodes["gpu-1"].reason, w.nodes["gpu-1"].user = True, f"{PERSON} bad DIMM", "root"
    session = Rolling(w)
    scale.roll(session, gate())
    assert {pod.node: pod.template for pod in w.pods.values()} == {"gpu-0": 2, "gpu-1": 1, "gpu-2": 2}
    assert any("hpc-worker-gpu-1 stays of an earlier template" in line and "bad DIMM" in line for line in session.said)


@pytest.mark.parametrize("updates", ["OnDelete", "RollingUpdate"])
def test_pods_that_others_replace_are_not_looked_at(updates: str) -> None:
    session = Rolling(outdated())
    scale.roll(session, gate(updates=updates))
    assert session.acts == []


def test_an_autoscalers_surplus_is_not_replaced_before_it_is_gone() -> None:
    session = Rolling(outdated())
    scale.roll(session, gate(scaler="autoscaler", max_replicas=2))
    assert session.acts == []


def test_a_requeue_at_the_deadline_frees_the_node_for_its_new_pod() -> None:
    w = outdated(pods=1)
    w.jobs[1] = Job(1, ("gpu-0",), w.now, None)
    policy = DrainPolicy(deadline_s=600, bound_s=1500, poll_s=10, on_deadline="requeue")
    session = Rolling(w)
    scale.roll(session, gate(policy=policy))
    assert "Requeue" in session.acts
    assert w.lost == []
    assert {pod.template for pod in w.pods.values()} == {2}
