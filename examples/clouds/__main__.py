"""A Slurm cluster on EKS, AKS or GKE, with slurmctld and slurmdbd on a machine of the same network.

    pulumi config set cloud eks   # or aks, gke; each module lists the other settings
    pulumi up && sh -c "$(pulumi stack output kubeconfig)"
    pulumi config set slurm true
    pulumi up

In two steps, for drains reach Kubernetes by a kubeconfig, which needs the cloud's cluster first. The keys are secrets of the
stack: `base64 -w0 slurm.key | pulumi config set --secret slinky-iac:slurmKey`, and the same for slinky-iac:jwtKey.
Not run on a cloud: checked by types and mocks (tests/integration/test_cloud_programs.py).
"""

from __future__ import annotations

from importlib import import_module

import pulumi
from cloud import POOL, Cloud

import slinky_iac

config = pulumi.Config()
cloud: Cloud = import_module(config.require("cloud")).made(config)
pulumi.export("kubeconfig", cloud.kubeconfig)
pulumi.export("slurmctld", cloud.slurmctld)

if config.get_bool("slurm"):
    host = slinky_iac.address(cloud.slurmctld)
    slinky_iac.HybridCluster(
        "atlas",
        slurmctld=host,
        slurmdbd=host,
        keys={"source": "imported"},
        kubernetes={"context": "hpc"},
        nodesets={
            "burst": {
                "replicas": 2,
                "resources": {"cpus": 30, "memory": "56Gi"},  # of a machine with 32 and 64
                "pod": {
                    "nodeSelector": {"slurm": POOL},
                    "tolerations": [{"key": "slurm", "operator": "Exists", "effect": "NoSchedule"}],
                    "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
                },
            }
        },
        drain={"deadline": "2d", "on_deadline": "keep"},
        # Removed after it: a `pulumi destroy` takes no machine before the jobs on it have ended.
        opts=pulumi.ResourceOptions(depends_on=cloud.keeps),
    )
