"""What a hybrid cluster needs of its outside slurmctld is in the files that the lab writes."""

import pytest

from lab.slurm import conf
from lab.slurm.conf import Controller, Metal

ONE = (Controller("ctl", "10.99.0.10"),)
METAL = (Metal("metal-1", "10.99.0.21"), Metal("metal-2", "10.99.0.22"))
TEXT = conf.slurm_conf(ONE, METAL, conf.DEFAULT_NODESETS)
LINES = TEXT.splitlines()


def test_slurm_conf_holds_what_slinky_needs_of_an_external_slurmctld() -> None:
    needed = {
        "ClusterName=lab",
        "AuthType=auth/slurm",
        "CredType=cred/slurm",
        "AuthInfo=use_client_ids",
        "AuthAltTypes=auth/jwt",
        "AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key",
        "SlurmctldParameters=enable_configless",
        "MaxNodeCount=1024",
        "ReturnToService=2",
        "AccountingStorageType=accounting_storage/slurmdbd",
    }
    assert needed <= set(LINES)


def test_no_key_of_slurm_conf_is_set_twice() -> None:
    repeatable = {"SlurmctldHost", "NodeName", "NodeSet", "PartitionName"}
    keys = [line.partition("=")[0] for line in LINES if line.partition("=")[0] not in repeatable]
    assert sorted(keys) == sorted(set(keys))


def test_the_stack_s_lines_come_last_and_unchanged() -> None:
    text = conf.slurm_conf(ONE, METAL, "NodeSet=a Feature=a\nPartitionName=a Nodes=a\n")
    assert text.endswith("State=UP\nNodeSet=a Feature=a\nPartitionName=a Nodes=a\n")


def test_every_node_has_a_default_partition_and_the_metal_hosts_their_own() -> None:
    text = conf.slurm_conf(ONE, METAL, "")
    assert "\nPartitionName=all Nodes=ALL Default=YES State=UP\n" in text
    assert "\nPartitionName=metal Nodes=metal-1,metal-2 State=UP\n" in text


@pytest.mark.parametrize("theirs", ["PartitionName=all Nodes=ALL Default=YES\n", "  partitionname=ALL Nodes=gpu\n"])
def test_the_stack_s_own_partition_of_a_name_wins(theirs: str) -> None:
    """Two of one name would be a fatal error of slurmctld."""
    assert "PartitionName=all" not in conf.partitions(METAL, theirs)
    assert "PartitionName=metal" in conf.partitions(METAL, theirs)


def test_metal_hosts_are_named_with_their_addresses() -> None:
    """An unresolvable static node hangs slurmctld in getaddrinfo for minutes."""
    named = [line for line in LINES if line.startswith("NodeName=")]
    assert [line.split()[:2] for line in named] == [
        ["NodeName=metal-1", "NodeAddr=10.99.0.21"],
        ["NodeName=metal-2", "NodeAddr=10.99.0.22"],
    ]


def test_the_backup_controller_comes_second() -> None:
    both = conf.slurm_conf((*ONE, Controller("ctl-2", "10.99.0.13")), METAL, "")
    hosts = [line for line in both.splitlines() if line.startswith("SlurmctldHost=")]
    assert hosts == ["SlurmctldHost=ctl(10.99.0.10)", "SlurmctldHost=ctl-2(10.99.0.13)"]


def test_slurmrestd_s_file_names_no_key() -> None:
    assert "jwt_key" not in conf.rest_conf(ONE)
    assert "AuthAltTypes=auth/jwt" in conf.rest_conf(ONE)


def test_slurmdbd_conf_has_no_cred_type() -> None:
    """slurmdbd refuses to start with one."""
    assert "CredType" not in conf.slurmdbd_conf("secret")
