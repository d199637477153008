"""The program as `pulumi up` runs it: from the stack's file to its outputs, and what it says on the way."""

from __future__ import annotations

import logging
import runpy
from typing import Any

import pytest
from pulumi.runtime.settings import get_root_resource
from pulumi.runtime.stack import Stack

from components import HybridCluster, HybridClusterArgs
from components.threads import in_thread
from slinky_iac.config.findings import at
from slinky_iac.config.reading.engine import StackRefused, read_stack
from tests.clusters import SECRETS, stack_sections
from tests.program import Recording, configured, run
from tests.stacks import ROOT, merged

KEYS = {name: SECRETS[name] for name in ("slurmKey", "jwtKey")}


def program(data: dict[str, Any], secrets: dict[str, str]) -> Recording:
    with configured(data, secrets):
        return run(lambda: runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__"))


def test_the_program_registers_the_cluster_and_exports_what_it_tells() -> None:
    inside = stack_sections("all-in-kubernetes")
    recording = program(inside, {"databasePassword": SECRETS["databasePassword"]})
    cluster = recording.one("slinky:slurm:HybridCluster")
    assert cluster.name == "atlas"
    root = get_root_resource()
    assert isinstance(root, Stack)
    assert {"slurmrestdUrl", "slurmdJoin", "sackdJoin", "nodesets", "findings"} <= set(root.outputs)


def test_the_program_exports_the_topology_that_an_external_slurmctld_must_have() -> None:
    data = merged(stack_sections("all-outside"), {"nodes": {"topologies": {"flat": {"flat": True}}}})
    program(data, KEYS)
    root = get_root_resource()
    assert isinstance(root, Stack)
    assert "topology: flat" in root.outputs["outsideTopology"]


def test_a_broken_configuration_registers_nothing() -> None:
    data = merged(stack_sections("dev"), {"nodesets": {"gpu": {"replicas": "many"}}})
    recordings: list[Recording] = []
    with configured(data, KEYS), pytest.raises(StackRefused, match=r"nodesets\.gpu\.replicas: must be a whole number"):
        recordings.append(run(lambda: runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__")))
    assert recordings == []


def test_findings_are_said_in_every_run(caplog: pytest.LogCaptureFixture) -> None:
    notice = at("controller.external").warning("tried slurmctld at 192.0.2.1 port 6817", id="daemon-unreachable")
    with configured(stack_sections("all-outside"), KEYS), caplog.at_level(logging.INFO):
        recording = run(
            lambda: HybridCluster(
                "atlas", HybridClusterArgs(settings=read_stack(), notices=lambda _: in_thread(lambda: (notice,), ()))
            )
        )
    said = [(r.levelname, r.getMessage()) for r in caplog.records]
    assert ("WARNING", str(notice)) in said
    assert any(level == "WARNING" and "external.slurmdHosts" in text for level, text in said)
    assert any(level == "INFO" and "outside-slurm-conf" in text for level, text in said)
    exported = recording.outputs[recording.one("slinky:slurm:HybridCluster").urn]["findings"]
    assert not any("192.0.2.1" in text for text in exported), "it would differ from one desk to the next"


def test_an_acknowledged_finding_warns_no_more_and_its_id_is_named(caplog: pytest.LogCaptureFixture) -> None:
    notice = at("controller.external").warning("tried slurmctld at 192.0.2.1 port 6817", id="daemon-unreachable")
    reasons = {"mixed-cgroups": "checked on all hosts, HPC-1", "daemon-unreachable": "pods have a way to it, HPC-2"}
    data = merged(stack_sections("all-outside"), {"acknowledged": reasons})
    with configured(data, KEYS), caplog.at_level(logging.INFO):
        recording = run(
            lambda: HybridCluster(
                "atlas", HybridClusterArgs(settings=read_stack(), notices=lambda _: in_thread(lambda: (notice,), ()))
            )
        )
    said = [(r.levelname, r.getMessage()) for r in caplog.records]
    assert not any(each in text for each in ("192.0.2.1", "one cgroup.conf") for _, text in said)
    named = [text for level, text in said if level == "INFO" and text.startswith("acknowledged in the stack's file: ")]
    assert sorted(each.split(": ")[1].split(" (")[0] for each in named) == ["daemon-unreachable", "mixed-cgroups"]
    exported = recording.outputs[recording.one("slinky:slurm:HybridCluster").urn]["findings"]
    assert any(text.startswith("acknowledged: external.slurmdHosts: ") for text in exported)
