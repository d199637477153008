"""`slinky adopt` on what Helm itself has made: Slinky's chart, deployed by pulumi-kubernetes' Helm to a real API server that
has the operator's CRDs, so that record, defaults and field managers are real. No operator runs: there are no pods."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.charts import chart_dir, crd_dir
from slinky_iac.commands import cli
from tests.integration.engine import Project
from tests.integration.kube_api import KubeApi, served
from tests.stacks import read_yaml

PROGRAM = """
    from pulumi_kubernetes import Provider
    from pulumi_kubernetes.helm.v3 import Release
    from pulumi import ResourceOptions

    kube = Provider("kube", kubeconfig={kubeconfig!r})
    Release("slurm", name="slurm", namespace="slurm", chart={chart!r}, values={values!r}, skip_await=True,
            opts=ResourceOptions(provider=kube))
"""
IMAGES = {"logfile": {"image": {"repository": "docker.io/library/alpine", "tag": "latest"}}}
GPU = {
    "enabled": True,
    "replicas": 3,
    "slurmd": {"image": {"repository": "example.org/slurmd", "tag": "site"}, "resources": {"limits": {"cpu": "2"}}},
    "podSpec": {"nodeSelector": {"pool": "gpu"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]},
    "partition": {"enabled": True, "configMap": {"MaxTime": "UNLIMITED"}},
    **IMAGES,
}
VENDOR = '{{- define "vendor.dcgm.enabled" -}}{{- end }}'
"""What the chart's templates/vendor says where it is switched off: Go leaves folders of that name out of a module."""
KINDS = "controllers,restapis,nodesets,loginsets,accountings,secrets,configmaps"


@pytest.fixture(scope="module", params=["1.0.1", "1.1.0"])
def release(request: pytest.FixtureRequest) -> str:
    """A release whose chart and CRDs can be had."""
    return str(request.param)


@pytest.fixture(scope="module")
def api(release: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeApi]:
    """An API server of its own, for its CRDs are of one release."""
    with served(tmp_path_factory.mktemp(f"api-{release}")) as made:
        made.kubectl("apply", "--server-side", "-f", str(crd_dir(release)))
        made.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        made.kubectl("create", "namespace", "slurm")
        yield made


def versions(api: KubeApi) -> dict[str, str]:
    """All objects of the release with their UIDs and versions, Helm's record among them."""
    found: dict[str, Any] = json.loads(api.kubectl("-n", "slurm", "get", KINDS, "-o", "json"))
    metas = [each["metadata"] | {"kind": each["kind"]} for each in found["items"]]
    return {f"{meta['kind']} {meta['name']}": f"{meta['uid']} {meta['resourceVersion']}" for meta in metas}


def test_a_release_of_the_chart_is_read_and_left_as_it_is(
    release: str, api: KubeApi, project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = {"clusterName": "atlas", "nodesets": {"gpu": GPU}}
    chart = shutil.copytree(chart_dir(release) / "slurm", tmp_path / "slurm")
    (chart / "templates" / "_off.tpl").write_text(VENDOR)
    project.write(main=PROGRAM.format(kubeconfig=str(api.kubeconfig), chart=str(chart), values=values))
    project.up()
    before = versions(api)
    assert "Secret sh.helm.release.v1.slurm.v1" in before

    out = tmp_path / "Pulumi.prod.yaml"
    code = cli.main(["adopt", "--kubeconfig", str(api.kubeconfig), "--out", str(out), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (code, found["chartVersion"], found["errors"], found["missing"], found["writers"]) == (0, release, [], [], [])
    assert versions(api) == before, "nothing is written"
    of_nodesets = [each for each in found["differences"] if each["object"].startswith("NodeSet ")]
    assert {each["object"] for each in of_nodesets} == {"NodeSet slurm-worker-gpu", "NodeSet slurm-worker-slinky"}
    assert {each["pods"] for each in found["differences"]} == {"stay"}
    objects = read_yaml(out.read_text())["config"]["slinky-iac:adopted"]["objects"]
    limited = ["spec.slurmd.env", "spec.slurmd.resources.requests"]
    assert objects["NodeSet slurm-worker-gpu"]["keep"] == limited, "what a limit alone becomes here"
    assert "keep" not in objects["NodeSet slurm-worker-slinky"], "the chart's own NodeSet has none"
    assert ("metadata.labels" in objects["Controller slurm"].get("keep", [])) == (release != "1.0.1")
    assert cli.main(["check", str(out)]) == 0
