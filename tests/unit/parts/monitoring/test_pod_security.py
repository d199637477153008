"""Which Pod Security Standard the pod of the status job holds."""

from __future__ import annotations

from slinky_iac.config.reading.load import load
from slinky_iac.parts.monitoring.objects import status_job
from tests.stacks import ROOT, merged, sections
from tests.unit.rights.test_rights import JOB
from tests.unit.specs.test_pod_security import beyond_restricted


def test_the_status_job_is_beyond_restricted_by_its_folder_and_its_owner_alone() -> None:
    config = load(merged(sections(ROOT / "Pulumi.dev.yaml"), {"monitoring": {"status": JOB}}))
    assert config.monitoring.status is not None
    pod = status_job(config, config.monitoring.status)["jobTemplate"]["spec"]["template"]["spec"]
    assert set(beyond_restricted(pod)) == {"volume hostPath", "root"}
