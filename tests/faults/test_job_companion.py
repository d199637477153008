"""The example's job companion: a Kubernetes Job that runs one Slurm job, on the lab's Kubernetes and Slurm.

The manifest and the program are those of examples/job-companion, with the lab's image and address. The folder that the nodes
and the companion share is one of this machine, as a site's would be on NFS.
"""

from __future__ import annotations

import json
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
import pytest
import yaml

from lab.kubernetes import layout
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.slurm import python3, site
from tests.e2e.running import fresh, starts, waiting
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World
from tests.stacks import ROOT

EXAMPLE = ROOT / "examples" / "job-companion"
NAMESPACE = "people"
ALICE = 2001


@dataclass(frozen=True)
class Companion:
    """One Kubernetes Job of the example and its Slurm job's name."""

    world: World
    name: str

    def job(self) -> dict[str, Any]:
        """The Job as the API server has it."""
        found: dict[str, Any] = json.loads(self.world.kubectl("get", "job", "-n", NAMESPACE, self.name, "-o", "json").stdout)
        return found

    def pods(self) -> list[dict[str, Any]]:
        """Its pods."""
        own = [pod for pod in self.world.objects("pods", NAMESPACE) if pod["metadata"]["labels"]["job-name"] == self.name]
        return sorted(own, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))

    def condition(self) -> str:
        """``Complete``, ``Failed``, or empty."""
        found = self.job()["status"].get("conditions", [])
        return next(
            (each["type"] for each in found if each["status"] == "True" and each["type"] in ("Complete", "Failed")), ""
        )

    def log(self) -> str:
        """What its last pod has printed."""
        return self.world.kubectl("logs", "-n", NAMESPACE, self.pods()[-1]["metadata"]["name"], check=False).stdout


Start = Callable[[str], Companion]


@pytest.fixture(scope="module")
def ground_for_people(world: World) -> Iterator[None]:
    """A namespace with alice's token, and the image on every Kubernetes node."""
    KUBERNETES.load(python3.image())
    now = int(time.time())
    claims = {"iat": now, "exp": now + 1800, "sun": "alice"}
    token = jwt.encode(claims, (site.LAB.keys / "jwt_hs256.key").read_bytes(), algorithm="HS256")
    world.kubectl("create", "namespace", NAMESPACE)
    world.kubectl("create", "secret", "generic", "slurm-token", "-n", NAMESPACE, f"--from-literal=token={token}")
    yield
    world.kubectl("delete", "namespace", NAMESPACE, "--wait=true")


@pytest.fixture
def start(world: World, ground_for_people: None, tmp_path: Path) -> Iterator[Start]:
    """Make the example's Job for a script."""
    shared = Path("/tmp") / f"slinky-people-{uuid.uuid4().hex[:6]}"
    shared.mkdir()
    shared.chmod(0o1777)
    made: list[str] = []

    def begin(script: str) -> Companion:
        name = fresh("companion")
        made.append(name)
        (tmp_path / "script").write_text(script)
        files = [f"--from-file=script={tmp_path / 'script'}", f"--from-file={EXAMPLE / 'companion.py'}"]
        world.kubectl("create", "configmap", name, "-n", NAMESPACE, *files)
        text = (EXAMPLE / "job.yaml").read_text().replace("hello", name)
        objects = [adapted(each, shared) for each in yaml.safe_load_all(text)]
        world.kubectl("apply", "-n", NAMESPACE, "-f", "-", stdin=yaml.safe_dump_all(objects))
        return Companion(world, name)

    yield begin
    for name in made:
        world.kubectl("delete", "job", "-n", NAMESPACE, name, "--ignore-not-found", "--wait=true")
    for node in layout.NODES:
        world.kubectl("uncordon", node.name)
    shutil.rmtree(shared)


def adapted(found: dict[str, Any], shared: Path) -> dict[str, Any]:
    """An object of the example, with what is the lab's own."""
    if found["kind"] != "Job":
        return found
    spec = found["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    container["image"] = python3.IMAGE
    own = {
        "SLURMRESTD": "http://10.99.0.12:6820",
        "PARTITION": "metal",
        "WORKDIR": "/tmp",
        "OUTPUT": "/tmp/companion-%j.out",
    }
    for each in container["env"]:
        each.update({"value": own[each["name"]]} if each["name"] in own else {})
    spec["volumes"][-1] = {"name": "home", "hostPath": {"path": str(shared)}}
    return found


def test_it_ends_as_its_slurm_job_does(start: Start, slurm: Slurm) -> None:
    good = start("#!/bin/sh\nhostname\n")
    await_true("the Job is complete", lambda: good.condition() == "Complete", 120)
    assert len(starts(slurm, good.name)) == 1
    assert "ended COMPLETED on metal-" in good.log()
    bad = start("#!/bin/sh\nexit 7\n")
    await_true("the Job has failed", lambda: bad.condition() == "Failed", 120)
    (pod,) = bad.pods()
    (status,) = pod["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 7
    assert len(starts(slurm, bad.name)) == 1


def test_its_deletion_cancels_the_slurm_job(start: Start, slurm: Slurm, world: World) -> None:
    companion = start("#!/bin/sh\nsleep 600\n")
    await_true("the Slurm job runs", lambda: starts(slurm, companion.name), 120)
    (job,) = starts(slurm, companion.name)
    world.kubectl("delete", "job", "-n", NAMESPACE, companion.name)
    await_true("the Slurm job is cancelled", lambda: not waiting(slurm, companion.name), 60)
    assert slurm.job_state(int(job)) == {"CANCELLED"}


def test_a_drained_kubernetes_node_starts_no_second_slurm_job(start: Start, slurm: Slurm, world: World) -> None:
    companion = start("#!/bin/sh\nsleep 45\n")
    await_true("the Slurm job runs", lambda: starts(slurm, companion.name), 120)
    (first,) = companion.pods()
    node = first["spec"]["nodeName"]
    drained = world.kubectl(
        "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--pod-selector=job-name"
    )
    assert "evicted" in drained.stdout
    uid = first["metadata"]["uid"]

    def others() -> list[str]:
        found = [pod["spec"].get("nodeName", "") for pod in companion.pods() if pod["metadata"]["uid"] != uid]
        return [name for name in found if name]

    await_true("another pod follows it", others, 90)
    assert node not in others()
    await_true("the Job is complete", lambda: companion.condition() == "Complete", 180)
    (only,) = starts(slurm, companion.name)
    assert f"job {only}" in companion.log()
    assert slurm.job_state(int(only)) == {"COMPLETED"}
