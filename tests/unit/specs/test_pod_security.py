"""Which Pod Security Standard the pods hold that are no daemon's: restricted, but for what is named here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from slinky_iac.config.reading.load import load
from slinky_iac.specs.clients import deployment_spec, person_pod
from tests.stacks import ROOT, merged, sections

VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
PEOPLE = {"alice": {"uid": 20001, "gid": 20001}}
CLIENT = {"namespace": "notebooks", "people": PEOPLE, "deployment": {"person": "alice"}}


def beyond_restricted(pod: Mapping[str, Any]) -> Iterator[str]:
    """What a pod has that the level restricted refuses (Kubernetes, "Pod Security Standards")."""
    yield from (field for field in ("hostNetwork", "hostPID", "hostIPC", "hostUsers") if pod.get(field))
    for volume in pod.get("volumes", ()):
        yield from (f"volume {kind}" for kind in volume.keys() - {"name"} - VOLUMES)
    common = pod.get("securityContext", {})
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        own = {**common, **container.get("securityContext", {})}
        if own.get("runAsNonRoot") is not True or own.get("runAsUser") == 0:
            yield "root"
        if own.get("privileged") or own.get("allowPrivilegeEscalation") is not False:
            yield "allowPrivilegeEscalation"
        if own.get("capabilities", {}).get("drop") != ["ALL"] or own["capabilities"].get("add"):
            yield "capabilities"
        if own.get("seccompProfile", {}).get("type") != "RuntimeDefault":
            yield "seccompProfile"
        yield from ("hostPort" for port in container.get("ports", ()) if port.get("hostPort"))


def of_client(munge: bool) -> list[Mapping[str, Any]]:
    file = ROOT / "examples" / "jupyter" / "Pulumi.munge.yaml" if munge else ROOT / "Pulumi.dev.yaml"
    image = {"image": "registry.example.org/munge:1"} if munge else {}
    config = load(merged(sections(file), {"clients": {"nb": CLIENT | image}}))
    made = deployment_spec(config, "nb", config.clients["nb"])
    assert made is not None
    pod = person_pod(config, "nb", config.clients["nb"], "alice", image="registry.example.org/x:1", command=("sh",))
    return [made["template"]["spec"], pod]


@pytest.mark.parametrize("munge", [False, True], ids=["slurm", "munge"])
def test_pods_of_clients_hold_the_level_restricted_and_have_no_token(munge: bool) -> None:
    for pod in of_client(munge):
        assert list(beyond_restricted(pod)) == []
        assert pod["automountServiceAccountToken"] is False


def test_the_pod_of_a_job_companion_holds_the_level_restricted() -> None:
    text = (ROOT / "examples" / "job-companion" / "job.yaml").read_text()
    (job,) = [each for each in yaml.safe_load_all(text) if each["kind"] == "Job"]
    assert list(beyond_restricted(job["spec"]["template"]["spec"])) == []
