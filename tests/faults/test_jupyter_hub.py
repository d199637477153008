"""A real JupyterHub whose notebooks submit to a munge cluster: the stack and the hub's values are those of docs/munge.md.

Everything a person does goes through the hub's proxy: to log in, to start a notebook, to run cells, to type into a terminal.
The munge cluster knows alice as 20001 and bob as 2002, and so does the file that the hub and its notebooks are given.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.slurm import jupyter, munge
from lab.slurm.munge import CTL, METAL
from lab.stacks import Stack
from tests.e2e.slurm import await_true
from tests.e2e.world import World
from tests.faults import munge_site
from tests.faults.jupyter_hub import HOME, NODE, NUMBERS, STRANGE, Hub, Person
from tests.faults.munge_site import HELD, NAMESPACE, holds
from tests.integration import leaks

TELLS_ALL = """
import hashlib, os, pathlib
found = {"names": [], "same": [], "environments": []}
for folder, _, files in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/dev")):
        continue
    for each in (pathlib.Path(folder, name) for name in files):
        if each.name == "munge.key":
            found["names"].append(str(each))
        try:
            if each.is_file() and each.stat().st_size == 1024 and hashlib.sha256(each.read_bytes()).hexdigest() == DIGEST:
                found["same"].append(str(each))
        except OSError:
            pass
for each in pathlib.Path("/proc").glob("[0-9]*/environ"):
    try:
        found["environments"].append(each.read_text())
    except OSError:
        pass
print(__import__("json").dumps(found))
"""
"""A cell that looks for munge.key (SHA-256 is DIGEST) wherever its person can read."""


@dataclass(frozen=True)
class Ground:
    """The stack, the hub, and alice with a notebook."""

    stack: Stack
    hub: Hub
    alice: Person


@pytest.fixture(scope="module")
def jupyter_hub(world: World) -> Iterator[Ground]:
    """All of it, up."""
    with munge_site.site(world, jupyter.image(), (NODE,)) as stack:
        hub = Hub(world)
        try:
            munge_site.up(stack, jupyter.NAME, munge.LAB.key())
            hub.up()
            alice = hub.login("alice")
            alice.start()
            yield Ground(stack, hub, alice)
        finally:
            hub.down()


def accounted(job: str, *fields: str) -> list[str]:
    """What slurmdbd says of a job when it has ended, asked on the munge cluster's own host."""
    sacct = ["sacct", "-X", "-n", "-P", "-j", job, "-o", ",".join(fields)]
    running = ("PENDING", "RUNNING", "COMPLETING", "")

    def state() -> str:
        return munge.LAB.hosts.run(CTL.name, [*sacct[:-1], "State"]).stdout.strip()

    await_true(f"job {job} has ended", lambda: state() not in running, 30)
    return munge.LAB.hosts.run(CTL.name, sacct).stdout.strip().split("|")


def submitted(person: Person, script: str) -> str:
    """`sbatch` in a cell; the job's id."""
    return person.shell(["sbatch", "--parsable", "-D", "/tmp", "-o", "/tmp/%j.out", f"--wrap={script}"]).stdout.strip()


def test_a_job_from_a_notebooks_cell_runs_as_the_person_and_takes_nothing_of_the_notebook_along(
    jupyter_hub: Ground,
) -> None:
    job = submitted(jupyter_hub.alice, "id -un; id -gn; hostname; echo $HOME; env | grep ^JUPYTER || echo none")
    assert accounted(job, "User", "UID", "NodeList", "State") == ["alice", "20001", METAL.name, "COMPLETED"]
    printed = munge.LAB.hosts.run(METAL.name, ["cat", f"/tmp/{job}.out"]).stdout
    assert printed.split() == ["alice", "alice", METAL.name, "/home/alice", "none"], "no token of the hub's, above all"


def test_a_terminal_shows_the_cluster(jupyter_hub: Ground) -> None:
    assert "is UP" in jupyter_hub.alice.shell(["scontrol", "ping"]).stdout
    shown = jupyter_hub.alice.terminal("sinfo -h -o '%P %N %a'")
    assert f"main* {METAL.name} up" in shown, shown


def test_jupyterlab_slurm_lists_a_job_and_ends_it(jupyter_hub: Ground) -> None:
    alice = jupyter_hub.alice
    job = submitted(alice, HELD)

    def row() -> list[list[str]]:
        listed = alice.ask("GET", alice.at("/jupyterlab_slurm/squeue")).raise_for_status().json()
        return [row for row in listed["data"]["rows"] if row[0] == job]

    await_true("the extension shows that the job runs", lambda: [row[4] for row in row()] == ["R"], 30)
    assert row()[0][3] == "alice", "the name that the hub knows: of jobs with another the extension shows none"
    alice.ask("DELETE", alice.at("/jupyterlab_slurm/scancel"), json={"job_ids": [job]}).raise_for_status()
    assert accounted(job, "State") == ["CANCELLED by 20001"]
    history = alice.ask("GET", alice.at("/jupyterlab_slurm/sacct?user=alice")).raise_for_status().json()["data"]
    assert job in [row[0] for row in history["rows"]]


def test_each_person_is_another_on_the_cluster(jupyter_hub: Ground) -> None:
    bob = jupyter_hub.hub.login("bob")
    bob.start()
    job = submitted(jupyter_hub.alice, HELD)
    try:
        refused = bob.shell(["scancel", job])
        assert "Access/permission denied" in refused.stderr, refused
    finally:
        jupyter_hub.alice.shell(["scancel", job])
    assert accounted(job, "State") == ["CANCELLED by 20001"]
    assert accounted(submitted(bob, "true"), "UID", "State") == ["2002", "COMPLETED"]
    bob.stop()


def test_an_account_that_rules_slurm_gets_no_notebook(jupyter_hub: Ground) -> None:
    slurm = jupyter_hub.hub.login("slurm")
    assert slurm.ask("POST", "/hub/api/users/slurm/server").status_code == 500
    assert "slurm" not in jupyter_hub.hub.notebooks()
    logged = jupyter_hub.hub.logs("hub", "hub")
    assert f"slurm isn't a person: uid {STRANGE['slurm']}" in logged


def test_the_pod_that_the_hub_made_has_what_the_stack_says(jupyter_hub: Ground) -> None:
    pieces = jupyter_hub.stack.outputs()["mungeClientPod"]
    live = jupyter_hub.hub.pod(jupyter_hub.hub.notebooks()["alice"])["spec"]
    (notebook,) = live["containers"]
    assert holds(live["securityContext"], pieces["securityContext"])
    assert holds(live["initContainers"], pieces["initContainers"])
    for key, has, said in (
        ("name", live["volumes"], pieces["volumes"]),
        ("mountPath", notebook["volumeMounts"], pieces["volumeMounts"]),
    ):
        assert holds({each[key]: each for each in has}, {each[key]: each for each in said}), has
    own = {each["mountPath"] for each in notebook["volumeMounts"]} - {each["mountPath"] for each in pieces["volumeMounts"]}
    assert own == {HOME, "/etc/passwd"}, "nothing of munged's"
    security = notebook["securityContext"]
    assert (security["runAsUser"], security["runAsGroup"]) == (NUMBERS["alice"], NUMBERS["alice"])
    assert security["allowPrivilegeEscalation"] is False
    assert live["automountServiceAccountToken"] is False


def test_munge_key_is_munges_alone_and_nowhere_that_its_person_can_look(jupyter_hub: Ground) -> None:
    hub, key = jupyter_hub.hub, munge.LAB.key()
    own = hub.exec(hub.notebooks()["alice"], "munged", "stat", "-c", "%a %u %g", "/munge-own/munge.key").stdout.split()
    assert own == ["400", "65030", "65030"]
    found = json.loads(jupyter_hub.alice.run(f"DIGEST = {hashlib.sha256(key).hexdigest()!r}", TELLS_ALL))
    assert (found["names"], found["same"]) == ([], [])
    environments = "\n".join(found["environments"])
    assert "JUPYTERHUB_API_TOKEN" in environments, "its own environment, the server's and the kernel's are read"
    assert [name for name, form in leaks.encodings(key).items() if form in environments.encode()] == []


def test_munge_key_is_in_no_log_and_no_object_but_its_secret(jupyter_hub: Ground, tmp_path: Path) -> None:
    hub = jupyter_hub.hub
    notebook = hub.notebooks()["alice"]
    for pod, container in (("hub", "hub"), ("proxy", "proxy"), (notebook, "munged"), (notebook, "notebook")):
        (tmp_path / f"{container}.log").write_text(hub.logs(pod, container))
    objects = hub.world.kubectl("get", "pods,events,configmaps,services", "-n", NAMESPACE, "-o", "yaml").stdout
    (tmp_path / "objects.yaml").write_text(objects)
    assert "sbatch" in (tmp_path / "objects.yaml").read_text().lower()
    assert leaks.find(munge.LAB.key(), tmp_path) == []


def test_the_hub_itself_cannot_read_the_secret(jupyter_hub: Ground) -> None:
    """docs/munge.md: a role without Secrets is enough for it."""
    asked = ["auth", "can-i", "get", "secrets", "-n", NAMESPACE, f"--as=system:serviceaccount:{NAMESPACE}:hub"]
    assert jupyter_hub.hub.world.kubectl(*asked, check=False).stdout.strip() == "no"


def test_a_notebook_that_is_started_again_submits_again(jupyter_hub: Ground) -> None:
    jupyter_hub.alice.stop()
    assert jupyter_hub.hub.notebooks() == {}
    jupyter_hub.alice.start()
    assert accounted(submitted(jupyter_hub.alice, "true"), "User", "State") == ["alice", "COMPLETED"]
