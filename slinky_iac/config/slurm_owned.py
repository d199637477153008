"""Parameters of slurm.conf that settings or the operator write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

OWNED: Final[Mapping[str, str]] = {
    "accountingstoragehost": "accounting.external.host (an outside slurmdbd's)",
    "accountingstorageport": "accounting.external.port (an outside slurmdbd's)",
    "accountingstoragetype": "accounting.enabled",
    "authalttypes": "keys",
    "authaltparameters": "keys",
    "authinfo": "keys",
    "authtype": "keys.auth",
    "clustername": "cluster.name",
    "credtype": "keys",
    "include": "controller.configFiles",
    "maxnodecount": "cluster.maxNodeCount",
    "nodename": "external.slurmdHosts",
    "nodeset": "nodesets",
    "partitionname": "partitions",
    "slurmctldhost": "controller.external.host (an outside slurmctld's)",
    "slurmctldport": "controller.external.port (an outside slurmctld's; in Kubernetes it is 6817)",
    "slurmduser": "cluster.images.slurmd",
    "slurmuser": "cluster.images.slurmctld",
    "statesavelocation": "controller.persistence",
}
"""slurm.conf parameters that may not be in ``controller.extraConf``, in lower case, and where they are set instead."""


def set_instead(key: str) -> str:
    """What to say of a parameter of OWNED, in any spelling."""
    return f"is written by this program or the operator; set {OWNED[key.lower()]} instead"
