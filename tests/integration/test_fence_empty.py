"""The fence on a real API server: a NodeSet of no replicas and no pods may be deleted, any other may not."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator

import pytest

from lab.charts import crd_dir
from slinky_iac.config.reading.load import load
from slinky_iac.parts.fence.policies import policies
from tests.integration.kube_api import KubeApi, served
from tests.stacks import minimal

KIND = "nodesets.slinky.slurm.net"
NODESETS = {"gpu": {"replicas": 1}, "burst": {"replicas": 0, "maxReplicas": 3, "owner": "autoscaler"}}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeApi]:
    with served(tmp_path_factory.mktemp("api")) as made:
        made.kubectl("create", "namespace", "slurm")
        made.kubectl("create", "--validate=false", "-f", str(crd_dir("1.1.0") / "slinky.slurm.net_nodesets.yaml"))
        made.kubectl("wait", "--for=condition=Established", f"crd/{KIND}", "--timeout=30s")
        (policy,) = (each for each in policies(load(minimal(nodesets=NODESETS))) if each.part == "nodesets")
        made.make_policy(policy)
        make(made, "guarded", replicas=3)
        until = time.monotonic() + 60
        while delete(made, "guarded", "--dry-run=server").returncode == 0:
            assert time.monotonic() < until, "the fence doesn't stand in 60 s"
            time.sleep(0.3)
        yield made


def make(api: KubeApi, name: str, pods: int | None = None, **spec: object) -> None:
    """A NodeSet; ``pods``: what slurm-operator counts."""
    body = {
        "apiVersion": "slinky.slurm.net/v1beta1",
        "kind": "NodeSet",
        "metadata": {"name": f"slurm-worker-{name}", "namespace": "slurm"},
        "spec": {"controllerRef": {"name": "slurm", "namespace": "slurm"}, "slurmd": {"image": "slurmd:1"}, **spec},
    }
    api.kubectl("create", "--validate=false", "-f", "-", stdin=json.dumps(body))
    if pods is not None:
        status = json.dumps({"status": {"replicas": pods, "selector": "", "nodeSetHash": "1"}})
        patch = ("patch", KIND, f"slurm-worker-{name}", "-n", "slurm", "--type=merge", "--subresource=status", "-p", status)
        api.kubectl(*patch)


def delete(api: KubeApi, name: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = ["kubectl", f"--kubeconfig={api.kubeconfig}", "delete", KIND, f"slurm-worker-{name}", "-n", "slurm", *more]
    return subprocess.run([*command, "--wait=false"], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("pods", [None, 0])
def test_one_without_replicas_and_pods_may_go(api: KubeApi, pods: int | None) -> None:
    """Its gate was never made, so no permission can be written."""
    make(api, f"empty-{pods}".lower(), pods, replicas=0)
    done = delete(api, f"empty-{pods}".lower())
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "pods", "spec"),
    [
        ("raised", None, {"replicas": 1}),
        ("of-the-default", None, {}),
        ("lowered", 1, {"replicas": 0}),
        ("burst", 0, {"replicas": 0}),
        ("on-every-node", None, {"replicas": 0, "scalingMode": "DaemonSet"}),
    ],
)
def test_one_that_has_pods_or_is_about_to_stays(api: KubeApi, name: str, pods: int | None, spec: dict[str, object]) -> None:
    make(api, name, pods, **spec)
    done = delete(api, name)
    assert done.returncode != 0
    assert "its pods would go with the jobs on them" in done.stderr, done.stderr
