"""Both reference deployments (examples/hyperpod, examples/oke) on real parts: each comes up, runs a job on every NodeSet,
and is destroyed while such jobs run, which it waits for.

tests/faults/reference_parts.py says what of them a lab can't have and what is in its place. The tests of one deployment are
one life and run in this order.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from lab import device_plugin, later_operator
from lab.kubernetes import layout, machine
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.slurm import keys, ldap, site
from tests.e2e.slurm import await_same, await_true
from tests.e2e.test_two_stacks import INSIDE, started
from tests.e2e.world import World, ready
from tests.faults.identity_parts import on_node
from tests.faults.inside_parts import answered, database, pairs
from tests.faults.later_operator import Inside, labs_own, release_of
from tests.faults.reference_parts import DATABASE, FOLDER, GPU, HYPERPOD, OKE, QUEUE, SHARED, TAINT, Deployment
from tests.faults.slurm_jobs import SlurmJobs

WITH_GPUS = layout.NODES[:2]
GO = f"{SHARED}/go"
"""Jobs end when this file is there."""
JOB_FILE = "/var/lib/dcgm-exporter/job-mapping/0"


@dataclass
class Deployed(SlurmJobs):
    """One deployment, up."""

    what: Deployment
    cluster: Inside

    @property
    def world(self) -> World:
        return self.cluster.world

    @property
    def nodes(self) -> dict[str, str]:
        """NodeSet of each Slurm node."""
        return {node: nodeset for nodeset, nodes in self.what.nodesets.items() for node in nodes}

    def pods(self, name: str) -> list[dict[str, Any]]:
        """Pods whose name begins so."""
        return [each for each in self.world.objects("pods", INSIDE) if each["metadata"]["name"].startswith(name)]

    def worker(self, node: str) -> dict[str, Any]:
        """The pod of a Slurm node."""
        (found,) = (each for each in self.pods("inside-worker-") if each["spec"]["hostname"] == node)
        return found

    def inside(self, pod: Mapping[str, Any], container: str, *argv: str, check: bool = True) -> str:
        """What a command in a container prints."""
        place = ("exec", "-n", INSIDE, pod["metadata"]["name"], "-c", container, "--")
        return self.world.kubectl(*place, *argv, check=check).stdout

    def slurm(self, *argv: str) -> str:
        """What a command beside slurmctld prints."""
        return answered(self.world, *argv)

    def submit(self, node: str) -> str:
        """A job on a node, with a GPU where it has some. It writes to the shared file system, and waits for GO."""
        at = self.what.at
        gres = ("--gres=gpu:1",) if self.nodes[node] in self.what.busy_with_gpus else ()
        script = (
            f"echo $SLURMD_NODENAME ${{CUDA_VISIBLE_DEVICES:-none}} > {at}/$SLURM_JOB_ID; "
            f"until [ -e {at}/go ]; do sleep 0.5; done; echo done >> {at}/$SLURM_JOB_ID"
        )
        place = ("-p", self.nodes[node], "-w", node, "-n1", "-t", "20", "-D", "/tmp", "-o", "/dev/null", *gres)
        return self.slurm("sbatch", "--parsable", *place, f"--wrap={script}").strip()

    def submitted(self) -> dict[str, str]:
        """A running job on each node, by its node."""
        jobs = {node: self.submit(node) for node in self.nodes}
        for node, number in jobs.items():
            await_true(f"{number} on {node} runs", lambda number=number: self.state(number) == "RUNNING", 120)  # type: ignore[misc]
            await_true(f"{number} on {node} has begun", lambda number=number: written(number), 60)  # type: ignore[misc]
        return jobs

    def drained(self) -> bool:
        """Whether all nodes carry a drain of this stack."""
        rows = self.slurm("scontrol", "-o", "show", "nodes").splitlines()
        own = f"Reason=slinky-iac:{self.cluster.stack.name}/"
        return len(rows) == len(self.nodes) and all("DRAIN" in pairs(row)["State"] and own in row for row in rows)


def on_node_said(*argv: str) -> str:
    """What a command on a Kubernetes node prints."""
    entered = machine.entered(KUBERNETES.home, layout.NODES[0], list(argv))
    return subprocess.run(entered, check=True, cwd="/", timeout=60, capture_output=True, text=True).stdout


def written(number: str) -> list[str]:
    """Lines that a job has written to the shared file system."""
    file = f"{SHARED}/{number}"
    return on_node_said("sh", "-c", f"test ! -e {file} || cat {file}").splitlines()


def undo(world: World, *argv: str) -> None:
    """A command of kubectl that may find nothing left to do."""
    world.kubectl(*argv, check=False)


def prepare(world: World, what: Deployment, stack: ExitStack) -> None:
    """Labels, taints and GPUs of machines, the file server, classes and volumes; all undone by ``stack``."""
    for node, labels in what.labels.items():
        for label, value in labels.items():
            world.kubectl("label", "node", node, f"{label}={value}", "--overwrite")
            stack.callback(undo, world, "label", "node", node, f"{label}-")
    for each in WITH_GPUS:
        world.kubectl("taint", "node", each.name, TAINT, "--overwrite")
        stack.callback(undo, world, "taint", "node", each.name, f"{TAINT}-")
        stack.enter_context(device_plugin.running(each, GPU, what.gpus))
        await_true(f"{each.name} offers GPUs", lambda each=each: gpus_of(world, each.name) == str(what.gpus), 60)  # type: ignore[misc]
    KUBERNETES.load(ldap.image())  # login pods, and sssd beside slurmctld
    on_node("rm", "-rf", FOLDER)  # a run that was killed leaves its queue, which would be taken up
    on_node("install", "-d", "-o", "401", "-g", "401", QUEUE)
    on_node("install", "-d", "-m", "1777", SHARED)
    stack.callback(on_node, "rm", "-rf", FOLDER)
    made = what.of_cluster()
    for row in made:
        stack.callback(undo, world, "delete", f"{row['kind']}/{row['metadata']['name']}", "--ignore-not-found")
    world.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(made))


def gpus_of(world: World, node: str) -> str:
    """How many GPUs a Kubernetes node offers."""
    path = f"jsonpath={{.status.allocatable.{GPU.replace('.', chr(92) + '.')}}}"
    return world.kubectl("get", "node", node, "-o", path).stdout


@pytest.fixture(scope="module", params=[HYPERPOD, OKE], ids=lambda what: what.name)
def deployed(request: pytest.FixtureRequest, world: World) -> Iterator[Deployed]:
    what: Deployment = request.param
    if what is OKE and release_of(labs_own).minor == 0:
        later_operator.load(KUBERNETES)
    world.vacate()
    password = keys.ensure(site.LAB.keys).database
    with ExitStack() as stack, database(DATABASE):
        prepare(world, what, stack)
        try:
            world.kubectl("create", "namespace", INSIDE)
            world.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(what.of_namespace(password)))
            made = world.stack(what.name, what.settings())
            made.up()
            found = Deployed(what, Inside(world, made))
            if what is OKE:  # AccountingStorageEnforce: associations
                found.slurm("sacctmgr", "-i", "create", "account", "lab")
                found.slurm("sacctmgr", "-i", "create", "user", "slurm", "account=lab")
            yield found
        finally:
            on_node("touch", GO)  # a destroy waits for jobs
            world.vacate()
            world.kubectl("delete", "namespace", INSIDE, "--ignore-not-found")


def test_every_node_registers_where_it_belongs_and_every_daemon_is_up(deployed: Deployed) -> None:
    for node, nodeset in deployed.nodes.items():
        shown = deployed.node(node)
        assert (shown["State"].split("+")[0], nodeset in shown["AvailableFeatures"].split(",")) == ("IDLE", True)
        gpus = f"gpu:{deployed.what.gpus}" if deployed.what is OKE else "gpu:a10g:1"
        assert shown["Gres"] == (gpus if nodeset in deployed.what.busy_with_gpus else "(null)")
        assert deployed.worker(node)["spec"]["nodeName"] in deployed.what.nodesets[nodeset][node]
    for part in ("inside-controller-0", "inside-accounting-0", "inside-restapi-", "inside-login-slinky-"):
        await_true(f"one {part} is ready", lambda part=part: [*map(ready, deployed.pods(part))] == [True], 180)  # type: ignore[misc]
        (pod,) = deployed.pods(part)
        assert pod["spec"]["nodeName"] == "node-3", part
    counted = deployed.slurm("sinfo", "-h", "-p", "all", "-o", "%D").split()
    assert sum(map(int, counted)) == len(deployed.nodes)


def test_a_second_preview_is_empty(deployed: Deployed) -> None:
    deployed.cluster.stack.pulumi("preview", "--expect-no-changes")


def test_a_job_runs_on_each_node_sees_its_gpu_and_the_shared_file_system(deployed: Deployed) -> None:
    jobs = deployed.submitted()
    dcgm = {node: deployed.inside(deployed.worker(node), "slurmd", "cat", JOB_FILE, check=False).split() for node in jobs}
    on_node("touch", GO)
    for node, number in jobs.items():
        await_true(f"{number} is over", lambda number=number: deployed.state(number) == "COMPLETED", 120)  # type: ignore[misc]
        gpu = "0" if deployed.nodes[node] in deployed.what.busy_with_gpus else "none"
        assert written(number) == [f"{node} {gpu}", "done"]
        assert dcgm[node] == ([number] if deployed.what is HYPERPOD else []), "the prolog's file of GPU 0"
        await_true("the epilog has run", lambda node=node: unmapped(deployed, node), 60)  # type: ignore[misc]
    on_node("rm", GO)
    (login,) = deployed.pods("inside-login-slinky-")
    number = next(iter(jobs.values()))
    assert deployed.inside(login, "login", "tail", "-n1", f"{deployed.what.at}/{number}") == "done\n"
    assert "all" in deployed.inside(login, "login", "sinfo", "-h", "-o", "%R").split()


def unmapped(deployed: Deployed, node: str) -> bool:
    """Whether the node's pod has no file of GPU 0 (any more)."""
    place = ("exec", "-n", INSIDE, deployed.worker(node)["metadata"]["name"], "-c", "slurmd", "--")
    return not deployed.world.kubectl(*place, "test", "!", "-e", JOB_FILE, check=False).returncode


def units(deployed: Deployed) -> set[str]:
    """Nodes of each lowest switch."""
    shown = deployed.slurm("scontrol", "show", "topology")
    found = re.findall(r"SwitchName=(\S+) Level=0 .*?Nodes=(\S*)", shown)
    return {f"{name}={nodes}" for name, nodes in found}


def test_what_slurm_conf_and_pods_have_of_the_files(deployed: Deployed) -> None:
    lines = [line.partition("=") for line in deployed.slurm("scontrol", "show", "config").splitlines()]
    shown = {name.strip(): value.strip() for name, _, value in lines}
    if deployed.what is HYPERPOD:
        assert shown["ClusterName"] == "slurm_slurm"
        (shm,) = (each for each in deployed.worker("slinky-0")["spec"]["volumes"] if each["name"] == "shmem")
        assert shm["hostPath"]["path"] == "/dev/shm"
        return
    assert (shown["ClusterName"], shown["SelectTypeParameters"]) == ("oke-gpu", "CR_CORE_MEMORY")
    assert "enable_stepmgr" in shown["SlurmctldParameters"]
    assert {"ASSOCIATIONS", "LIMITS", "QOS"} <= set(shown["AccountingStorageEnforce"].upper().split(","))
    await_same("all are at their switches", lambda: units(deployed), {"lb-4tjxbt4s6ua=node-2", "none=node-[1,3]"}, 120)
    on_host = {node: deployed.worker(node)["spec"].get("hostNetwork", False) for node in deployed.nodes}
    assert on_host == {"node-1": False, "node-2": True, "node-3": False}
    said = deployed.inside(deployed.worker("node-1"), "slurmd", "ps", "-C", "slurmd", "-o", "args=")
    assert "--parameters numa_node_as_socket" in said


def test_a_destroy_waits_for_the_job_of_every_nodeset_and_then_removes_all(deployed: Deployed) -> None:
    jobs = deployed.submitted()
    run = started(deployed.cluster.stack, "destroy", "--skip-preview")
    try:
        await_true("all nodes are drained by this stack", deployed.drained, 180)
        assert {node: deployed.state(number) for node, number in jobs.items()} == dict.fromkeys(jobs, "RUNNING")
        assert run.poll() is None, "it waits for the jobs"
    finally:
        on_node("touch", GO)
    out, _ = run.communicate(timeout=600)
    assert run.returncode == 0, out[-6000:]
    assert {number: written(number)[1:] for number in jobs.values()} == {number: ["done"] for number in jobs.values()}
    assert deployed.pods("inside-worker-") == []
