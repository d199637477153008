"""What slurm-operator itself writes into slurm.conf, cgroup.conf and gres.conf of a slurmctld in Kubernetes, by release.

Source: ``buildSlurmConf``, ``buildCgroupConf``, ``buildGresConf`` and ``isCgroupEnabled`` of ``controller_config.go`` in
1.0.1, 1.1.2 and 1.2.1 (a test names the line of each). Left out are hosts, ports and files of keys and logs.
"""

from __future__ import annotations

import re
from typing import Final

from slinky_iac.config.stack import StackConfig
from slinky_iac.releases import OPERATOR_MAX_NODE_COUNT

CGROUP_CONF: Final = "cgroup.conf"
GRES_CONF: Final = "gres.conf"
_DISABLED: Final = re.compile(r"^CgroupPlugin=disabled", re.IGNORECASE | re.MULTILINE)
"""By this, and no other spelling, the operator takes cgroups for disabled (``isCgroupEnabled``)."""
LOG_TIME_FORMAT: Final = "iso8601,format_stderr"
"""In both files up to 1.1."""
AUTH: Final[dict[str, str]] = {
    "SlurmUser": "slurm",
    "AuthType": "auth/slurm",
    "AuthAltTypes": "auth/jwt",
    "AuthInfo": "use_client_ids",
}
"""In slurm.conf and in slurmdbd.conf, in every release."""


def written(config: StackConfig) -> dict[str, str]:
    """Parameters of slurm.conf that stand before ``extraConf``, whose value counts where it has one too; from 1.2 on the
    items of SlurmctldParameters are merged (:func:`merged`)."""
    parameters = {
        **AUTH,
        "ClusterName": config.cluster.name,
        "SlurmdUser": "root",
        "SlurmdSpoolDir": "/var/spool/slurmd",
        "MaxNodeCount": str(OPERATOR_MAX_NODE_COUNT),
        "CredType": "cred/slurm",
        "AccountingStorageType": f"accounting_storage/{'slurmdbd' if config.accounting.enabled else 'none'}",
    }
    if config.operator_version.prunes_slurm_conf:
        return {**parameters, "SlurmctldParameters": "enable_configless,reconfig_on_restart"}
    has_cgroups = _DISABLED.search(config.slurmctld.config_files.get(CGROUP_CONF, "")) is None
    parameters |= {
        "ReturnToService": "2",
        "GresTypes": "gpu",
        "LogTimeFormat": LOG_TIME_FORMAT,
        "CommunicationParameters": "block_null_hash",
        "SelectTypeParameters": "CR_Core_Memory",
        "SlurmctldParameters": "enable_configless,enable_stepmgr" if has_cgroups else "enable_configless",
        "ProctrackType": "proctrack/cgroup" if has_cgroups else "proctrack/linuxproc",
        "TaskPlugin": "task/affinity,task/cgroup" if has_cgroups else "task/affinity",
        **({"PrologFlags": "Contain"} if has_cgroups else {}),
    }
    if not config.accounting.enabled:
        return {**parameters, "JobAcctGatherType": "jobacct_gather/none"}
    gathered = "jobacct_gather/cgroup" if has_cgroups else "jobacct_gather/linux"
    return {**parameters, "AccountingStorageTRES": "gres/gpu", "JobAcctGatherType": gathered}


def merged(written: str, given: str) -> str:
    """Items of a parameter as operators from 1.2 on merge them: theirs, and those of ``extraConf`` in lower case that have
    another name (``BuildMergedConfig`` of ``common.go``)."""
    parameters = {item.partition("=")[0].lower(): item for item in written.split(",")}
    for item in filter(None, given.split(",")):
        parameters.setdefault(item.partition("=")[0].lower(), item.lower())
    return ",".join(sorted(parameters.values()))


def files(config: StackConfig) -> dict[str, str]:
    """Files beside slurm.conf that the operator writes where the stack has none of that name."""
    texts = {CGROUP_CONF: "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n"}
    if config.operator_version.writes_gres_conf:
        texts[GRES_CONF] = "AutoDetect=nvidia\n"
    return texts
