"""Parameters of slurm.conf and slurmdbd.conf that settings or the operator write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from slinky_iac.config.findings import NOTHING, use

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


OWNED_BY_DATABASE: Final[Mapping[str, str]] = {
    "authtype": "keys.auth",
    "authinfo": "keys",
    "authalttypes": "keys",
    "authaltparameters": "keys",
    "dbdaddr": "cluster.resourceName",
    "dbdhost": "cluster.resourceName",
    "dbdport": f"{NOTHING}it is always 6819",
    "pidfile": f"{NOTHING}the operator knows the process",
    "slurmuser": "cluster.images.slurmdbd",
    "storagehost": "accounting.database.host",
    "storageloc": "accounting.database.name",
    "storagepass": "the secret databasePassword",
    "storageport": "accounting.database.port",
    "storagetype": "accounting.database",
    "storageuser": "accounting.database.username",
}
"""slurmdbd.conf parameters that may not be in ``accounting.extraConf``, in lower case, and where they are set instead."""


def set_instead(key: str, owned: Mapping[str, str] = OWNED) -> str:
    """What to say of a parameter of ``owned``, in any spelling."""
    return f"is written by this program or the operator; {use(owned[key.lower()], 'set {} instead')}"
