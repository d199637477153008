"""A notebook's pod and a Slurm cluster with auth/munge: the stack, the pod and the steps are those of docs/munge.md.

The cluster has a munged, slurm.conf and munge.key of its own on each of two hosts; the pod is the example's, with another
image, and `sleep` in Jupyter's place. alice is 20001 on the cluster, and no number of anybody in the image.
"""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from lab import engine
from lab.kubernetes import layout
from lab.slurm import munge
from lab.slurm.munge import CTL, METAL, UID
from lab.stacks import Stack
from tests.e2e.slurm import await_true
from tests.e2e.world import World, ready
from tests.faults import munge_site
from tests.faults.munge_site import EXAMPLE, HELD, NAMESPACE, holds, site
from tests.integration import leaks

POD = "jupyter-alice"


def pod() -> dict[str, Any]:
    """The example's, with the lab's image and nothing in it of Jupyter."""
    found: dict[str, Any] = yaml.safe_load((EXAMPLE / "pod.yaml").read_text())
    for container in (*found["spec"]["initContainers"], *found["spec"]["containers"]):
        container["image"] = munge.IMAGE
    found["spec"]["containers"][0]["command"] = ["tini", "--", "sleep", "infinity"]
    return found


@dataclass(frozen=True)
class Jupyter:
    """The stack of a munge cluster's clients, and alice's pod."""

    world: World
    stack: Stack

    def up(self, key: bytes) -> None:
        """`pulumi up` with this munge.key, and a new pod for alice."""
        munge_site.up(self.stack, munge.IMAGE, key)
        self.world.kubectl("delete", "pod", "-n", NAMESPACE, POD, "--ignore-not-found")
        self.world.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(pod()))
        await_true("alice's pod is ready", lambda: ready(self.live()), 60)

    def live(self) -> dict[str, Any]:
        """The pod as the API server has it."""
        (found,) = self.world.objects("pods", NAMESPACE)
        return found

    def exec(self, container: str, *argv: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """A command in one of the pod's containers."""
        return self.world.kubectl("exec", "-n", NAMESPACE, POD, "-c", container, "--", *argv, check=check)

    def alice(self, *argv: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """A command in the notebook."""
        return self.exec("notebook", *argv, check=check)

    def submit(self, script: str) -> str:
        """`sbatch` in the notebook; the job's id. Folder and output are on the cluster's side: none is shared."""
        out = self.alice("sbatch", "--parsable", "-D", "/tmp", "-o", "/tmp/%j.out", f"--wrap={script}").stdout
        return out.strip()

    def accounted(self, job: str, *fields: str) -> list[str]:
        """What `sacct` in the notebook says of a job; empty while slurmdbd doesn't know it."""
        out = self.alice("sacct", "-X", "-n", "-P", "-j", job, "-o", ",".join(fields)).stdout
        return out.strip().split("|") if out.strip() else []

    def ended(self, job: str) -> str:
        """The state in which a job ended, as slurmdbd has it."""
        goes_on: tuple[list[str], ...] = ([], ["PENDING"], ["RUNNING"], ["COMPLETING"])
        await_true(f"job {job} has ended", lambda: self.accounted(job, "State") not in goes_on, 30)
        return self.accounted(job, "State")[0]


@pytest.fixture(scope="module")
def jupyter(world: World) -> Iterator[Jupyter]:
    """The munge cluster, the stack with its key, and a pod that is ready."""
    with site(world, munge.image(), layout.NODES) as stack:
        jupyter = Jupyter(world, stack)
        try:
            jupyter.up(munge.LAB.key())
            yield jupyter
        finally:
            world.kubectl("delete", "pod", "-n", NAMESPACE, POD, "--ignore-not-found")


def test_a_job_that_a_notebook_submits_runs_as_the_person_on_the_munge_cluster(jupyter: Jupyter) -> None:
    job = jupyter.submit(
        "id -un; id -gn; hostname; export OWN=own; srun sh -c 'echo $HOME $OWN; env | grep KUBERNETES || true'"
    )
    assert jupyter.ended(job) == "COMPLETED"
    assert jupyter.accounted(job, "User", "UID", "NodeList", "ExitCode") == ["alice", str(UID), METAL.name, "0:0"]
    printed = munge.LAB.hosts.run(METAL.name, ["cat", f"/tmp/{job}.out"]).stdout
    assert printed.split() == ["alice", "alice", METAL.name, "/home/alice", "own"], "nothing is the pod's but the job"


def test_the_notebook_sees_its_owners_jobs_and_ends_them(jupyter: Jupyter) -> None:
    job = jupyter.submit(HELD)
    listed = ["squeue", "--me", "-h", "-o", "%i %U %T"]
    await_true("the job runs", lambda: jupyter.alice(*listed).stdout.split() == [job, str(UID), "RUNNING"], 30)
    assert jupyter.alice("sinfo", "-h", "-o", "%P %N %T").stdout.split() == ["main*", METAL.name, "mixed"]
    jupyter.alice("scancel", job)
    await_true("the job is gone", lambda: jupyter.alice("squeue", "--me", "-h").stdout == "", 30)
    assert jupyter.ended(job) == f"CANCELLED by {UID}"


def test_srun_runs_from_a_notebook_that_compute_nodes_can_reach(jupyter: Jupyter) -> None:
    assert jupyter.alice("srun", "-D", "/tmp", "id", "-u").stdout.split() == [str(UID)]
    assert "is UP" in jupyter.alice("scontrol", "ping").stdout


def test_the_notebook_acts_as_nobody_else(jupyter: Jupyter) -> None:
    roots = munge.LAB.hosts.run(CTL.name, ["sbatch", "--parsable", "-D", "/tmp", "-o", "/dev/null", f"--wrap={HELD}"])
    job = roots.stdout.strip()
    try:
        refused = jupyter.alice("scancel", job, check=False)
        assert "Access/permission denied" in refused.stderr
        assert jupyter.alice("sbatch", "--uid=0", "--wrap=id", check=False).returncode != 0
        assert munge.LAB.hosts.run(CTL.name, ["squeue", "-h", "-o", "%i"]).stdout.split() == [job]
    finally:
        munge.LAB.hosts.run(CTL.name, ["scancel", job])


def test_no_container_but_mungeds_has_munge_key(jupyter: Jupyter) -> None:
    find = ["find", "/", "-name", "munge.key", "-not", "-path", "/proc/*"]
    assert "/munge-own/munge.key" in jupyter.exec("munged", *find, check=False).stdout.split()
    assert jupyter.alice(*find, check=False).stdout == ""
    assert jupyter.alice("ls", "/var/run/secrets", check=False).returncode != 0, "nor a token to ask the API server for it"
    assert jupyter.alice("setpriv", "--reuid=0", "id", check=False).returncode != 0


def test_what_the_stack_says_of_the_pod_is_what_the_pod_has(jupyter: Jupyter) -> None:
    said, live = jupyter.stack.outputs(), jupyter.live()["spec"]
    pieces = said["mungeClientPod"]
    for name in ("securityContext", "initContainers", "volumes"):
        assert holds(live[name], pieces[name]), (name, live[name], pieces[name])
    assert holds(live["containers"][0]["volumeMounts"], pieces["volumeMounts"])
    digest = ["sh", "-c", "openssl dgst -sha256 -binary /etc/munge/munge.key | base64"]  # as docs/munge.md has it
    shown = munge.LAB.hosts.run(CTL.name, digest).stdout.strip().rstrip("=")
    assert said["mungeKeyFingerprint"] == f"SHA256:{shown}"
    assert leaks.find(munge.LAB.key(), engine.BACKEND, jupyter.stack.folder) == []


def test_a_killed_munged_comes_back_beside_a_notebook_that_goes_on(jupyter: Jupyter) -> None:
    jupyter.exec("munged", "sh", "-c", "kill 1")

    def again() -> bool:
        status = jupyter.live()["status"]
        (munged,), (notebook,) = status["initContainerStatuses"], status["containerStatuses"]
        return (munged["restartCount"], munged["started"], notebook["restartCount"]) == (1, True, 0)

    await_true("munged was started again, and the notebook wasn't", again, 60)
    assert jupyter.ended(jupyter.submit("true")) == "COMPLETED"


def test_with_another_munge_key_everything_is_refused_and_the_user_is_told(jupyter: Jupyter) -> None:
    jupyter.up(secrets.token_bytes(1024))
    for command in (("sbatch", "--wrap=true"), ("squeue",)):
        refused = jupyter.alice(*command, check=False)
        assert refused.returncode != 0
        assert "Protocol authentication error" in refused.stderr
    jupyter.up(munge.LAB.key())
    assert jupyter.ended(jupyter.submit("true")) == "COMPLETED"
