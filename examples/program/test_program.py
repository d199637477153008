"""The program without an engine, a cloud and a cluster: `pytest`, in its virtual environment with pytest installed.

What the settings' own rules refuse fails the test too, with the sentence that a preview has.
"""

from __future__ import annotations

import base64
import os
import runpy
from pathlib import Path
from typing import Any, NoReturn

import pulumi
from pulumi.runtime import MockCallArgs, MockResourceArgs, Mocks, set_all_config, set_mocks

PROGRAM = Path(__file__).parent / "__main__.py"


class Cloud(Mocks):
    """Gives back what each resource is made of, and an address to a VM."""

    def __init__(self) -> None:
        self.made: dict[str, MockResourceArgs] = {}

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        self.made[args.name] = args
        given = {"accessIpV4": "192.0.2.10"} if args.typ.startswith("openstack:") else {}
        return f"{args.name}-id", {**args.inputs, **given}

    def call(self, args: MockCallArgs) -> NoReturn:
        raise AssertionError(f"the program calls {args.token}: give its answer here")


def key() -> str:
    return base64.b64encode(os.urandom(32)).decode()


def made(**settings: str) -> dict[str, MockResourceArgs]:
    """What the program makes with these settings, by Pulumi's names."""
    secrets = {"slinky-iac:slurmKey": key(), "slinky-iac:jwtKey": key(), "platform:databasePassword": "not-a-real-one"}
    set_all_config({**secrets, **{f"platform:{name}": value for name, value in settings.items()}}, list(secrets))
    cloud = Cloud()
    set_mocks(cloud, project="platform", preview=True)
    pulumi.runtime.test(lambda: runpy.run_path(str(PROGRAM)) and None)()  # type: ignore[no-untyped-call]
    return cloud.made


def test_slurmctld_of_the_cluster_is_the_vm() -> None:
    (controller,) = (
        each for each in made(gpuReplicas="2").values() if each.typ.endswith("slinky.slurm.net/v1beta1:Controller")
    )
    assert controller.inputs["spec"]["externalConfig"]["host"] == "192.0.2.10"


def test_each_nodeset_has_its_number_of_nodes_and_a_gate_that_keeps_jobs() -> None:
    resources = made(gpuReplicas="3")
    gates = {each.inputs["nodeset"]: each.inputs for each in resources.values() if each.typ.endswith(":NodeSetScale")}
    assert {name: gate["replicas"] for name, gate in gates.items()} == {"cpu": 4, "gpu": 3}
    assert (gates["gpu"]["policy"]["deadline_s"], gates["gpu"]["policy"]["on_deadline"]) == (7200, "keep")
