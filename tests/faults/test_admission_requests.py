"""A site whose admission policy refuses each container without requests and a limit of memory: the stack comes up with
`cluster.defaultResources`, and every pod that the operator and this program make there is admitted.

The policy is Kubernetes' own, with the rule of Kyverno's require-requests-limits (tests/requests_policy.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests import requests_policy
from tests.e2e.slurm import await_true
from tests.e2e.test_two_stacks import INSIDE
from tests.e2e.world import Settings, World, ready
from tests.faults.later_operator import Inside, all_inside, labs_own, lived
from tests.requests_policy import NAME, WORDS


def sized() -> Settings:
    """All daemons in Kubernetes, with what docs/operations.md says for such a site."""
    settings = all_inside("hs256", operator=labs_own, resources={"cpus": 1, "memory": "500Mi"})
    settings["slinky-iac:cluster"]["defaultResources"] = True
    return settings


@pytest.fixture(scope="module")
def strict(world: World) -> Iterator[Inside]:
    world.vacate()
    kinds = [f"{each['kind'].lower()}/{NAME}" for each in requests_policy.objects(INSIDE)]
    world.kubectl("delete", *kinds, "--ignore-not-found")  # a run that was killed leaves them
    world.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(requests_policy.objects(INSIDE)))
    try:
        with lived(world, operator=labs_own, settings=sized()) as found:
            yield found
    finally:
        world.kubectl("delete", *kinds)


def bare(world: World) -> str:
    """What the API server says of a pod whose container asks for nothing."""
    spec = {"containers": [{"name": "bare", "image": "example.org/a:1"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare", "namespace": INSIDE}, "spec": spec}
    return world.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod), check=False).stderr


def without(pod: dict[str, Any]) -> list[str]:
    """Containers of a pod that the policy is about."""
    spec = pod["spec"]
    return [
        each["name"]
        for each in (*spec.get("initContainers", ()), *spec["containers"])
        if not {"cpu", "memory"} <= each["resources"].get("requests", {}).keys()
        or "memory" not in each["resources"].get("limits", {})
    ]


def test_every_pod_is_there_and_a_job_runs_where_a_bare_pod_is_refused(strict: Inside) -> None:
    pods = strict.world.objects("pods", INSIDE)
    kinds = {each["metadata"]["labels"]["app.kubernetes.io/name"] for each in pods}
    assert {"slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login"} <= kinds
    assert {each["metadata"]["name"]: found for each in pods if (found := without(each))} == {}
    assert WORDS in bare(strict.world)
    assert strict.slurm("srun", "-w", "solo-1", "-t1", "hostname") == "solo-1\n"


def test_a_pod_that_the_operator_makes_later_is_admitted(strict: Inside) -> None:
    before = strict.uids()["inside-worker-solo-2"]
    strict.world.delete_worker(INSIDE, "inside-worker-solo-2")

    def again() -> bool:
        found = {each["metadata"]["name"]: each for each in strict.world.objects("pods", INSIDE)}
        pod = found.get("inside-worker-solo-2")
        return pod is not None and pod["metadata"]["uid"] != before and ready(pod)

    await_true("solo-2 has another pod", again, 180)


def test_pods_of_preflight_and_of_a_trial_are_admitted(strict: Inside) -> None:
    """If Kubernetes refuses the pod, preflight reports that the check was not made."""
    said = json.loads(strict.program("preflight", "--try", "--json", check=False))["checks"]
    trials = {each["subject"]: each["verdict"] for each in said if each["name"] == "trial"}
    assert trials == {"files of slurmctld": "fine", "files of slurmdbd": "fine"}, said
    assert [each for each in said if WORDS in json.dumps(each)] == []
    assert [each for each in said if each["source"].startswith("pod on ")], "a pod looked from where slurmd runs"
