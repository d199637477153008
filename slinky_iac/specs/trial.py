"""The files that a slurmctld and a slurmdbd in Kubernetes would read, for a trial on daemons that nothing depends on.

What the operator writes into slurm.conf is repeated here (``controller_config.go``, ``accounting_config.go``); the trial
puts hosts, ports, keys and addresses of its own in the place of the living daemons' (``commands/trial.sh``).
"""

from __future__ import annotations

from typing import Final

from slinky_iac.config.slurm_refusals import WRITTEN_TO_1_1
from slinky_iac.config.stack import StackConfig
from slinky_iac.releases import OPERATOR_MAX_NODE_COUNT
from slinky_iac.specs.slurm_conf import controller_extra_conf, nodeset_lines, pair, partition_lines

_SHARED: Final = ("AuthType=auth/slurm", "AuthAltTypes=auth/jwt", "AuthInfo=use_client_ids", "SlurmUser=slurm")
_MERGED: Final = "SlurmctldParameters"
"""The line of the user's that operators from 1.2 on merge with their own; before, the last one counts."""


def trial_files(config: StackConfig) -> dict[str, str]:
    """Files of /etc/slurm by name: slurm.conf, configuration files and, with a slurmdbd in Kubernetes, slurmdbd.conf."""
    files = dict(config.controller.config_files) | {"slurm.conf": _slurm_conf(config)}
    if config.slurmdbd.pods:
        files["slurmdbd.conf"] = _slurmdbd_conf(config)
    return files


def _slurm_conf(config: StackConfig) -> str:
    controller, pruned = config.controller, config.operator_version.prunes_slurm_conf
    own = [nodeset_lines(config)[name] for name in config.nodesets]
    own += [partition_lines(config)[name] for name, each in config.nodesets.items() if each.partition.enabled]
    lines = [
        f"ClusterName={config.cluster.name}",
        *_SHARED,
        "CredType=cred/slurm",
        f"MaxNodeCount={OPERATOR_MAX_NODE_COUNT}",
        f"AccountingStorageType=accounting_storage/{'slurmdbd' if config.accounting.enabled else 'none'}",
        "SlurmctldParameters=enable_configless",
        *([] if pruned else [pair(key, value) for key, value in WRITTEN_TO_1_1.items()]),
        *(f"Prolog={name}" for name in sorted(controller.prolog)),
        *(f"Epilog={name}" for name in sorted(controller.epilog)),
        *own,
        controller_extra_conf(config),
    ]
    given = next((value for key, value in controller.extra_conf.items() if key.lower() == _MERGED.lower()), "")
    if pruned and given:
        lines.append(f"{_MERGED}=enable_configless,{given}")
    return "\n".join(filter(None, lines)) + "\n"


def _slurmdbd_conf(config: StackConfig) -> str:
    extra = [pair(key, value) for key, value in config.accounting.extra_conf.items()]
    return "\n".join([*_SHARED, "StorageType=accounting_storage/mysql", *extra]) + "\n"
