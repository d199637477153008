"""Notebooks that are Slurm jobs (batchspawner): the hub is deployed by `pulumi up`, and drains wait for its notebooks.

The NodeSet's pods run the image of the notebooks; the hub submits as each person, whom no node knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from lab import images
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.slurm import jupyter
from tests.e2e.gated import NODES, STACK, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.faults.jupyter_hub import NODE, Hub, Person
from tests.faults.test_jupyter_slurm import UIDS, clients

STANDS_ON = STACK


@dataclass(frozen=True)
class Ground:
    """The stack, its hub, and alice with a notebook."""

    gated: Gated
    hub: Hub
    alice: Person
    more: dict[str, Any]


@pytest.fixture(scope="module")
def ground_with_hub(gated: Gated) -> Iterator[Ground]:
    """All of it, up; the notebook is a job."""
    images.import_into(KUBERNETES.home.socket(NODE), jupyter.image())
    KUBERNETES.load(jupyter.node_image())
    hub = Hub(gated.world)
    section: dict[str, Any] = clients(hub.password)
    section["nb"]["jupyterhub"] |= {"spawn": "slurm", "partition": "gpu"}
    values = section["nb"]["jupyterhub"]["values"]
    values.pop("singleuser")
    values["hub"]["config"]["SlurmPerson"] = {"req_prologue": f"export PATH={jupyter.FOLDER}/bin:$PATH"}
    more = {"nodeset": {"image": jupyter.NODE_NAME}, "clients": section}
    gated.up(3, **more)
    gated.slurm.await_registered(*NODES)
    try:
        alice = hub.login("alice")
        alice.start()
        yield Ground(gated, hub, alice, more)
    finally:
        gated.slurm.admin("scancel", "--name=jupyter", check=False)
        gated.reset()


def notebook(slurm: Slurm) -> dict[str, Any]:
    """The one job that is a notebook, as slurmctld has it."""
    (found,) = [job for job in slurm.jobs().values() if job["name"] == "jupyter" and "RUNNING" in job["job_state"]]
    return found


def test_a_notebook_is_a_job_of_its_person_on_an_operators_pod(ground_with_hub: Ground, slurm: Slurm) -> None:
    job = notebook(slurm)
    assert (job["user_id"], job["group_id"]) == (UIDS["alice"], UIDS["alice"])
    assert job["nodes"] in NODES
    said = ground_with_hub.alice.shell(["sh", "-c", "id -u; hostname"]).stdout.split()
    assert said == [str(UIDS["alice"]), job["nodes"]]


def test_a_scale_in_leaves_the_node_on_which_a_notebook_runs(ground_with_hub: Ground, slurm: Slurm) -> None:
    gated, node = ground_with_hub.gated, notebook(slurm)["nodes"]
    gated.write(1, **ground_with_hub.more)
    assert node not in gated.planned_nodes(), "idle nodes are selected first"
    gated.stack.up()
    gated.await_pods(node)
    assert ground_with_hub.alice.shell(["hostname"]).stdout.strip() == node, "the notebook goes on"


def test_a_removal_waits_for_a_notebook_until_its_person_stops_it(ground_with_hub: Ground, slurm: Slurm) -> None:
    gated, job = ground_with_hub.gated, notebook(slurm)
    gated.write(0, **ground_with_hub.more)
    (named,) = gated.plan()["jobs"]
    assert (named["job"], named["user"]) == (str(job["job_id"]), f"uid {UIDS['alice']}"), "no host knows her name"
    run = gated.start_up()
    await_true("its node is drained by us", lambda: gated.drained(job["nodes"]), 120)
    assert ground_with_hub.alice.shell(["hostname"]).stdout.strip() == job["nodes"], "the notebook goes on meanwhile"
    assert run.poll() is None, "it waits for the notebook"
    ground_with_hub.alice.stop()
    out, _ = run.communicate(timeout=300)
    assert run.returncode == 0, out
    rows = slurm.admin("sacct", "-X", "-n", "-P", "-j", str(job["job_id"]), "-o", "State").split("\n")
    assert rows[0] == f"CANCELLED by {UIDS['alice']}", "by her hub's stop, and by nothing of the gate's"
