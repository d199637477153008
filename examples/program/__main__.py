"""A slurmctld on a VM and the NodeSets that join it, in one program.

`pulumi up` makes the VM first, then the cluster with its address. The keys are secrets of the stack:
`base64 -w0 slurm.key | pulumi config set --secret slinky-iac:slurmKey`, and the same for slinky-iac:jwtKey.
Not run on a cloud: checked by types and mocks (tests/unit/components/test_example_program.py).
"""

from __future__ import annotations

import pulumi
from vm import Instance

import slinky_iac

slurmctld = Instance("slurmctld", image="debian-13-slurm", flavor="m1.large", user_data="#cloud-config\n")

atlas = slinky_iac.HybridCluster(
    "atlas",
    slurmctld=slurmctld.access_ip_v4,
    slurmdbd="slurmdbd.example.org",
    keys={"source": "imported"},
    kubernetes={"context": "hpc"},
    nodesets={
        "cpu": {"replicas": 4, "resources": {"cpus": 16, "memory": "64Gi"}},
        "gpu": {
            "replicas": 2,
            "resources": {"extended": {"nvidia.com/gpu": 8}},
            "gres": ["gpu:8"],
            "drain": {"deadline": "2h", "on_deadline": "keep"},
        },
    },
)
pulumi.export("join", atlas.slurmd_join)
