"""A site whose admission policy refuses each container without requests and a limit of memory: with
`cluster.defaultResources` a real API server with such a policy takes every pod that a stack describes.

The operator makes the pods of its custom resources from containers that the stack describes: each of these stands here as
one container of a pod (on the lab, where the operator makes them: tests/faults/test_admission_requests.py).
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from slinky_iac.blueprint.objects import objects
from slinky_iac.commands.preflight.pod import placements, pod_body
from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.trial import trial_pod
from slinky_iac.specs.trial import trials
from tests import requests_policy
from tests.e2e.slurm import await_true
from tests.integration.kube_api import KubeApi
from tests.requests_policy import WORDS
from tests.stacks import form

SPACE = "requests"
PEOPLE = {"alice": {"uid": 2001, "gid": 2001}}
DEFAULTS = {"defaultResources": True}
WIDE: dict[str, Any] = {
    "restapi": {"tls": {"source": "existing", "secret": "rest-cert"}},
    "clients": {"nb": {"namespace": "notebooks", "people": PEOPLE, "deployment": {"person": "alice"}}},
    "logins": {"main": {"sssdConfFrom": {"secret": "sssd"}}},
    "monitoring": {"status": {"image": "example.org/slinky:1", "serviceAccount": "eyes", "folder": "/srv/textfile"}},
}
"""What else a stack may describe pods by."""


def passwd(**cluster: Any) -> StackConfig:
    """All daemons, and users of the stack's own list."""
    return form("all-in-kubernetes", cluster=cluster, identity={"passwd": {"users": PEOPLE}}, **WIDE)


def directory(**cluster: Any) -> StackConfig:
    """All daemons, and users of a directory."""
    return form("all-in-kubernetes", cluster=cluster, identity={"sssd": {"confFrom": {"secret": "sssd"}}}, **WIDE)


STACKS = {"passwd": passwd, "directory": directory}


def pods(config: StackConfig) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every PodSpec of a stack, by what it is of: templates as they are, and the containers of each custom resource."""
    for each in objects(config):
        named = f"{each.kind} {each.name}"
        if each.api_version.startswith("slinky.slurm.net/"):
            yield named, {"containers": list(containers(each.body["spec"]))}
        elif each.kind in ("Deployment", "CronJob"):
            spec = each.body["spec"]
            yield named, (spec["jobTemplate"]["spec"] if each.kind == "CronJob" else spec)["template"]["spec"]
    for place in placements(config):
        yield "pod of preflight", pod_body(config, place, "slinky-look", [])["spec"]
    for trial in trials(config):
        yield f"trial of {trial.daemon}", trial_pod(config, trial, "slinky-try")["spec"]


def containers(spec: Any, name: str = "") -> Iterator[dict[str, Any]]:
    """What has an image in a custom resource, each by its field's name where it has none."""
    if isinstance(spec, list):
        for each in spec:
            yield from containers(each, name)
    elif isinstance(spec, Mapping):
        if "image" in spec:
            found = {"name": name.lower(), **spec}
            yield {field: found[field] for field in ("name", "image", "resources") if field in found}
        for field, each in spec.items():
            yield from containers(each, field)


@pytest.fixture(scope="module")
def strict(kube: KubeApi) -> KubeApi:
    """The server, with a namespace that has the policy. Nothing makes its account, which pods are refused without."""
    kube.kubectl("create", "namespace", SPACE)
    kube.kubectl("create", "serviceaccount", "-n", SPACE, "default")
    kube.kubectl("create", "serviceaccount", "-n", SPACE, "eyes")
    for each in requests_policy.objects(SPACE):
        kube.kubectl("create", "-f", "-", stdin=json.dumps(each))
    return kube


def refusal(kube: KubeApi, spec: dict[str, Any]) -> str:
    """What the server says of a pod that it refuses; empty of one that it takes."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tried", "namespace": SPACE}, "spec": spec}
    command = ["kubectl", f"--kubeconfig={kube.kubeconfig}", "create", "--dry-run=server", "--validate=strict", "-f", "-"]
    done = subprocess.run(command, input=json.dumps(pod), capture_output=True, text=True, check=False, timeout=60)
    return done.stderr.strip() if done.returncode else ""


@pytest.fixture(scope="module", autouse=True)
def awake(strict: KubeApi) -> None:
    """The policy is in force: an API server takes some moments to compile a new one."""
    bare = {"containers": [{"name": "bare", "image": "example.org/a:1"}]}
    await_true("a bare pod is refused", lambda: WORDS in refusal(strict, bare), 30)


@pytest.mark.parametrize("stack", STACKS)
def test_with_defaults_every_pod_of_a_stack_is_taken(strict: KubeApi, stack: str) -> None:
    tried = list(pods(STACKS[stack](**DEFAULTS)))
    assert {name: said for name, spec in tried if (said := refusal(strict, spec))} == {}
    assert len(tried) >= 10


def test_without_them_the_same_policy_refuses_the_daemons_by_their_containers_names(strict: KubeApi) -> None:
    """So the test above can fail."""
    said = {name: refusal(strict, spec) for name, spec in pods(passwd())}
    assert f"slurmctld, logfile {WORDS}" in said["Controller slurm"].replace("reconfigure, ", "")
    assert WORDS in said["RestApi slurm"]
    assert said["pod of preflight"] == ""
