"""Parameters of slurm.conf and slurmdbd.conf that settings or the operator write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from slinky_iac.config.findings import NOTHING, use

_AUTH: Final = {
    "authtype": f"{NOTHING}it is always auth/slurm: with another one a daemon could accept anyone as root",
    "authalttypes": f"{NOTHING}it is always auth/jwt, for the tokens of drains and users",
    "authaltparameters": f"{NOTHING}it follows from keys.tokens and identity.oidc",
}
_SLURM_USER: Final = f"{NOTHING}it is always slurm, with the uid that this user has in the images (401 in Slinky's)"

OWNED: Final[Mapping[str, str]] = {
    **_AUTH,
    "accountingstoragehost": f"{NOTHING}it is slurmdbd's Service; for slurmdbd on a host set accounting.external.host",
    "accountingstorageport": f"{NOTHING}it is 6819 in Kubernetes; for slurmdbd on a host set accounting.external.port",
    "accountingstoragetype": f"{NOTHING}it is accounting_storage/slurmdbd, or none with accounting.enabled: false",
    "clustername": "cluster.name",
    "credtype": f"{NOTHING}it is always cred/slurm, which pods have",
    "include": f"{NOTHING}write what is in the other file below extraConf, where it is checked",
    "maxnodecount": "cluster.maxNodeCount",
    "nodename": "external.slurmdHosts",
    "nodeset": f"{NOTHING}each of nodesets has its line; a partition names NodeSets and hosts in partitions.<name>.nodesets",
    "partitionname": "partitions",
    "slurmctldhost": f"{NOTHING}it is slurmctld's pod; for slurmctld on a host set controller.external.host",
    "slurmctldport": f"{NOTHING}it is 6817 in Kubernetes; for slurmctld on a host set controller.external.port",
    "slurmduser": f"{NOTHING}it is always root, as slurmd in pods runs",
    "slurmuser": _SLURM_USER,
    "statesavelocation": f"{NOTHING}it is always in the volume that controller.persistence describes",
}
"""slurm.conf parameters that may not be in ``controller.extraConf``, in lower case, and where they are set instead."""


OWNED_BY_DATABASE: Final[Mapping[str, str]] = {
    **_AUTH,
    "authinfo": f"{NOTHING}it is use_client_ids, and slurmdbd makes no credentials of jobs",
    "dbdaddr": f"{NOTHING}slurmdbd is in one pod, which others reach by its Service",
    "dbdhost": f"{NOTHING}it is always slurmdbd's pod",
    "dbdport": f"{NOTHING}it is always 6819",
    "include": OWNED["include"],
    "pidfile": f"{NOTHING}only slurmdbd's pod has this file, and nothing reads it",
    "slurmuser": _SLURM_USER,
    "storagebackuphost": f"{NOTHING}one address can lead to several servers: give it as accounting.database.host",
    "storagehost": "accounting.database.host",
    "storageloc": "accounting.database.name",
    "storagepass": f"{NOTHING}a password here is in plain text in the file and its history: give the database's user a new"
    " one, and run `pulumi config set --secret slinky-iac:databasePassword`",
    "storageport": "accounting.database.port",
    "storagetype": f"{NOTHING}it is always accounting_storage/mysql, for MariaDB and MySQL",
    "storageuser": "accounting.database.username",
}
"""slurmdbd.conf parameters that may not be in ``accounting.extraConf``, in lower case, and where they are set instead."""

_UNWRITTEN: Final = frozenset({"dbdaddr", "include", "pidfile", "storagebackuphost"})
"""Those of them that no line is written of."""


def set_instead(key: str, owned: Mapping[str, str] = OWNED) -> str:
    """What to say of a parameter of ``owned``, in any spelling."""
    why = "can't be set here" if key.lower() in _UNWRITTEN else "is written by this program or the operator"
    return f"{why}; {use(owned[key.lower()], 'set {} instead')}"
