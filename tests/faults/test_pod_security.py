"""Pod Security Standards: what the API server's admission says of each pod of a cluster, and of the label that it reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.e2e.slurm import await_true
from tests.e2e.test_two_stacks import INSIDE
from tests.e2e.world import World
from tests.faults.later_operator import Inside, all_inside, labs_own, lived

ENFORCE = "pod-security.kubernetes.io/enforce"


@pytest.fixture(scope="module")
def inside(world: World) -> Iterator[Inside]:
    with lived(world, operator=labs_own) as found:
        yield found


def refused(world: World, level: str) -> dict[str, int]:
    """Pods that a level would refuse, as the API server warns before the label is written: the first of those with the same
    faults, and how many these are."""
    label = ("label", "namespace", INSIDE, f"{ENFORCE}={level}", "--overwrite", "--dry-run=server")
    said = world.kubectl(*label).stderr
    named = re.findall(r"^Warning: ([a-z0-9-]+)(?: \(and (\d+) other pods?\))?: ", said, re.MULTILINE)
    return {name: 1 + int(more or 0) for name, more in named}


def test_slurmd_alone_needs_privileged_and_nothing_passes_restricted(inside: Inside) -> None:
    assert refused(inside.world, "privileged") == {}
    assert refused(inside.world, "baseline") == {"inside-worker-solo-0": 3}
    assert sum(refused(inside.world, "restricted").values()) == len(inside.world.objects("pods", INSIDE))


def test_the_level_of_the_stack_lets_its_pods_in_where_a_stricter_one_refuses_them(inside: Inside) -> None:
    world = inside.world
    settings = all_inside("hs256", operator=labs_own)
    settings["slinky-iac:cluster"] |= {"podSecurity": "privileged", "quota": {"pods": 12}}
    inside.write(settings)
    inside.stack.up()
    labels = json.loads(world.kubectl("get", "namespace", INSIDE, "-o", "json").stdout)["metadata"]["labels"]
    assert labels[ENFORCE] == "privileged"
    before = inside.uids()
    world.delete_worker(INSIDE, "inside-worker-solo-2")
    await_true("slurmd's pod is made again", lambda: len(inside.workers()) == 3 and inside.uids() != before, 90)

    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "bare"}}
    bare = pod | {"spec": {"containers": [{"name": "a", "image": "x", "securityContext": {"privileged": True}}]}}
    tried = ("create", "-n", INSIDE, "--dry-run=server", "-f", "-")
    assert world.kubectl(*tried, stdin=json.dumps(bare), check=False).returncode == 0
    world.kubectl("label", "namespace", INSIDE, f"{ENFORCE}=baseline", "--overwrite")
    try:
        done = world.kubectl(*tried, stdin=json.dumps(bare), check=False)
        assert "violates PodSecurity" in done.stderr
    finally:
        world.kubectl("label", "namespace", INSIDE, f"{ENFORCE}=privileged", "--overwrite")


def test_the_quota_ends_what_others_make_and_not_the_stack(inside: Inside) -> None:
    world = inside.world
    hard = world.objects("resourcequotas", INSIDE)[0]["status"]
    assert hard["hard"] == {"pods": "12"}
    assert int(hard["used"]["pods"]) == len(world.objects("pods", INSIDE))
    for number in range(12):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"filler-{number}"}}
        spec = {"containers": [{"name": "a", "image": "slinky-lab/busybox:1", "imagePullPolicy": "Never"}]}
        done = world.kubectl(
            "create", "-n", INSIDE, "-f", "-", stdin=json.dumps(pod | {"spec": spec}), check=False
        )  # fmt: skip
        if done.returncode:
            break
    assert "exceeded quota: inside-quota" in done.stderr
