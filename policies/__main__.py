"""The policy pack as the engine starts it. ``PolicyPack`` serves and never returns, so it is made here and nowhere else."""

from pulumi_policy import PolicyPack
from slurm_rules.adapter import policies
from slurm_rules.catalogue import RULES

PolicyPack("slinky-iac", policies=policies(RULES), description="Rules for hybrid Slurm clusters on Kubernetes")
