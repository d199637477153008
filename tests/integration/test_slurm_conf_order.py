"""The engine's order around slurmctld's configuration: the gate, then the Controller; at the end, the queue first.

The resources are wired as components/controller.py and hybrid_cluster.py wire them (tests/unit/components/test_slurm_conf.py
pins that wiring); their providers only write down when they are called.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.engine import Project

PROVIDERS = """
    from pathlib import Path
    import pulumi
    from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

    def told(word):
        with open("calls", "a") as file:
            file.write(word + "\\n")

    class Told(ResourceProvider):
        def diff(self, id, olds, news):
            return DiffResult(changes=olds.get("text") != news.get("text"))

        def create(self, props):
            told(f"create {props['what']} {props['text']}")
            return CreateResult(props["what"], dict(props))

        def update(self, id, olds, news):
            if news["what"] == "gate" and Path("jobs").exists():
                raise Exception("a job names what leaves")
            told(f"update {news['what']} {news['text']}")
            return UpdateResult(dict(news))

        def delete(self, id, props):
            if props["what"] == "queue" and Path("jobs").exists():
                raise Exception("a job waits")
            told(f"delete {props['what']}")

    class Thing(Resource, module="slurm", name="Thing"):
        text: pulumi.Output[str]

        def __init__(self, what, text, opts=None):
            super().__init__(Told(), what, {"what": what, "text": text}, opts)
"""


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


def calls(project: Project) -> list[str]:
    """What was called since the last question."""
    path = Path(project.folder) / "calls"
    found = path.read_text().splitlines()
    path.write_text("")
    return found


def test_the_controller_gets_its_text_only_after_the_gate_let_it_go(cluster: Project) -> None:
    jobs = Path(cluster.folder) / "jobs"
    jobs.touch()
    cluster.write(main=main("none"), told=PROVIDERS)
    assert "a job names what leaves" in cluster.up(ok=False).stdout
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
    assert "a job waits" in cluster.destroy(ok=False).stdout
    assert calls(cluster) == []
    jobs.unlink()
    cluster.destroy()
    assert calls(cluster) == ["delete queue", "delete nodeset", "delete controller", "delete gate"]
