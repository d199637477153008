"""A slurmctld on a VM, slurmdbd in Kubernetes, and the NodeSets that join them, in one program.

`pulumi up` makes the VMs first, then the cluster with their addresses. The keys are secrets of the stack:
`base64 -w0 slurm.key | pulumi config set --secret slinky-iac:slurmKey`, and the same for slinky-iac:jwtKey. Settings of the
program: `pulumi config set gpuReplicas 2` and `pulumi config set --secret databasePassword`.
Not run on a cloud: checked by types and mocks (tests/unit/components/test_example_program.py).
"""

from __future__ import annotations

import pulumi
from pulumi_kubernetes.core.v1 import ConfigMap
from vm import Instance

import slinky_iac

config = pulumi.Config()
slurmctld = Instance("slurmctld", image="debian-13-slurm", flavor="m1.large", user_data="#cloud-config\n")
database = Instance("database", image="debian-13-mariadb", flavor="m1.large", user_data="#cloud-config\n")

atlas = slinky_iac.HybridCluster(
    "atlas",
    slurmctld=slinky_iac.address(slurmctld.access_ip_v4),
    accounting={"database": {"host": slinky_iac.address(database.access_ip_v4)}},
    database_password=config.require_secret("databasePassword"),
    keys={"source": "imported"},
    kubernetes={"context": "hpc"},
    nodesets={"cpu": {"replicas": 4, "resources": {"cpus": 16, "memory": "64Gi"}}},
)
# The number of nodes can be an Output here, as the size of a pool of machines.
slinky_iac.NodeSet(
    "gpu",
    cluster=atlas,
    replicas=config.require_int("gpuReplicas"),
    resources={"extended": {"nvidia.com/gpu": 8}},
    gres=["gpu:8"],
    drain={"deadline": "2h", "on_deadline": "keep"},
)
# A resource of yours in the same Kubernetes cluster.
ConfigMap(
    "notes",
    metadata={"namespace": atlas.config.cluster.namespace},
    data={"contact": "hpc@example.org"},
    opts=pulumi.ResourceOptions(provider=slinky_iac.kubernetes_provider(atlas), depends_on=[atlas]),
)
pulumi.export("join", atlas.slurmd_join)
