"""A NodeSet and slurmrestd on the host network: a pod's Slurm node has the name of its Kubernetes node, so which one comes
next is the scheduler's choice. Guards that name nodes go by what Slurm and Kubernetes say, never by `<nodeset>-<number>`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lab.kubernetes import layout
from tests.e2e.gated import NAMESPACE, NODESET, RESOURCE, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World, dev_settings
from tests.faults.foreign_slurmd import registered_outside

MACHINES = tuple(node.name for node in layout.NODES)
ON_HOST = {"pod": {"hostNetwork": True, "terminationGrace": "15s"}}


def settings() -> dict[str, Any]:
    """NodeSet and slurmrestd on the host network."""
    restapi = dev_settings().get("slinky-iac:restapi", {})
    return {"nodeset": ON_HOST, "restapi": {**restapi, **ON_HOST}}


def machines_of_pods(world: World) -> list[str]:
    """Kubernetes nodes of the NodeSet's pods, and so their Slurm nodes."""
    return sorted(pod["spec"]["nodeName"] for pod in world.pods(NAMESPACE, NODESET).values())


@pytest.fixture(scope="module")
def hosted(gated: Gated, slurm: Slurm) -> Gated:
    """Two of three Kubernetes nodes have a pod."""
    gated.up(2, **settings())
    await_true("two pods are on the host network", lambda: len(machines_of_pods(gated.world)) == 2, 120)
    slurm.await_registered(*machines_of_pods(gated.world))
    return gated


def test_pods_register_as_their_kubernetes_nodes_and_slurmrestd_serves_from_one(hosted: Gated, slurm: Slurm) -> None:
    """The update that made it has waited for the nodes by this slurmrestd."""
    here = machines_of_pods(hosted.world)
    assert set(here) < set(MACHINES)
    assert not {"gpu-0", "gpu-1", "gpu-2"} & set(slurm.nodes())
    (rest,) = (pod for pod in hosted.world.objects("pods", NAMESPACE) if pod["metadata"]["name"].startswith("slurm-restapi"))
    assert rest["spec"]["hostNetwork"] is True
    job = slurm.submit("-p", "gpu", "-N", "2", "-t", "5")
    slurm.await_running(job)
    slurm.finish(job)
    (row,) = slurm.await_completed(job)
    assert row.state == "COMPLETED"


@pytest.fixture
def stranger(hosted: Gated, slurm: Slurm) -> Iterator[str]:
    """A node of the name of the third Kubernetes node, whose slurmd runs outside Kubernetes."""
    (taken,) = set(MACHINES) - set(machines_of_pods(hosted.world))
    with registered_outside(slurm, taken):
        yield taken


def test_a_scale_out_leaves_a_kubernetes_nodes_name_that_is_in_use_and_its_job_alone(
    hosted: Gated, slurm: Slurm, stranger: str
) -> None:
    job = slurm.submit("-p", "gpu", "-w", stranger, "-t", "20")
    slurm.await_running(job)
    hosted.write(3, {"registerDeadline": "10s"}, **settings())
    said = hosted.stack.pulumi("preview").stdout
    assert f"{stranger} is in use in Slurm without a pod" in said, said
    done = hosted.try_up()
    hosted.changed()
    assert done.returncode != 0
    assert f"{stranger} is in use in Slurm without a pod" in done.stdout + done.stderr
    assert stranger not in machines_of_pods(hosted.world)
    assert "RUNNING" in slurm.job_state(job)
    slurm.finish(job)
    (row,) = slurm.await_completed(job)
    assert (row.state, row.nodes) == ("COMPLETED", stranger)


def test_a_scale_in_waits_for_the_job_and_leaves_no_record(hosted: Gated, slurm: Slurm) -> None:
    """From 1.2 on the operator leaves the record DOWN; the gate knows it by the NodeSet's feature."""
    hosted.up(2, **settings())
    busy, idle = machines_of_pods(hosted.world)
    slurm.await_registered(busy, idle)
    job = slurm.submit("-p", "gpu", "-w", busy, "-t", "20")
    slurm.await_running(job)
    hosted.up(1, **settings())
    assert machines_of_pods(hosted.world) == [busy]
    await_true(f"the record of {idle} is gone", lambda: idle not in slurm.nodes(), 60)
    assert "RUNNING" in slurm.job_state(job)
    slurm.finish(job)
    (row,) = slurm.await_completed(job)
    assert (row.state, row.nodes) == ("COMPLETED", busy)


def test_back_to_the_pod_network_the_names_are_the_nodesets_again(hosted: Gated, slurm: Slurm) -> None:
    """A change of the template: the gate replaces each pod drained, and its Slurm node goes with its name."""
    hosted.up(1)
    await_true("the pod has a number's name", lambda: hosted.pods() == ["gpu-0"], 120)
    slurm.await_registered("gpu-0")
    assert not set(MACHINES) & {name for name, node in slurm.nodes().items() if "DOWN" not in node["state"]}
    found = hosted.world.kubectl(
        "get", "nodesets.slinky.slurm.net", "-n", NAMESPACE, RESOURCE, "-o", "jsonpath={.status.replicas}"
    )
    assert found.stdout == "1"
