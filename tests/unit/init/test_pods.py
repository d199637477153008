"""What `slinky init` says of a cluster in which pods would not stay, or would lack what other nodes have."""

from __future__ import annotations

import pytest

from slinky_iac.commands.init.stack import read
from slinky_iac.errors import ProjectError
from tests.unit.init.made import CONFIG, answer, noted

SAVING = "SuspendProgram = /opt/off\nResumeProgram = /opt/on\nSuspendTime = 300 sec\n"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (SAVING, "Before pods of burst join, add SuspendExcStates=DYNAMIC_NORM"),
        (SAVING + "SuspendExcStates = DOWN\n", "add SuspendExcStates=DYNAMIC_NORM"),
        (SAVING + "SuspendExcParts = metal\nSuspendExcNodes = metal-[1-9]:2\n", "add SuspendExcStates=DYNAMIC_NORM"),
        (SAVING + "SuspendExcStates = DOWN,dynamic_norm\n", ""),
        (SAVING + "SuspendExcParts = metal,burst\n", ""),
        (SAVING + "SuspendExcNodes = burst\n", ""),
        (SAVING.replace("300 sec", "INFINITE"), ""),
        (SAVING.replace("/opt/off", "(null)"), ""),
        ("HealthCheckProgram = /usr/sbin/nhc\nHealthCheckInterval = 300 sec\n", "HealthCheckProgram=/usr/sbin/nhc"),
        ("HealthCheckProgram = /usr/sbin/nhc\nHealthCheckInterval = 0 sec\n", ""),
        ("HealthCheckProgram = (null)\nHealthCheckInterval = 300 sec\n", ""),
        ("SlurmdPort = 6918\n", "Set SlurmdPort=6818, and Port=6918"),
        ("SlurmdPort = 6818\n", ""),
        ("TopologyPlugin = topology/tree\n", "nodes.topologies"),
        ("TopologyPlugin = topology/flat\n", ""),
        ("JobContainerType = job_container/tmpfs\n", "JobContainerType is job_container/tmpfs"),
        ("NamespaceType = job_container/tmpfs\n", "AutoBasePath=true in job_container.conf"),
        ("NamespaceType = namespace/linux\n", "auto_basepath: true in namespace.yaml"),
        ("NamespaceType = namespace/site\n", "in its own file"),
        ("NamespaceType = (null)\nJobContainerType = (null)\n", ""),
        ("JobContainerType = job_container/none\n", ""),
        ("SlurmctldPort = 6817-6820\n", "SlurmctldPort is 6817-6820"),
        ("Slurmctld(primary) at ctl is DOWN\n", "slurmctld on ctl (primary) is DOWN"),
        ("Slurmctld(backup) at ctl2 is DOWN\n", "slurmctld on ctl2 (backup) is DOWN"),
        ("Slurmctld(backup2) at ctl3 is UP\n", ""),
        ("SLURM_VERSION = 26.11.0-0rc1\n", "Slurm 26.11, newer than 26.05"),
        ("SLURM_VERSION = 26.05.99\n", ""),
    ],
)
def test_what_pods_would_not_survive_or_lack_is_said(lines: str, said: str) -> None:
    """power_save.c; slurm-operator's probes ask port 6818 (worker_app.go)."""
    assert [said in each for each in noted(answer(CONFIG + lines))] == ([True] if said else [])


def test_two_clusters_in_one_output_are_refused() -> None:
    other = CONFIG.replace("atlas", "other")
    with pytest.raises(ProjectError, match="of one cluster"):
        read(f"CLUSTER: atlas\n{CONFIG}\nCLUSTER: other\n{other}")
