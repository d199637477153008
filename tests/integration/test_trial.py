"""`controller.trial` on the real engine: the daemon's sentence ends preview and update, and nothing has been changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.specs.trial import record
from tests.integration.engine import REPO, Engine, Project, create_project
from tests.integration.test_bad_input import configure
from tests.stacks import minimal
from tests.trial_server import PODS, RECORD, SENTENCE, TAKEN, TrialServer

SETTINGS = minimal(operator={"install": False}, controller={"trial": {"enabled": True}}, nodesets={"gpu": {"replicas": 1}})


@pytest.fixture
def stack(engine: Engine, tmp_path: Path) -> Project:
    """A stack of our program with slurmctld in Kubernetes, which asks for trials."""
    project = create_project(engine, tmp_path / "project", "slinky-iac")
    for name in ("__main__.py", "components", "slinky_iac"):
        (project.folder / name).symlink_to(REPO / name)
    configure(project, SETTINGS)
    return project


def ran(stack: Project, server: TrialServer, folder: Path, *command: str) -> tuple[int, str]:
    done = stack.run(*command, ok=False, env={"KUBECONFIG": server.kubeconfig(folder)})
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    assert "never retrieved" not in said
    assert server.there == [], "every pod is gone"
    return done.returncode, said


UP = ("up", "--yes", "--skip-preview")


@pytest.mark.parametrize("command", [("preview",), UP], ids=["preview", "up"])
def test_slurmctlds_own_sentence_ends_it_and_nothing_is_changed(
    stack: Project, tmp_path: Path, command: tuple[str, ...]
) -> None:
    with TrialServer() as server:
        code, said = ran(stack, server, tmp_path, *command)
        assert code != 0
        assert SENTENCE in said
        assert "controller.trial: cgroup.conf, slurm.conf, image of slurmctld" in said
        assert "Nothing was changed" in said
        assert {path.rpartition("/")[0] for _, path in server.written} <= {PODS, PODS.rpartition("/")[0]}
    assert server.made == 1
    assert {each["type"] for each in stack.state().get("resources", [])} <= {
        "pulumi:pulumi:Stack",
        "pulumi:providers:pulumi",
        "slinky:slurm:HybridCluster",
    }


def test_an_update_that_may_make_no_pod_ends_and_a_preview_says_so_and_goes_on(stack: Project, tmp_path: Path) -> None:
    with TrialServer(forbids=True) as server:
        code, said = ran(stack, server, tmp_path, "preview")
        assert code == 0, said
        assert "pods is forbidden" in said
        assert "`pulumi up` makes the trial before its first change" in said
        code, said = ran(stack, server, tmp_path, *UP)
        assert code != 0
        assert "Nothing was changed" in said
    assert all(each["type"] != "pulumi-python:dynamic/slurm:ClusterIdentity" for each in stack.state().get("resources", []))


def test_what_is_taken_is_told_and_a_preview_of_what_was_tried_makes_no_pod(stack: Project, tmp_path: Path) -> None:
    with TrialServer(said=TAKEN) as server:
        code, said = ran(stack, server, tmp_path, "preview")
        assert code == 0, said
        assert "files of slurmctld: slurm 26.05.5 takes them" in said
        assert server.made == 1
        server.objects[RECORD] = {"metadata": {"name": "slurm-trial"}, "data": record(load(SETTINGS))}
        code, said = ran(stack, server, tmp_path, "preview")
        assert code == 0, said
        assert "new to the daemons" not in said
    assert server.made == 1
