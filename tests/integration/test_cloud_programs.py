"""The programs of examples/clouds, with the clouds' own SDKs: types are right, and the cluster is wired to what they make.

No cloud is asked: resources are recorded, and give what a cloud would (ADDRESS).
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pulumi.runtime import mocks

from lab import python_env
from tests.clusters import SECRETS
from tests.program import Recording, Registered, configured, run
from tests.stacks import ROOT

# The SDKs say so when they are imported, of classes of theirs that are not used here.
pytestmark = pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning")

FOLDER = ROOT / "examples" / "clouds"
ADDRESS = "10.10.15.250"
GIVEN: dict[str, dict[str, Any]] = {
    "aws:ec2/instance:Instance": {"privateIp": ADDRESS},
    "aws:eks/cluster:Cluster": {"vpcConfig": {"clusterSecurityGroupId": "sg-machines", "subnetIds": []}},
    "gcp:compute/instance:Instance": {"networkInterfaces": [{"networkIp": ADDRESS}]},
}
"""By type, what a cloud knows of a resource that it has made."""
SETTINGS: dict[str, dict[str, str]] = {
    "eks": {"subnets": '["subnet-a", "subnet-b"]', "image": "ami-1"},
    "gke": {"zone": "europe-west4-a", "image": "slurm"},
    "aks": {"image": "/images/slurm", "sshKey": "ssh-ed25519 AAAA"},
}
JOBS = {
    "eks": "aws:eks/nodeGroup:NodeGroup",
    "gke": "gcp:container/nodePool:NodePool",
    "aks": "azure-native:containerservice:AgentPool",
}
"""What the pool of machines for jobs is."""
MACHINE = {
    "eks": "aws:ec2/instance:Instance",
    "gke": "gcp:compute/instance:Instance",
    "aks": "azure-native:compute:VirtualMachine",
}


class Clouds(Recording):
    """Gives what a cloud would."""

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        known, state = super().new_resource(args)
        return known, {**state, **GIVEN.get(args.typ, {})}


@pytest.fixture(scope="module")
def sdks() -> str:
    return str(python_env.ensure_clouds(say=lambda _line: None))


@pytest.fixture
def recorded(sdks: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, bool], Clouds]:
    """What the program registers on a cloud, with or without the Slurm cluster."""
    monkeypatch.syspath_prepend(FOLDER)  # as Pulumi's language host does
    monkeypatch.setattr(sys, "path", [*sys.path, sdks])

    def program(cloud: str, slurm: bool) -> Clouds:
        keys = {name: SECRETS[name] for name in ("slurmKey", "jwtKey")}
        found = Clouds()
        with configured({}, {**keys, **SETTINGS[cloud], "cloud": cloud, "slurm": json.dumps(slurm)}):
            run(lambda: runpy.run_path(str(FOLDER / "__main__.py"), run_name="__main__"), recording=found)
        return found

    return program


def pool(found: Clouds, cloud: str) -> Registered:
    """The machines for jobs."""
    return found.one(JOBS[cloud], "burst-a")


def label_and_taint(found: Clouds, cloud: str) -> tuple[str, tuple[str, str, str]]:
    """As the machines for jobs have them, the taint's effect as Kubernetes writes it."""
    inputs = pool(found, cloud).inputs
    if cloud == "aks":
        (said,) = inputs["nodeTaints"]
        key, _, rest = said.partition("=")
        return inputs["nodeLabels"]["slurm"], (key, *rest.split(":"))
    own = inputs["nodeConfig"] if cloud == "gke" else inputs
    (taint,) = own["taints"]
    return own["labels"]["slurm"], (taint["key"], taint["value"], taint["effect"].title().replace("_", ""))


@pytest.mark.parametrize("cloud", SETTINGS)
def test_the_cluster_has_the_machine_s_address_and_the_pool_s_machines(
    cloud: str, recorded: Callable[[str, bool], Clouds]
) -> None:
    found = recorded(cloud, True)
    controller = found.one("kubernetes:slinky.slurm.net/v1beta1:Controller")
    assert controller.inputs["spec"]["externalConfig"]["host"] == ADDRESS
    worker = found.one("kubernetes:slinky.slurm.net/v1beta1:NodeSet").inputs["spec"]["template"]["spec"]
    label, (key, value, effect) = label_and_taint(found, cloud)
    assert worker["nodeSelector"] == {"slurm": label}
    assert {"key": key, "operator": "Exists", "effect": effect} in worker["tolerations"]
    assert (key, value, effect) == ("slurm", label, "NoSchedule")


@pytest.mark.parametrize("cloud", SETTINGS)
def test_a_destroy_keeps_machines_until_the_gates_are_done(cloud: str, recorded: Callable[[str, bool], Clouds]) -> None:
    found = recorded(cloud, True)
    needed = {pool(found, cloud).urn, found.one(MACHINE[cloud]).urn}
    for gate in (found.one("NodeSetScale"), found.one("ClusterIdentity")):
        assert needed <= found.before(gate)


@pytest.mark.parametrize("cloud", SETTINGS)
def test_the_first_step_makes_the_cloud_s_part_alone(cloud: str, recorded: Callable[[str, bool], Clouds]) -> None:
    types = {each.type.partition(":")[0] for each in recorded(cloud, False).resources}
    assert types == {{"eks": "aws", "gke": "gcp", "aks": "azure-native"}[cloud]}


def test_pods_have_addresses_that_hosts_reach(recorded: Callable[[str, bool], Clouds]) -> None:
    """docs/clouds.md, first row."""
    addon = recorded("eks", False).one("aws:eks/addon:Addon").inputs
    assert json.loads(addon["configurationValues"])["env"] == {"AWS_VPC_K8S_CNI_EXTERNALSNAT": "true"}
    assert recorded("gke", False).one("gcp:container/cluster:Cluster").inputs["networkingMode"] == "VPC_NATIVE"
    aks = recorded("aks", False)
    cluster = aks.one("azure-native:containerservice:ManagedCluster").inputs
    assert cluster["networkProfile"]["networkPlugin"] == "azure"
    assert "networkPluginMode" not in cluster["networkProfile"]
    pods = aks.one("azure-native:network:Subnet", "pods")
    pools = [*cluster["agentPoolProfiles"], pool(aks, "aks").inputs]
    assert {each.get("podSubnetID") for each in pools} == {"pods-id"}
    assert pods.inputs["addressPrefix"] == "10.11.0.0/16"


def test_types_are_right(sdks: str, tmp_path: Path) -> None:
    """With each SDK's own types. mypy would read a whole SDK by way of its first module, so that one is passed over."""
    names = ("pulumi_aws", "pulumi_azure_native", "pulumi_gcp")
    config = tmp_path / "mypy.ini"
    every = ",".join(f"{name}.*" for name in names)
    config.write_text(
        "[mypy]\nstrict = true\n"
        f"[mypy-{every}]\nfollow_imports = silent\n"
        f"[mypy-{','.join(names)}]\nfollow_imports = skip\n"
        "[mypy-slinky_iac.components.*]\nignore_missing_imports = true\n"
    )
    env = {**os.environ, "MYPYPATH": f"{FOLDER}:{ROOT}:{sdks}"}
    files = sorted(str(file) for file in FOLDER.glob("*.py"))
    mypy = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run([*mypy, *files], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
