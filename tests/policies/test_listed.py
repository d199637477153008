"""What is judged field by field against a list: machines of a cloud, policies that observe, Services, mounts, numbers."""

from __future__ import annotations

from typing import Any

import pytest
from slurm_rules.closed import cluster_as_made
from slurm_rules.model import Stack
from slurm_rules.slurm_files import conf_faults, file_faults
from slurm_rules.world import world_of

from tests.policies.judging import judged, messages, spec

NOWHERE = world_of(Stack(()))


def beside(type_: str, properties: dict[str, Any]) -> str:
    return messages(judged(cluster_as_made, {"resources": {"beside": {"type": type_, "properties": properties}}}))


EKS: dict[str, Any] = {
    "clusterName": "hpc",
    "scalingConfig": {"minSize": 2, "maxSize": 1000},
    "taints": [{"key": "a", "effect": "NO_SCHEDULE"}],
}
GKE: dict[str, Any] = {
    "nodeCount": 3,
    "management": {"autoUpgrade": False, "autoRepair": True},
    "nodeConfig": {
        "machineType": "c3",
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        "serviceAccount": "slurm-nodes@hpc.iam.gserviceaccount.com",
        "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
    },
}
AKS: dict[str, Any] = {
    "mode": "User",
    "count": 4,
    "vmSize": "Standard_ND96asr_v4",
    "nodeTaints": ["slurm=worker:NoSchedule"],
}
POOLS = {
    "aws:eks/nodeGroup:NodeGroup": (
        EKS,
        [
            {"launchTemplate": {"id": "lt-1"}},
            {"remoteAccess": {"ec2SshKey": "k"}},
            {"capacityType": "SPOT"},
            {"forceUpdateVersion": True},
            {"taints": [{"key": "a", "effect": "NO_EXECUTE"}]},
            {"labels": {"karpenter.sh/nodepool": "x"}},
            {"updateConfig": {"maxUnavailablePercentage": 100}},
        ],
    ),
    "gcp:container/nodePool:NodePool": (
        GKE,
        [
            {"management": None},
            {"management": {"autoUpgrade": True}},
            {"nodeConfig": {"machineType": "c3"}},
            {"nodeConfig": {**GKE["nodeConfig"], "spot": True}},
            {"nodeConfig": {**GKE["nodeConfig"], "serviceAccount": "1-compute@developer.gserviceaccount.com"}},
            {"nodeConfig": {**GKE["nodeConfig"], "serviceAccount": None}},
            {"nodeConfig": {**GKE["nodeConfig"], "oauthScopes": ["https://mail.google.com/"]}},
            {"nodeConfig": {**GKE["nodeConfig"], "metadata": {"startup-script": "x"}}},
            {"autoscaling": {"maxNodeCount": 2}},
        ],
    ),
    "azure-native:containerservice:AgentPool": (
        AKS,
        [
            {"scaleSetPriority": "Spot"},
            {"upgradeSettings": {"undrainableNodeBehavior": "Schedule"}},
            {"enableAutoScaling": True},
            {"kubeletConfig": {"allowedUnsafeSysctls": ["kernel.*"]}},
            {"enableNodePublicIP": True},
        ],
    ),
}


@pytest.mark.parametrize("type_", POOLS)
def test_machines_of_a_cloud_that_stay_and_run_nothing_else_pass(type_: str) -> None:
    sound, evil = POOLS[type_]
    assert beside(type_, sound) == ""
    for change in evil:
        assert beside(type_, {**sound, **change}) != "", change


def observer(kind: str, **fields: Any) -> str:
    group = "cilium.io/v1alpha1" if kind.startswith("Tracing") else "security.kubearmor.com/v1"
    body = {"apiVersion": group, "kind": kind, "metadata": {"name": "watch"}, "spec": fields}
    return beside(f"kubernetes:{group}:{kind}", body)


def probe(action: str, call: str = "security_bprm_check", type_: str = "linux_binprm") -> dict[str, Any]:
    return {"call": call, "args": [{"index": 0, "type": type_}], "selectors": [{"matchActions": [{"action": action}]}]}


def test_a_policy_that_only_observes_passes_and_one_that_acts_is_named() -> None:
    assert observer("TracingPolicy", kprobes=[probe("Post")]) == ""
    assert "action is Sigkill" in observer("TracingPolicy", kprobes=[probe("Sigkill")])
    assert "call is sys_write" in observer("TracingPolicy", kprobes=[probe("Post", "sys_write")])
    assert "type is char_buf" in observer("TracingPolicy", kprobes=[probe("Post", type_="char_buf")])
    assert "uprobes" in observer("TracingPolicy", uprobes=[{"path": "/usr/sbin/slurmctld", "symbols": ["x"]}])
    files = {"matchPaths": [{"path": "/etc/shadow"}]}
    assert observer("KubeArmorClusterPolicy", file=files, action="Audit") == ""
    assert "isn't set" in observer("KubeArmorClusterPolicy", file=files)
    assert "Block" in observer("KubeArmorClusterPolicy", file=files, action="Block")


@pytest.mark.parametrize(
    ("field", "value", "passes"),
    [
        ("loadBalancerSourceRanges", ["192.0.2.0/24"], True),
        ("externalTrafficPolicy", "Local", True),
        ("internalTrafficPolicy", "Local", False),
        ("externalIPs", ["192.0.2.1"], False),
        ("loadBalancerClass", "tailscale", False),
        ("externalTrafficPolicy", "x", False),
    ],
)
def test_a_service_may_be_narrowed(field: str, value: object, passes: bool) -> None:
    service = {"spec": {"type": "LoadBalancer", field: value}}
    said = messages(judged(cluster_as_made, spec("controller", service=service)))
    assert (f"spec.service.spec.{field}" in said) is not passes


@pytest.mark.parametrize(
    ("path", "passes"),
    [
        ("/archive", True),
        ("/srv/x", True),
        ("/etc/slurm", False),
        ("/usr/local/bin", False),
        ("/var/spool", False),
        ("/", False),
    ],
)
def test_a_daemon_mounts_what_covers_nothing(path: str, passes: bool) -> None:
    change = spec("accounting", slurmdbd={"volumeMounts": [{"name": "archive", "mountPath": path}]})
    assert ("volumeMounts" in messages(judged(cluster_as_made, change))) is not passes


LINES = {
    "slurm.conf": (
        (
            "CompleteWait=32",
            "FirstJobId=1000000",
            "MaxArraySize=1000001",
            "TreeWidth=64",
            "MaxMemPerCPU=4000",
            "EpilogMsgTime=2000",
        ),
        (
            *("CompleteWait=99999", "FirstJobId=0", "MaxArraySize=10", "MaxArraySize=4294967295", "EpilogMsgTime=10000000"),
            *(
                "MaxMemPerCPU=1",
                "MaxTasksPerNode=1",
                "EioTimeout=0",
                "TreeWidth=1",
                "SchedulerParameters=default_queue_depth=0",
            ),
            *("SlurmctldParameters=conmgr_max_connections=2", "PartitionName=p Nodes=ALL DefMemPerCPU=1"),
        ),
    ),
    "slurmdbd.conf": (("CommitDelay=1",), ("CommitDelay=86400",)),
    "cgroup.conf": (
        (
            "AllowedRAMSpace=100",
            "MaxRAMPercent=98",
            "MaxRAMPercent=90.5",
            "AllowedSwapSpace=0",
            "MinRAMSpace=30",
            "CgroupPlugin=cgroup/v2",
        ),
        (
            *("MaxRAMPercent=2", "MaxRAMPercent=1000", "AllowedRAMSpace=9", "AllowedRAMSpace=1000", "MinRAMSpace=999999"),
            *("MemorySwappiness=500", "SystemdTimeout=1", "AllowedSwapSpace=9999", "CgroupPlugin=x"),
        ),
    ),
    "gres.conf": (("Name=gpu Count=4",), ("Name=gpu Count=0",)),
    "burst_buffer.conf": (("StageOutTimeout=3600",), ("StageOutTimeout=1",)),
}


@pytest.mark.parametrize("file", LINES)
def test_a_number_by_which_jobs_are_lost_is_refused(file: str) -> None:
    def said(line: str) -> list[str]:
        conf = file in ("slurm.conf", "slurmdbd.conf")
        return list(conf_faults(line, file, NOWHERE) if conf else file_faults(file, line, [], NOWHERE, own=False))

    sound, evil = LINES[file]
    assert [line for line in sound if said(line)] == []
    assert [line for line in evil if not said(line)] == []
