"""Client pods of a cluster with auth/slurm: a namespace of their own, sackd beside the person's container, one person a pod.

carol has a number that no host of the cluster and no image knows: what they know of her, sackd says.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from lab.stacks import imported_keys
from tests.e2e.gated import STACK, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World, ready
from tests.integration import leaks

STANDS_ON = STACK
NAMESPACE, CLIENT, UID = "notebooks", "nb", 23456
CLIENTS = {
    CLIENT: {
        "namespace": NAMESPACE,
        "people": {"carol": {"uid": UID, "gid": UID, "home": "/tmp"}, "dave": {"uid": UID + 1, "gid": UID + 1}},
        "deployment": {"person": "carol"},
    }
}
LOOK = """
prune='-path /proc -o -path /sys -o -path /dev'
find / \\( $prune \\) -prune -o \\( -name slurm.key -o -name slurm.jwks \\) -print 2>/dev/null
find / \\( $prune \\) -prune -o -type f -size -10k -readable -exec sha256sum {} + 2>/dev/null | grep "$1"
cat /proc/[0-9]*/environ 2>/dev/null
"""
"""Prints every place where the person can read slurm.key ($1 is its SHA-256), then all environments that she can read."""


class Pod:
    """One client pod."""

    def __init__(self, world: World, name: str, container: str = "client") -> None:
        self.world, self.name, self.container = world, name, container

    def run(self, *argv: str, container: str = "", check: bool = True) -> subprocess.CompletedProcess[str]:
        """A command in one of its containers."""
        where = ("exec", "-n", NAMESPACE, self.name, "-c", container or self.container, "--")
        return self.world.kubectl(*where, *argv, check=check)

    def live(self) -> dict[str, Any]:
        """The pod as the API server has it."""
        found = self.world.kubectl("get", "pod", self.name, "-n", NAMESPACE, "-o", "json").stdout
        pod: dict[str, Any] = json.loads(found)
        return pod


@pytest.fixture(scope="module")
def client(gated: Gated) -> Iterator[Pod]:
    """The stack's own client pod."""
    gated.up(3, clients=CLIENTS)
    try:
        (pod,) = [each["metadata"]["name"] for each in gated.world.objects("pods", NAMESPACE)]
        yield Pod(gated.world, pod)
    finally:
        gated.reset()


def key() -> bytes:
    return imported_keys()["slurmKey"]


def printed(gated: Gated, *more: str) -> Any:
    done = gated.stack.program("client", CLIENT, "--stack", gated.stack.name, *more)
    assert done.returncode == 0, done.stderr
    return yaml.safe_load(done.stdout)


def test_a_client_pod_submits_to_pods_and_to_metal_as_its_person(client: Pod, slurm: Slurm) -> None:
    listed = client.run("sinfo", "-h", "-N", "-o", "%N").stdout.split()
    assert {"gpu-0", "metal-1"} <= set(listed)
    submit = ("sbatch", "--parsable", "-D", "/tmp", "-o", "/dev/null")
    job = f'--wrap=test "$(id -u):$(id -g)" = {UID}:{UID}'
    jobs = [int(client.run(*submit, "-w", node, job).stdout) for node in ("gpu-0", "metal-1")]
    rows = slurm.await_completed(*jobs)
    assert [(row.nodes, row.state, row.exit_code) for row in rows] == [
        ("gpu-0", "COMPLETED", "0:0"),
        ("metal-1", "COMPLETED", "0:0"),
    ]
    asked = ("sacct", "-X", "-n", "-P", "-j", ",".join(map(str, jobs)), "-o", "User,UID")
    assert set(client.run(*asked).stdout.split()) == {f"carol|{UID}"}, "and the pod has her name for it"


def test_srun_in_a_client_pod_prints_what_nodes_of_both_kinds_say(client: Pod) -> None:
    for node in ("gpu-0", "metal-1"):
        said = client.run("srun", "-D", "/tmp", "-w", node, "sh", "-c", "id -u; hostname").stdout.split()
        assert said == [str(UID), node]


def test_slurm_key_is_nowhere_that_the_pods_person_can_read(client: Pod) -> None:
    found = client.run("sh", "-c", LOOK, "look", hashlib.sha256(key()).hexdigest(), check=False).stdout
    assert "PATH=" in found, "her own environment is read"
    assert "slurm.key" not in found
    assert "slurm.jwks" not in found
    assert hashlib.sha256(key()).hexdigest() not in found
    assert [name for name, form in leaks.encodings(key()).items() if form in found.encode()] == []
    assert client.run("ls", "/var/run/secrets", check=False).returncode != 0, "nor a token to ask the API server for it"
    assert client.run("touch", "/run/slurm/x", check=False).returncode != 0, "nor can sackd's socket be replaced"
    own = client.run("stat", "-c", "%a %u", "/sackd-own/slurm.key", container="sackd").stdout.split()
    assert own == ["400", "401"]


def test_one_person_cannot_act_as_another(gated: Gated, client: Pod, slurm: Slurm) -> None:
    job = slurm.submit()
    try:
        refused = client.run("scancel", str(job), check=False)
        assert "Access/permission denied" in refused.stderr
        assert client.run("sbatch", f"--uid={UID + 1}", "--wrap=true", check=False).returncode != 0
    finally:
        slurm.finish(job)


def test_what_the_command_prints_is_what_the_live_pod_has(gated: Gated, client: Pod) -> None:
    pieces = printed(gated)
    assert pieces == gated.stack.outputs()["clientPods"][CLIENT]
    live = client.live()["spec"]
    (sidecar,), (said,) = live["initContainers"], pieces["initContainers"]
    assert (sidecar["command"], sidecar["securityContext"]) == (said["command"], said["securityContext"])
    assert live["securityContext"] == pieces["securityContext"]


def test_a_pod_with_another_slurm_key_says_why_it_does_not_start(gated: Gated, client: Pod) -> None:
    pod = printed(gated, "--person", "dave")
    wrong = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "wrong", "namespace": NAMESPACE}}
    wrong["stringData"] = {"slurm.key": secrets.token_hex(512)}
    for volume in pod["spec"]["volumes"]:
        if "secret" in volume:
            volume["secret"]["secretName"] = "wrong"
    dave = Pod(gated.world, pod["metadata"]["name"])
    gated.world.kubectl("apply", "-f", "-", stdin="---\n".join(yaml.safe_dump(each) for each in (wrong, pod)))

    def log() -> str:
        done = gated.world.kubectl("logs", dave.name, "-n", NAMESPACE, "-c", "sackd", check=False)
        return done.stdout + done.stderr

    await_true("sackd says what slurmctld said", lambda: "Protocol authentication error" in log(), 60)

    def told() -> bool:
        events = gated.world.objects("events", NAMESPACE)
        return any("sackd has no configuration from slurmctld" in each.get("message", "") for each in events)

    await_true("the pod's events say where to look", told, 60)
    assert not ready(dave.live())
    gated.world.kubectl("delete", "pod", dave.name, "-n", NAMESPACE, "--wait=false")
    gated.world.kubectl("delete", "secret", "wrong", "-n", NAMESPACE)
