"""A real JupyterHub of a cluster with auth/slurm, deployed by `pulumi up`: notebooks as pods with sackd beside them.

Everything a person does goes through the hub's proxy. alice has a number that no host of the cluster knows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from lab import hub_chart, images, paths
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.slurm import jupyter
from lab.stacks import imported_keys
from tests.e2e.gated import STACK, Gated
from tests.e2e.slurm import Slurm
from tests.faults.jupyter_hub import NODE, Hub, Person
from tests.faults.munge_site import HELD, NAMESPACE
from tests.integration import leaks

STANDS_ON = STACK
LOOK = """
import hashlib, json, os, pathlib, sys
found = {"named": [], "same": [], "environments": "", "processes": "", "mounts": "", "links": [], "written": []}
for folder, _, files in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/dev")):
        continue
    for each in (pathlib.Path(folder, name) for name in files):
        if each.name in ("slurm.key", "slurm.jwks"):
            found["named"].append(str(each))
        try:
            small = each.is_file() and each.stat().st_size < 5000
            if small and hashlib.sha256(each.read_bytes()).hexdigest() == sys.argv[1]:
                found["same"].append(str(each))
        except OSError:
            pass
for each in pathlib.Path("/proc").glob("[0-9]*/environ"):
    try:
        found["environments"] += each.read_text()
    except OSError:
        pass
    try:
        found["processes"] += each.with_name("cmdline").read_text()
        found["mounts"] += each.with_name("mountinfo").read_text()
        found["links"] += [os.readlink(link) for link in each.with_name("fd").iterdir()]
    except OSError:
        pass
for name in ("sack.socket", "conf", "new"):
    try:
        os.open(f"/run/slurm/{name}", os.O_WRONLY | os.O_CREAT)
        found["written"].append(name)
    except OSError:
        pass
print(json.dumps(found))
"""
"""Looks for slurm.key (its SHA-256 is the argument) wherever the person can read, at every process that can be seen, and at
what can be changed in the folder of sackd's socket."""
UIDS = {"alice": 20001, "bob": 20002}


@dataclass(frozen=True)
class Ground:
    """The stack, its hub, and alice with a notebook."""

    gated: Gated
    hub: Hub
    alice: Person


def clients(password: str) -> dict[str, object]:
    """The section `clients` with a hub."""
    return hub_chart.clients(paths.STATE / "projects" / "hub-chart", UIDS, NAMESPACE, password)


@pytest.fixture(scope="module")
def ground_with_hub(gated: Gated) -> Iterator[Ground]:
    """All of it, up."""
    images.import_into(KUBERNETES.home.socket(NODE), jupyter.image())
    hub = Hub(gated.world)
    gated.up(3, clients=clients(hub.password))
    try:
        alice = hub.login("alice")
        alice.start()
        yield Ground(gated, hub, alice)
    finally:
        for name in hub.notebooks().values():
            gated.world.kubectl("delete", "pod", name, "-n", NAMESPACE)
        gated.reset()


def submitted(person: Person, script: str, *options: str) -> int:
    """`sbatch` in a cell; the job's id."""
    done = person.shell(["sbatch", "--parsable", "-D", "/tmp", "-o", "/tmp/%j.out", *options, f"--wrap={script}"])
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_a_cell_submits_to_a_pod_and_to_metal_and_reads_the_output_back(ground_with_hub: Ground, slurm: Slurm) -> None:
    alice = ground_with_hub.alice
    for node in ("gpu-0", "metal-1"):
        job = submitted(alice, "id -u; hostname; env | grep ^JUPYTER || echo none", "-w", node)
        (row,) = slurm.await_completed(job)
        assert (row.nodes, row.state) == (node, "COMPLETED")
        read = alice.shell(["srun", "-D", "/tmp", "-w", node, "cat", f"/tmp/{job}.out"])
        assert read.stdout.split() == [str(UIDS["alice"]), node, "none"], "no token of the hub's, above all"


def test_a_terminal_shows_the_cluster(ground_with_hub: Ground) -> None:
    shown = ground_with_hub.alice.terminal("sinfo -h -N -o '%N %a'")
    assert "gpu-0 up" in shown, shown
    assert "metal-1 up" in shown, shown


def test_each_person_is_another_on_the_cluster(ground_with_hub: Ground, slurm: Slurm) -> None:
    bob = ground_with_hub.hub.login("bob")
    bob.start()
    job = submitted(ground_with_hub.alice, HELD)
    try:
        refused = bob.shell(["scancel", str(job)])
        assert "Access/permission denied" in refused.stderr, refused
    finally:
        ground_with_hub.alice.shell(["scancel", str(job)])
    own = submitted(bob, "true")
    slurm.await_completed(own)
    rows = slurm.admin("sacct", "-X", "-n", "-P", "-j", str(own), "-o", "UID,State").split()
    assert rows == [f"{UIDS['bob']}|COMPLETED"]
    bob.stop()


def test_slurm_key_is_nowhere_that_a_person_can_look(ground_with_hub: Ground) -> None:
    key = imported_keys()["slurmKey"]
    ran = ground_with_hub.alice.shell(["python3", "-c", LOOK, hashlib.sha256(key).hexdigest()])
    found = json.loads(ran.stdout)
    assert (found["named"], found["same"]) == ([], [])
    assert "JUPYTERHUB_API_TOKEN" in found["environments"], "its own environment is read"
    assert "jupyterhub-singleuser" in found["processes"], "its own processes are seen"
    assert "sackd" not in found["processes"]
    assert " /run/slurm " in found["mounts"], "its own mounts are read"
    for place in ("slurm-key", "sackd-own", "slurm.key", "/var/run/secrets"):
        assert place not in found["mounts"]
        assert [link for link in found["links"] if place in link] == []
    assert found["written"] == []
    assert [name for name, form in leaks.encodings(key).items() if form in found["environments"].encode()] == []


def test_the_hub_itself_may_read_no_secret(ground_with_hub: Ground) -> None:
    asked = ["auth", "can-i", "get", "secrets", "-n", NAMESPACE, f"--as=system:serviceaccount:{NAMESPACE}:slurm-hub"]
    assert ground_with_hub.hub.world.kubectl(*asked, check=False).stdout.strip() == "no"


def test_a_notebook_that_is_started_again_submits_again(ground_with_hub: Ground, slurm: Slurm) -> None:
    alice = ground_with_hub.alice
    alice.stop()
    assert ground_with_hub.hub.notebooks() == {}
    alice.start()
    (row,) = slurm.await_completed(submitted(alice, "true"))
    assert row.state == "COMPLETED"
