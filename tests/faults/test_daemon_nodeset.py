"""A NodeSet in DaemonSet mode, of slurm-operator 1.1.0 or newer: which Kubernetes nodes fit shrinks under a job, the gate is
killed in the middle, the mode changes, the stack is destroyed. Each job ends where it began, and then its pod goes.

The lab's Kubernetes nodes are node-1 to node-3; each has a label of its own here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import later_operator, paths
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.stacks import Stack
from slinky_iac.releases import OperatorVersion
from tests.e2e.gated import NAMESPACE, NODESET, RESOURCE, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import Settings, World, dev_settings
from tests.faults.later_operator import on_later_operator

STANDS_ON = "daemon-gated"
MACHINES = ("node-1", "node-2", "node-3")
LABEL = "slinky-lab/machine"
RELEASE = OperatorVersion.parse(dev_settings()["slinky-iac:operator"]["version"])
"""Of the lab's own operator."""


def later(found: Settings) -> None:
    """slurm-operator 1.1.0, or the lab's own where that is as new."""
    if RELEASE.minor == 0:
        on_later_operator(found)


class OnEachNode(Gated):
    """A stack with one NodeSet, on the machines that are named."""

    def choose(self, *machines: str, apply: bool = True) -> None:
        """Write, and apply, that these fit."""
        sections = dev_settings(later)
        gpu = {key: value for key, value in sections["slinky-iac:nodesets"]["gpu"].items() if key != "replicas"}
        required = {"matchExpressions": [{"key": LABEL, "operator": "In", "values": [*machines, "none"]}]}
        terms = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [required]}}
        gpu |= {
            "scalingMode": "DaemonSet",
            "pod": {**gpu.get("pod", {}), "affinity": {"nodeAffinity": terms}},
            "drain": {"deadline": "4m"},
        }
        sections["slinky-iac:nodesets"] = {NODESET: gpu}
        sections["slinky-iac:partitions"] = {}
        self.current = sections
        self.world.stack(self.stack.name, sections)
        if apply:
            self.stack.up()
            self.world.applied[self.stack.name] = self.current

    def live(self) -> dict[str, Any]:
        (found,) = (
            each
            for each in self.world.objects("nodesets.slinky.slurm.net", NAMESPACE)
            if each["metadata"]["name"] == RESOURCE
        )
        return dict(found)


@pytest.fixture(scope="module")
def each(ground: None, world: World, slurm: Slurm) -> Iterator[OnEachNode]:
    if RELEASE.minor == 0:
        later_operator.load(KUBERNETES)
    for machine in MACHINES:
        world.kubectl("label", "node", machine, f"{LABEL}={machine}", "--overwrite")
    gated = OnEachNode(world, slurm, Stack(STANDS_ON, paths.STATE / "projects" / STANDS_ON, world.env))
    yield gated
    slurm.cancel_all()
    world.vacate()
    for machine in MACHINES:
        world.kubectl("label", "node", machine, f"{LABEL}-", check=False)


@pytest.fixture
def three(each: OnEachNode, slurm: Slurm) -> OnEachNode:
    """A registered pod on each machine, none with a job."""
    slurm.cancel_all()
    each.choose(*MACHINES)
    slurm.await_registered(*MACHINES)
    each.await_pods(*MACHINES)
    return each


def occupy(slurm: Slurm, machine: str) -> int:
    job = slurm.submit("-p", "gpu", "-w", machine, "-t", "30")
    slurm.await_running(job)
    return job


def completed(slurm: Slurm, job: int, machine: str) -> None:
    """It ended when it was done, on the machine where it began."""
    (row,) = slurm.await_completed(job)
    assert (row.state, row.nodes, row.exit_code) == ("COMPLETED", machine, "0:0")


def test_nodes_are_the_machines_that_fit(three: OnEachNode, slurm: Slurm) -> None:
    assert three.live()["spec"]["scalingMode"] == "DaemonSet"
    completed(slurm, _done(slurm, occupy(slurm, "node-2")), "node-2")
    assert three.changes() == [], "a second preview is empty"


def _done(slurm: Slurm, job: int) -> int:
    slurm.finish(job)
    return job


def test_a_selection_that_shrinks_under_a_job_waits_for_it(three: OnEachNode, slurm: Slurm) -> None:
    job = occupy(slurm, "node-3")
    three.choose("node-1", "node-2", apply=False)
    plan = three.plan()
    assert [node["node"] for node in plan["nodes"]] == ["node-3"]
    assert [row["job"] for row in plan["jobs"]] == [str(job)]
    before = three.live()["spec"]["template"]
    run = three.start_up()
    await_true("node-3 is drained by us", lambda: three.drained("node-3"), 120)
    assert three.pods() == sorted(MACHINES)
    assert three.live()["spec"]["template"] == before, "nothing is written under the job"
    three.finish_when_drained(run, ["node-3"], job)
    completed(slurm, job, "node-3")
    three.await_pods("node-1", "node-2")
    assert "node-3" not in slurm.nodes()


def test_what_a_review_saved_is_done_to_a_selection(three: OnEachNode, slurm: Slurm, tmp_path: Path) -> None:
    """`pulumi up --plan`, the strict way of docs/ci.md, under the job that the review showed; and back."""
    saved = tmp_path / "plan.json"
    job = occupy(slurm, "node-3")
    three.choose("node-1", "node-2", apply=False)
    three.stack.pulumi("preview", "--save-plan", str(saved))
    run = three.start_up("--plan", str(saved))
    three.finish_when_drained(run, ["node-3"], job)
    completed(slurm, job, "node-3")
    three.await_pods("node-1", "node-2")

    three.choose(*MACHINES, apply=False)
    three.stack.pulumi("preview", "--save-plan", str(saved))
    three.stack.pulumi("up", "--yes", "--plan", str(saved))
    slurm.await_registered(*MACHINES)
    assert three.changes() == []


def test_a_gate_that_is_killed_in_the_middle_is_continued_and_loses_nothing(three: OnEachNode, slurm: Slurm) -> None:
    job = occupy(slurm, "node-1")
    three.choose("node-2", "node-3", apply=False)
    run = three.start_up()
    await_true("node-1 is drained by us", lambda: three.drained("node-1"), 120)
    three.kill(run)
    assert "RUNNING" in slurm.job_state(job)
    assert three.pods() == sorted(MACHINES)
    three.finish_when_drained(three.start_up(), ["node-1"], job)
    completed(slurm, job, "node-1")
    three.await_pods("node-2", "node-3")


def test_a_person_with_kubectl_is_refused_and_what_is_asked_for_stays(three: OnEachNode, slurm: Slurm) -> None:
    job = occupy(slurm, "node-2")
    kind = ("nodesets.slinky.slurm.net", RESOURCE, "-n", NAMESPACE)
    patch = '{"spec": {"template": {"spec": {"nodeSelector": {"slinky-lab/machine": "node-1"}}}}}'
    done = three.world.kubectl("patch", *kind, "--type=merge", "-p", patch, check=False)
    assert "would remove the pods of Kubernetes nodes that no longer fit" in done.stderr, done.stdout + done.stderr
    assert three.pods() == sorted(MACHINES)
    completed(slurm, _done(slurm, job), "node-2")


def test_a_change_of_the_mode_drains_every_node_first(three: OnEachNode, slurm: Slurm) -> None:
    job = occupy(slurm, "node-2")
    three.write(2, operator=dev_settings(later)["slinky-iac:operator"])
    run = three.start_up()
    await_true("node-2 is drained by us", lambda: three.drained("node-2"), 120)
    assert "RUNNING" in slurm.job_state(job)
    slurm.finish(job)
    out, _ = run.communicate(timeout=400)
    assert run.returncode == 0, out
    completed(slurm, job, "node-2")
    slurm.await_registered("gpu-0", "gpu-1")
    assert three.live()["spec"]["scalingMode"] == "StatefulSet"
    three.choose(*MACHINES)
    slurm.await_registered(*MACHINES)


def test_a_destroy_drains_every_node_first(three: OnEachNode, slurm: Slurm) -> None:
    job = occupy(slurm, "node-3")
    run = three.start_up(command="destroy")
    await_true("all nodes are drained by us", lambda: three.drained(*MACHINES), 120)
    assert "RUNNING" in slurm.job_state(job)
    three.finish_when_drained(run, MACHINES, job)
    completed(slurm, job, "node-3")
