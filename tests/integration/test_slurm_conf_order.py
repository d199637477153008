"""The engine's order around slurmctld's configuration: the gate, then the Controller; at the end, the queue first.

The resources are wired as components/controller.py and hybrid_cluster.py wire them (tests/unit/components/test_slurm_conf.py
pins that wiring); their providers only write down when they are called.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.engine import Project
from tests.integration.told import PROVIDERS, calls


def main(text: str) -> str:
    return f"""
        import pulumi
        from told import Thing
        gate = Thing("gate", {text!r})
        controller = Thing("controller", gate.text, pulumi.ResourceOptions(depends_on=[gate]))
        nodeset = Thing("nodeset", "pods", pulumi.ResourceOptions(depends_on=[controller]))
        Thing("queue", {text!r}, pulumi.ResourceOptions(depends_on=[controller, nodeset]))
    """


@pytest.fixture
def cluster(project: Project) -> Project:
    """All four, with a partition in slurm.conf."""
    project.write(main=main("batch"), told=PROVIDERS)
    project.up()
    calls(project)
    return project


def test_the_controller_gets_its_text_only_after_the_gate_let_it_go(cluster: Project) -> None:
    jobs = Path(cluster.folder) / "jobs"
    jobs.touch()
    cluster.write(main=main("none"), told=PROVIDERS)
    assert "a job is in the way" in cluster.up(ok=False).stdout
    assert calls(cluster) == []
    jobs.unlink()
    cluster.up()
    assert calls(cluster) == ["update gate none", "update controller none", "update queue none"]


def test_a_targeted_update_of_the_controller_leaves_it_as_it_was(cluster: Project) -> None:
    (Path(cluster.folder) / "jobs").touch()
    cluster.write(main=main("none"), told=PROVIDERS)
    cluster.up("--target", cluster.resources()["controller"]["urn"])
    assert calls(cluster) == []


def test_a_destroy_meets_the_queue_before_anything_goes(cluster: Project) -> None:
    jobs = Path(cluster.folder) / "jobs"
    jobs.touch()
    assert "a job is in the way" in cluster.destroy(ok=False).stdout
    assert calls(cluster) == []
    jobs.unlink()
    cluster.destroy()
    assert calls(cluster) == ["delete queue", "delete nodeset", "delete controller", "delete gate"]
