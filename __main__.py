"""The program that `pulumi up` runs: read the stack's settings, build the cluster, export what the next person needs."""

import os
from functools import partial
from pathlib import Path

import pulumi

from components import HybridCluster, HybridClusterArgs
from slinky_iac.config.reader import read_stack
from slinky_iac.preflight import notices
from slinky_iac.taken import lost

settings = read_stack()
config, home = settings.config, Path.home()
args = HybridClusterArgs(
    settings=settings, notices=partial(notices, config, os.environ, home), lost=partial(lost, config, os.environ, home)
)
cluster = HybridCluster(config.cluster.name, args)

pulumi.export("slurmrestdUrl", cluster.slurmrestd_url)
pulumi.export("slurmrestdCa", cluster.slurmrestd_ca)
pulumi.export("slurmdJoin", cluster.slurmd_join)
pulumi.export("sackdJoin", cluster.sackd_join)
pulumi.export("slurmKeyFingerprint", cluster.slurm_key_fingerprint)
pulumi.export("jwtKeyFingerprint", cluster.jwt_key_fingerprint)
pulumi.export("outsideSlurmConf", cluster.outside_slurm_conf)
pulumi.export("nodesets", cluster.nodesets)
pulumi.export("scaleInPlans", cluster.scale_in_plans)
pulumi.export("findings", cluster.findings)
pulumi.export("mungeKeyFingerprint", cluster.munge_key_fingerprint)
pulumi.export("mungeClientPod", cluster.munge_client_pod)
pulumi.export("clientPods", cluster.client_pods)
pulumi.export("tokenKeySet", cluster.token_key_set)
pulumi.export("keysSince", cluster.keys_since)
