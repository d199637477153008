"""slurm.conf of slurmrestd in Kubernetes, where slurmctld has backups.

The operator makes a file with one SlurmctldHost, that of the Controller's ``externalConfig`` (``buildSlurmConfMinimal``,
1.0 to 1.2.1): with it slurmrestd would be silent as long as a backup is in charge. So its pods get the same lines with every
host, by an annotation: the file is new in a new pod alone, and slurmrestd reads it when it starts. No secret is in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from slinky_iac import names
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.specs.endpoints import has_backups
from slinky_iac.specs.shared import Spec, mount

FOLDER: Final = "/etc/slinky-slurmctld"
"""Folder of the file. slurmrestd holds no key, so nothing else is looked for in it."""
VOLUME: Final = "slinky-slurmctld"


@dataclass(frozen=True)
class OwnConf:
    """Pieces of slurmrestd's pod by which it reads the stack's slurm.conf; none where the operator's is right."""

    env: tuple[Spec, ...] = ()
    mounts: tuple[Spec, ...] = ()
    volumes: tuple[Spec, ...] = ()
    annotations: dict[str, str] = field(default_factory=dict)


def own_conf(config: ClusterConfig) -> OwnConf:
    """The pieces for a stack."""
    if not has_backups(config):
        return OwnConf()
    place = {"path": "slurm.conf", "fieldRef": {"fieldPath": f"metadata.annotations['{names.ANNOTATION_SLURM_CONF}']"}}
    return OwnConf(
        env=({"name": "SLURM_CONF", "value": f"{FOLDER}/slurm.conf"},),
        mounts=(mount(VOLUME, FOLDER),),
        volumes=({"name": VOLUME, "downwardAPI": {"items": [place]}},),
        annotations={names.ANNOTATION_SLURM_CONF: slurm_conf(config)},
    )


def slurm_conf(config: ClusterConfig) -> str:
    """What the operator's file has (``controller_config.go``), and every host of slurmctld in its order."""
    first, *_ = config.slurmctld.hosts
    lines = [
        f"ClusterName={config.cluster.name}",
        f"SlurmUser={names.SLURM_USER}",
        *(f"SlurmctldHost={host.host}" for host in config.slurmctld.hosts),
        f"SlurmctldPort={first.port}",
        "AuthType=auth/slurm",
        "CredType=auth/slurm",
        "AuthAltTypes=auth/jwt",
    ]
    if config.accounting.enabled:
        lines += [
            "AccountingStorageType=accounting_storage/slurmdbd",
            f"AccountingStorageHost={names.accounting_service(config.cluster.resource_name)}",
            f"AccountingStoragePort={names.SLURMDBD_PORT}",
        ]
    else:
        lines.append("AccountingStorageType=accounting_storage/none")
    return "\n".join(lines) + "\n"
