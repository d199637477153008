"""The engine's order around slurmctld: the gate after the Controller writes what jobs rely on; a destroy meets the queue
first and slurmctld's gate last.

The resources are wired as components/controller.py and hybrid_cluster.py wire them (tests/unit/components/test_slurm_conf.py
pins that wiring); their providers only write down when they are called. The gate compares with a file ``live``, as the real
one compares with the live Controller (tests/unit/drain/test_live_conf.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.engine import Project
from tests.integration.told import PROVIDERS, calls

LIVE = (
    PROVIDERS.replace(
        """    class Told(ResourceProvider):
""",
        """    class Told(ResourceProvider):
        def check(self, olds, news):
            if news["what"] != "gate" or not Path("live").exists() or Path("live").read_text() == news["text"]:
                return CheckResult(news, [])
            return CheckResult({**news, "due": "live is " + Path("live").read_text()}, [])

""",
    )
    .replace(
        """            told(f"update {news['what']} {news['text']}")
            return UpdateResult(dict(news))
""",
        """            if Path("trouble").exists() and news["what"] == Path("trouble").read_text():
                raise Exception("the API server is in trouble")
            told(f"update {news['what']} {news['text']}")
            if news["what"] == "gate":
                Path("live").write_text(news["text"])
            return UpdateResult({key: value for key, value in news.items() if key != "due"})
""",
    )
    .replace(
        """DiffResult(changes=olds.get("text") != news.get("text"))""",
        """DiffResult(changes=any(olds.get(key) != news.get(key) for key in ("text", "due")))""",
    )
    .replace("CreateResult, DiffResult", "CheckResult, CreateResult, DiffResult")
)


def main(text: str, image: str = "one") -> str:
    return f"""
        import pulumi
        from told import Thing
        controller = Thing("controller", {image!r})
        gate = Thing("gate", {text!r}, pulumi.ResourceOptions(depends_on=[controller]))
        nodeset = Thing("nodeset", "pods", pulumi.ResourceOptions(depends_on=[controller, gate]))
        Thing("queue", "", pulumi.ResourceOptions(depends_on=[controller, gate, nodeset]))
    """


@pytest.fixture
def cluster(project: Project) -> Project:
    """All four, with a partition in slurm.conf."""
    project.write(main=main("batch"), told=LIVE)
    project.up()
    calls(project)
    (Path(project.folder) / "live").write_text("batch")
    return project


def jobs(cluster: Project) -> Path:
    return Path(cluster.folder) / "jobs"


def test_slurm_conf_is_written_only_by_the_gate_and_only_without_a_job(cluster: Project) -> None:
    jobs(cluster).touch()
    cluster.write(main=main("none"), told=LIVE)
    assert "a job is in the way" in cluster.up(ok=False).stdout
    assert calls(cluster) == []
    jobs(cluster).unlink()
    cluster.up()
    assert calls(cluster) == ["update gate none"]


def test_a_targeted_update_of_the_controller_leaves_slurm_conf_as_it_was(cluster: Project) -> None:
    jobs(cluster).touch()
    cluster.write(main=main("none", "two"), told=LIVE)
    cluster.up("--target", cluster.resources()["controller"]["urn"])
    assert calls(cluster) == ["update controller two"]


def test_the_gate_is_asked_again_whatever_ended_the_update_before(cluster: Project) -> None:
    """Jobs that came after an update that failed before the gate, or in it, are asked about by the next one."""
    trouble = Path(cluster.folder) / "trouble"
    cluster.write(main=main("none", "two"), told=LIVE)
    for where in ("controller", "gate"):
        trouble.write_text(where)
        cluster.up(ok=False)
        trouble.unlink()
    calls(cluster)
    jobs(cluster).touch()
    assert "a job is in the way" in cluster.up(ok=False).stdout
    assert calls(cluster) == []


def test_a_line_that_somebody_gave_the_controller_calls_the_gate_though_the_program_is_the_same(cluster: Project) -> None:
    (Path(cluster.folder) / "live").write_text("batch and night")
    jobs(cluster).touch()
    assert "a job is in the way" in cluster.up(ok=False).stdout
    jobs(cluster).unlink()
    cluster.up()
    assert calls(cluster) == ["update gate batch"]
    cluster.up()
    assert calls(cluster) == []


def test_a_destroy_meets_the_queue_before_anything_goes_and_slurmctlds_gate_right_before_slurmctld(cluster: Project) -> None:
    jobs(cluster).touch()
    assert "a job is in the way" in cluster.destroy(ok=False).stdout
    assert calls(cluster) == []
    jobs(cluster).unlink()
    cluster.destroy()
    assert calls(cluster) == ["delete queue", "delete nodeset", "delete gate", "delete controller"]
