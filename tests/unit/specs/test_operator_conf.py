"""The files that a trial tries are those that the operator writes, line by line and release by release.

Each row has the lines of ``controller_config.go`` (internal/builder in 1.0.1, internal/builder/controllerbuilder later) that
write it; 0: the release doesn't. What is left out is in ``LEFT``: the trial puts its own in its place.
"""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.config.operator import conf as operator_conf
from slinky_iac.config.reading.load import load
from slinky_iac.specs.trial import trial_files
from tests.stacks import minimal

RELEASES = ("1.0.1", "1.1.2", "1.2.1")
DBD = {"database": {"host": "db.example.org"}}
DISABLED = {"cgroup.conf": "CgroupPlugin=disabled\n"}

ALWAYS = (
    ("ClusterName=lab", 168, 176, 183),
    ("SlurmUser=slurm", 169, 177, 184),
    ("SlurmdUser=root", 173, 181, 188),
    ("SlurmdSpoolDir=/var/spool/slurmd", 175, 183, 190),
    ("ReturnToService=2", 176, 184, 0),
    ("MaxNodeCount=1024", 177, 185, 191),
    ("GresTypes=gpu", 178, 186, 0),
    ("LogTimeFormat=iso8601,format_stderr", 185, 193, 0),
    ("AuthType=auth/slurm", 189, 197, 201),
    ("CredType=cred/slurm", 190, 198, 202),
    ("AuthAltTypes=auth/jwt", 191, 199, 203),
    ("AuthInfo=use_client_ids", 193, 207, 205),
    ("CommunicationParameters=block_null_hash", 194, 208, 0),
    ("SelectTypeParameters=CR_Core_Memory", 195, 209, 0),
    ("SlurmctldParameters=enable_configless,reconfig_on_restart", 0, 0, 206),
)
WITH_CGROUPS = (
    ("SlurmctldParameters=enable_configless,enable_stepmgr", 197, 211, 0),
    ("ProctrackType=proctrack/cgroup", 198, 212, 0),
    ("PrologFlags=Contain", 199, 213, 0),
    ("TaskPlugin=task/affinity,task/cgroup", 200, 214, 0),
)
WITHOUT_CGROUPS = (
    ("SlurmctldParameters=enable_configless", 202, 216, 0),
    ("ProctrackType=proctrack/linuxproc", 203, 217, 0),
    ("TaskPlugin=task/affinity", 204, 218, 0),
)
METRICS = (("MetricsType=metrics/openmetrics", 207, 223, 210),)
WITH_SLURMDBD = (
    ("AccountingStorageType=accounting_storage/slurmdbd", 213, 229, 216),
    ("AccountingStorageTRES=gres/gpu", 216, 232, 0),
)
GATHER_CGROUPS = (("JobAcctGatherType=jobacct_gather/cgroup", 218, 234, 0),)
GATHER_LINUX = (("JobAcctGatherType=jobacct_gather/linux", 220, 236, 0),)
WITHOUT_SLURMDBD = (
    ("AccountingStorageType=accounting_storage/none", 223, 239, 220),
    ("JobAcctGatherType=jobacct_gather/none", 224, 240, 0),
)
LEFT = (
    ("SlurmctldHost", 170, 178, 185),
    ("SlurmctldPort", 171, 179, 186),
    ("StateSaveLocation", 172, 180, 187),
    ("SlurmdPort", 174, 182, 189),
    ("SlurmctldLogFile", 182, 190, 195),
    ("SlurmSchedLogFile", 183, 191, 196),
    ("SlurmdLogFile", 184, 192, 197),
    ("AuthAltParameters", 192, 203, 204),
    ("AccountingStorageHost", 214, 230, 217),
    ("AccountingStoragePort", 215, 231, 218),
)
OF_THE_STACK = ("ReturnToService=2",)
"""What this program adds with 1.2."""
Rows = tuple[tuple[str, int, int, int], ...]


def tried(release: str, *, disabled: bool = False, slurmdbd: bool = False, metrics: bool = False) -> list[str]:
    controller: dict[str, Any] = {"metrics": metrics, "configFiles": DISABLED if disabled else {}}
    more = {"accounting": DBD} if slurmdbd else {}
    stack = load(minimal(operator={"version": release}, controller=controller, nodesets={}, **more))
    return trial_files(stack)["slurm.conf"].splitlines()


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    ("given", "rows"),
    [
        ({}, ALWAYS + WITH_CGROUPS + WITHOUT_SLURMDBD),
        ({"disabled": True}, ALWAYS + WITHOUT_CGROUPS + WITHOUT_SLURMDBD),
        ({"metrics": True}, ALWAYS + WITH_CGROUPS + WITHOUT_SLURMDBD + METRICS),
        ({"slurmdbd": True}, ALWAYS + WITH_CGROUPS + WITH_SLURMDBD + GATHER_CGROUPS),
        ({"slurmdbd": True, "disabled": True}, ALWAYS + WITHOUT_CGROUPS + WITH_SLURMDBD + GATHER_LINUX),
    ],
    ids=["as it is", "cgroups disabled", "metrics", "slurmdbd", "slurmdbd, cgroups disabled"],
)
def test_each_line_of_the_operators_slurm_conf_is_tried_and_no_other(
    release: str, given: dict[str, bool], rows: Rows
) -> None:
    at = RELEASES.index(release) + 1
    expected = [str(row[0]) for row in rows if row[at]]
    if release == "1.2.1":
        expected += OF_THE_STACK
    assert sorted(tried(release, **given)) == sorted(expected)


def test_what_the_trial_replaces_is_not_tried() -> None:
    names = {row[0] for row in LEFT}
    for release in RELEASES:
        assert not names & {line.partition("=")[0] for line in tried(release, slurmdbd=True, metrics=True)}


@pytest.mark.parametrize("text", ["CgroupPlugin=disabled", "# no cgroups\ncgroupplugin=Disabled\n"])
def test_cgroups_are_disabled_by_the_operators_spelling_alone(text: str) -> None:
    def proctrack(text: str) -> str:
        stack = minimal(operator={"version": "1.1.2"}, controller={"configFiles": {"cgroup.conf": text}})
        return operator_conf.written(load(stack))["ProctrackType"]

    assert proctrack(text) == "proctrack/linuxproc"
    assert proctrack(text.lower().replace("=", " = ")) == "proctrack/cgroup"  # isCgroupEnabled allows no blanks


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("idle_on_node_suspend", "enable_configless,idle_on_node_suspend,reconfig_on_restart"),
        ("Enable_Configless,node_reg_mem_percent=90", "enable_configless,node_reg_mem_percent=90,reconfig_on_restart"),
        ("cloud_dns,,cloud_dns", "cloud_dns,enable_configless,reconfig_on_restart"),
    ],
)
def test_from_1_2_on_the_users_items_are_merged_as_the_operator_merges_them(given: str, expected: str) -> None:
    stack = minimal(operator={"version": "1.2.1"}, controller={"extraConf": {"SlurmctldParameters": given}})
    lines = trial_files(load(stack))["slurm.conf"].splitlines()
    assert lines[-1] == f"SlurmctldParameters={expected}"


@pytest.mark.parametrize(("release", "gres"), [("1.0.1", None), ("1.1.2", "AutoDetect=nvidia\n"), ("1.2.1", None)])
def test_files_that_the_operator_writes_are_tried_unless_the_stack_has_them(release: str, gres: str | None) -> None:
    """buildCgroupConf (292, 355, 337) in every release, buildGresConf (371) in 1.1."""
    files = trial_files(load(minimal(operator={"version": release})))
    assert files["cgroup.conf"] == "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n"
    assert files.get("gres.conf") == gres
    own = {"cgroup.conf": "CgroupPlugin=disabled\n", "gres.conf": "AutoDetect=nvml\n"}
    again = trial_files(load(minimal(operator={"version": release}, controller={"configFiles": own})))
    assert {name: again[name] for name in own} == own
