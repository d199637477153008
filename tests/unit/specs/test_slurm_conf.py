"""slurm.conf lines: what we add inside Kubernetes, and what the admin of an outside slurmctld must hold."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.config.slurm.node_gres import types_of
from slinky_iac.config.slurm.owned import OWNED
from slinky_iac.specs.slurm_conf import REQUIRED, controller_extra_conf, outside_slurm_conf, required
from tests.stacks import ROOT, form, merged, minimal, outside

NODESETS = {
    "gpu": {
        "replicas": 2,
        "features": ["a100", "nvlink"],
        "gres": ["gpu:a100:8"],
        "extraConf": {"Weight": 10},
        "partition": {"config": {"MaxTime": "1-00:00:00", "Default": True}},
    },
    "cpu": {"replicas": 1, "partition": {"enabled": False}},
}
METAL = {
    "slurmdHosts": [
        {"name": "metal-1", "address": "192.0.2.1", "config": {"CPUs": 2, "Gres": "fpga:1"}},
        {"name": "metal-2"},
    ]
}


def lines(data: dict[str, Any]) -> list[str]:
    return outside_slurm_conf(load(data)).splitlines()


def test_the_outside_slurm_conf_is_complete() -> None:
    data = outside(
        cluster={"name": "atlas", "maxNodeCount": 2048},
        nodesets=NODESETS,
        partitions={"all": {"nodesets": ["gpu", "metal-1"], "config": {"MaxTime": "UNLIMITED"}}},
        external=METAL,
        accounting={"external": {"host": "dbd.example.org", "port": 6819}},
    )
    assert [line for line in lines(data) if not line.startswith("#")] == [
        "ClusterName=atlas",
        "AuthType=auth/slurm",
        "CredType=cred/slurm",
        "AuthInfo=use_client_ids",
        "AuthAltTypes=auth/jwt",
        "AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key",
        "SlurmctldParameters=enable_configless",
        "MaxNodeCount=2048",
        "ReturnToService=2",
        "GresTypes=fpga,gpu",
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=dbd.example.org",
        "AccountingStoragePort=6819",
        "NodeName=metal-1 NodeAddr=192.0.2.1 CPUs=2 Gres=fpga:1",
        "NodeName=metal-2",
        "NodeSet=gpu Feature=gpu",
        "NodeSet=cpu Feature=cpu",
        "PartitionName=gpu Nodes=gpu MaxTime=1-00:00:00 Default=YES",
        "PartitionName=all Nodes=gpu,metal-1 MaxTime=UNLIMITED",
    ]


def test_every_nodeset_of_every_form_has_its_line_outside() -> None:
    for name in ("controller-outside", "all-outside"):
        config = form(name)
        text = outside_slurm_conf(config)
        assert all(f"NodeSet={nodeset} Feature={nodeset}\n" in text for nodeset in config.nodesets)


def test_an_outside_slurm_conf_without_accounting_names_no_slurmdbd() -> None:
    assert not any(line.startswith("AccountingStorage") for line in lines(outside(nodesets=NODESETS)))


def test_with_slurmctld_inside_nothing_is_left_to_an_outside_admin() -> None:
    (line,) = lines(minimal(nodesets=NODESETS))
    assert line.startswith("# slurmctld of lab is in Kubernetes")


def test_node_parameters_are_features_gres_and_the_users_own() -> None:
    config = load(minimal(nodesets=NODESETS))
    assert config.nodesets["gpu"].slurmd_conf == {"Weight": "10", "Features": "a100,nvlink", "Gres": "gpu:a100:8"}
    assert config.nodesets["cpu"].slurmd_conf == {}


def test_gres_types_are_those_of_nodesets_and_hosts() -> None:
    data = minimal(nodesets=merged(NODESETS, {"cpu": {"extraConf": {"Gres": "mps:100"}}}), external=METAL)
    assert types_of(load(data)) == ("fpga", "gpu", "mps")


def test_inside_kubernetes_nothing_is_added_that_the_operator_writes() -> None:
    assert controller_extra_conf(load(minimal(operator={"version": "1.1.0"}, nodesets=NODESETS))) == ""


@pytest.mark.parametrize(
    ("version", "gres", "line"),
    [
        ("1.1.0", ["gpu:1"], ""),
        ("1.1.0", ["gpu:1", "mps:1"], "GresTypes=gpu,mps"),
        ("1.1.0", ["mps:1"], "GresTypes=gpu,mps"),
        ("1.2.1", ["gpu:1"], "GresTypes=gpu\nReturnToService=2"),
        ("1.2.1", ["gpu:1", "shard:8"], "GresTypes=gpu,shard\nReturnToService=2"),
        ("1.2.1", [], "ReturnToService=2"),
    ],
)
def test_gres_types_are_written_where_the_operator_does_not(version: str, gres: list[str], line: str) -> None:
    data = minimal(operator={"version": version}, nodesets={"gpu": {"replicas": 1, "gres": gres}})
    assert controller_extra_conf(load(data)) == line


def test_the_users_own_gres_types_win() -> None:
    data = minimal(controller={"extraConf": {"GresTypes": "gpu,nic", "returnToService": 0}}, nodesets=NODESETS)
    assert controller_extra_conf(load(data)) == "GresTypes=gpu,nic\nreturnToService=0"


def test_gpu_stands_beside_what_divides_it_also_for_an_outside_slurmctld() -> None:
    data = outside(nodesets={"a": {"replicas": 1, "gres": ["shard:16"]}})
    assert dict((row.key, value) for row, value in required(load(data)))["GresTypes"] == "gpu,shard"


def test_a_value_with_blanks_is_in_quotes() -> None:
    options = {"InteractiveStepOptions": "--interactive --pty $SHELL"}
    data = minimal(operator={"version": "1.1.0"}, controller={"extraConf": options})
    assert controller_extra_conf(load(data)) == 'InteractiveStepOptions="--interactive --pty $SHELL"'


def test_the_tail_of_an_inside_slurm_conf() -> None:
    data = minimal(
        cluster={"name": "lab", "maxNodeCount": 2048},
        operator={"version": "1.1.0"},
        controller={"extraConf": {"SlurmctldDebug": "info"}},
        external=METAL | {"slurmdHosts": METAL["slurmdHosts"][1:]},
        partitions={"all": {"nodesets": ["ALL"], "config": {"Default": True}}},
    )
    assert controller_extra_conf(load(data)).splitlines() == [
        "SlurmctldDebug=info",
        "MaxNodeCount=2048",
        "NodeName=metal-2",
        "PartitionName=all Nodes=ALL Default=YES",
    ]


def test_a_shared_partition_needs_no_line_that_the_operator_may_not_have_written_yet() -> None:
    """The operator's NodeSet= lines come with their NodeSets, and slurmctld refuses a file that names an unknown one."""
    data = minimal(
        operator={"version": "1.1.0"},
        nodesets=NODESETS,
        partitions={"both": {"nodesets": ["gpu", "metal-2"]}, "parked": {"nodesets": []}},
        external={"slurmdHosts": [{"name": "metal-2"}]},
    )
    assert controller_extra_conf(load(data)).splitlines() == [
        "NodeName=metal-2",
        "NodeSet=gpu Feature=gpu",
        "PartitionName=both Nodes=gpu,metal-2",
        'PartitionName=parked Nodes=""',
    ]


@pytest.mark.parametrize("owned", OWNED)
def test_an_owned_parameter_is_refused_in_any_spelling(owned: str) -> None:
    for key in (owned, owned.upper()):
        found = findings(load(minimal(controller={"extraConf": {key: "x"}})))
        assert f"controller.extraConf.{key}" in {f.path for f in found if f.level == "error"}


def test_the_documented_table_is_the_required_one() -> None:
    page = (ROOT / "docs" / "outside-hosts.md").read_text()
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in page.splitlines() if row.startswith("| `")]
    told = [(cells[0], *cells[2:]) for cells in rows if len(cells) == 5]
    assert told == [
        (f"`{each.key}`", each.compared or "equal", "restart" if each.restart else "`scontrol reconfigure`", each.without)
        for each in REQUIRED
    ]
    dbd = next(line for line in page.splitlines() if "slurmdbd.conf needs" in line)
    assert {each.key for each in REQUIRED if each.slurmdbd} == {each.key for each in REQUIRED if f"`{each.key}`" in dbd}


def test_what_is_required_is_what_an_external_slurmctld_is_told() -> None:
    config = load(outside(nodesets=NODESETS))
    told = dict(line.split("=", 1) for line in outside_slurm_conf(config).splitlines() if not line.startswith("#"))
    assert [told[each.key] for each, _ in required(config)] == [value for _, value in required(config)]


@pytest.mark.parametrize(("given", "line"), [("cred_expire=300", 0), ("use_client_ids,cred_expire=300", 0), (None, 1)])
def test_what_pods_need_of_a_parameter_is_added_to_what_a_stack_says(given: str | None, line: int) -> None:
    config = load(minimal(controller={"extraConf": {} if given is None else {"AuthInfo": given}}))
    expected = ["AuthInfo=use_client_ids,cred_expire=300", "ReturnToService=2"]
    assert controller_extra_conf(config).splitlines() == expected[line:]
