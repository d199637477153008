"""What is wrong with a program's arguments is said in one run: what is wrong with one hides nothing of another, and
what only follows from another isn't said."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest
from pulumi import Output

from components.inputs import address
from components.program_parts import HybridCluster, NodeSet
from slinky_iac.config.reading.engine import StackRefused
from tests.clusters import RAW_KEYS
from tests.program import configured, run
from tests.unit.components.test_program_parts import KEYS, refused

SOUND: dict[str, Any] = {"accounting": {"enabled": False}, "keys": {"source": "imported"}}
KEY: Any = RAW_KEYS[0]
PORT = 'slurmdbd: has a port, which goes beside the host: leave slurmdbd out and give accounting={"external": {"host":'
URL = "controller.external.host: got 'https://ctl.example.org'"


def paths(said: str) -> list[str]:
    """The settings and arguments that a refusal names, in its order."""
    first, *faults = said.splitlines()
    assert first.endswith(f"{len(faults)} error{'s' if len(faults) > 1 else ''} in its arguments:")
    return [each.strip().partition(": ")[0] for each in faults]


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"slurmctld": "https://ctl.example.org", "slurmdbd": "dbd:6819"}, ["slurmdbd", "controller.external.host"]),
        (
            {"slurmctld": "https://ctl.example.org", "slurmdbd": "10.20.0.300", "accounting": {"external": {"port": 0}}},
            ["controller.external.host", "accounting.external.host", "accounting.external.port"],
        ),
        ({"slurmctld": 7, "slurmdbd": "dbd.example.org/x"}, ["slurmctld", "accounting.external.host"]),
        ({"slurmctld": "a:6817", "slurmdbd": "b:6819", "restapi": "x"}, ["restapi", "slurmctld", "slurmdbd"]),
        ({"keys": "imported", "cluster": 3, "slurmctld": address("name"), "nodesets": {"cpu": {"replica": 1}}},
         ["cluster", "keys", "controller.external.host", "nodesets.cpu.replica"]),
        ({"kubernetes": Output.from_input("x"), "slurmctld": "-"}, ["kubernetes", "controller.external.host"]),
        ({"slurmctld": "-", "slurm_key": KEY, "jwt_key": 7}, ["slurm_key", "jwt_key", "controller.external.host"]),
        ({"more": "x", "slurmctld": "-"}, ["more", "controller.external.host"]),
        ({"more": {"keys": {}, "partition": {}}, "slurmctld": "-"}, ["more.keys", "controller.external.host", "partition"]),
        ({"opts": pulumi.ResourceOptions(ignore_changes=["x"]), "slurmctld": "-"},
         ["opts.ignore_changes", "controller.external.host"]),
        ({"nodesets": {"cpu": {"replicas": 1, "pod": {"nodeSelector": {"a": {1, 2}}}}}, "slurmctld": "-"},
         ["nodesets.cpu.pod.nodeSelector.a", "controller.external.host"]),
        ({"nodesets": {"cpu": {"replicas": [Output.from_input(1)], "imge": "x"}}},
         ["nodesets.cpu.replicas", "nodesets.cpu.imge"]),
    ],
)  # fmt: skip
def test_every_wrong_argument_is_said_in_the_first_run(given: dict[str, Any], wrong: list[str]) -> None:
    said = refused(lambda: HybridCluster("atlas", **{**SOUND, **given}), {})
    assert paths(said) == wrong


def test_both_hosts_say_what_to_write() -> None:
    arguments: dict[str, Any] = {"slurmctld": "https://ctl.example.org", "slurmdbd": "dbd.example.org:6819"}
    said = refused(lambda: HybridCluster("atlas", **SOUND, **arguments), {})
    assert URL in said
    assert PORT in said


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"replicas": 1, "resources": "16", "imge": "x"}, ["nodesets.cpu.resources", "nodesets.cpu.imge"]),
        ({"replicas": "2", "imge": "x"}, ["nodesets.cpu.replicas", "nodesets.cpu.imge"]),
        ({"max_replicas": Output.from_input(1), "gres": 7},
         ["nodesets.cpu.maxReplicas", "nodesets.cpu.replicas", "nodesets.cpu.gres"]),
    ],
)  # fmt: skip
def test_so_it_is_of_a_nodeset(settings: dict[str, Any], wrong: list[str]) -> None:
    given: Any = settings
    said = refused(lambda: NodeSet("cpu", cluster={"cluster": {"name": "atlas"}}, **given), {})
    assert sorted(paths(said)) == sorted(wrong)

    def beside() -> None:
        NodeSet("cpu", cluster=HybridCluster("atlas", slurmctld="ctl.example.org", **SOUND), **given)

    with configured({}, KEYS), pytest.raises(StackRefused) as ended:
        run(beside)
    assert sorted(paths(str(ended.value))) == sorted(wrong)
