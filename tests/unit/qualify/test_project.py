"""The project of a ladder: the site's own stays as it is, a failed update is quoted, an interrupted one ends in order."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from slinky_iac.cluster.reach import Reach
from slinky_iac.commands.qualify.folder import Folder, Mark
from slinky_iac.commands.qualify.ladder import Ladder
from slinky_iac.commands.qualify.project import FOLDER, Project
from slinky_iac.errors import ProjectError, QualifyRefused, StateError
from slinky_iac.kube import tally
from tests.unit.qualify.site import taking
from tests.unit.qualify.test_qualify import Cluster
from tests.unit.slurmrest.fake import FakeSlurm

PULUMI = """#!/bin/sh
echo "$@" >> "$SEEN"
env | grep -E '^(PULUMI_|SLINKY_|KUBECONFIG)' | sort >> "$SEEN"
case $1 in
  up) echo "  error: no room"; exit 3;;
  destroy) trap 'echo ended in order; exit 130' INT; echo begun
    i=0; while [ $i -lt 600 ]; do sleep 0.05; i=$((i + 1)); done;;
esac
"""
PROGRAM = """name: prod
runtime: {name: python, options: {virtualenv: ../venv, toolchain: pip}}
backend: {url: "s3://the-sites-own"}
stackConfigDir: charts
config: {slinky-iac:logins: {main: {}}, cluster: {name: prod}, "aws:region": eu}
"""
REACH = Reach("slinky-qualify", "qualify-restapi", "jwt", "jwt.key")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site's project, and a `pulumi` that writes down how it was called."""
    tools, folder = tmp_path / "bin", tmp_path / "site"
    tools.mkdir()
    (folder / "charts").mkdir(parents=True)
    for name in ("Pulumi.prod.yaml", "__main__.py"):
        (folder / name).write_text(name)
    (folder / "Pulumi.yaml").write_text(PROGRAM)
    (tools / "pulumi").write_text(PULUMI)
    (tools / "pulumi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "the-sites-own")
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://the-sites-own")
    return folder


def seen(site: Path) -> str:
    return (site.parent / "seen").read_text()


def test_the_sites_stacks_state_and_passphrase_stay_out(site: Path) -> None:
    project = Project(site)
    project.make(Mark("one"))
    here = site / FOLDER / "project"
    assert sorted(path.name for path in here.iterdir()) == ["Pulumi.yaml", "__main__.py", "charts"]
    assert json.loads((here / "Pulumi.yaml").read_text()) == {
        "name": "prod",
        "runtime": {"name": "python", "options": {"virtualenv": f"{site}/../venv", "toolchain": "pip"}},
        "config": {"aws:region": "eu"},
    }, "stacks' files and the state would else be written in the site's places, and its sections come to the rung's"
    assert (site / FOLDER / ".gitignore").read_text() == "*\n"
    assert (site / FOLDER).stat().st_mode & 0o777 == 0o700
    assert "stack init qualify" in seen(site)
    assert f"PULUMI_BACKEND_URL=file://{site}/{FOLDER}/state" in seen(site)
    assert "the-sites-own" not in seen(site)
    secret = site / FOLDER / "passphrase"
    assert secret.stat().st_mode & 0o777 == 0o600
    assert secret.read_text() not in seen(site)
    assert project.exists
    project.remove()
    assert sorted(path.name for path in site.iterdir()) == ["Pulumi.prod.yaml", "Pulumi.yaml", "__main__.py", "charts"]


def test_a_folder_of_any_name_holds_the_state(site: Path) -> None:
    """The state's place is a URL."""
    odd = site.rename(site.parent / "a #1%41?b")
    Project(odd).make(Mark("one"))
    assert f"PULUMI_BACKEND_URL=file://{site.parent}/a%20%231%2541%3Fb/{FOLDER}/state" in seen(odd)


def test_a_kubeconfig_is_found_from_the_ladders_folder_too(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "../kube/a:/etc/b:")
    monkeypatch.chdir(site)
    Project(site).make(Mark("one"))
    assert f"KUBECONFIG={site}/../kube/a:/etc/b:\n" in seen(site)


def test_a_second_ladder_in_a_folder_leaves_the_firsts(site: Path) -> None:
    first, second = Project(site), Project(site)
    first.make(Mark("one"))
    with pytest.raises(ProjectError, match=r"another ladder has just begun in it\. Nothing was made"):
        second.make(Mark("two"))
    second.remove()
    assert first.file.parent.is_dir()
    first.remove()
    assert not first.exists


def test_a_folder_that_cant_be_written_begins_nothing() -> None:
    folder = Folder(Path("/proc/slinky-qualify"))  # where root may make nothing either
    with pytest.raises(ProjectError, match=r"can't be written \(.*\); no ladder began\. Run it in a copy"):
        folder.make(Mark("one"))
    assert folder.lock == ()


def test_a_removal_that_was_cut_off_asks_for_no_stack_again(site: Path) -> None:
    """Without its passphrase each `--clean` would fail, and say to run `--clean`."""
    project = Project(site)
    project.make(Mark("one"))
    project.write({})
    (project.folder / "foreign").touch()
    with pytest.raises(ProjectError, match="no ladder made"):
        project.remove()
    assert not project.file.exists()


def test_a_failed_update_stops_the_ladder_with_pulumis_words(site: Path) -> None:
    project = Project(site)
    project.make(Mark("one"))
    ladder = Ladder(project, Cluster().fleet(), REACH, lambda line: None)
    with pytest.raises(QualifyRefused, match=r"(?s)rung of 4.*destroy failed.*no room"):
        ladder.finish(project.up(), "destroy", 4)


@pytest.fixture
def heard() -> Iterator[None]:
    """Ctrl-C isn't a signal that is ignored, as it is in a job that a shell began in the background."""
    with taking(signal.SIGINT, signal.default_int_handler):
        yield


@pytest.mark.usefixtures("heard")
def test_an_update_that_is_stopped_ends_in_order(site: Path) -> None:
    project = Project(site)
    project.make(Mark("one"))
    run = project.destroy()
    ends = time.monotonic() + 20
    while "begun" not in project.said() and time.monotonic() < ends:
        os.sched_yield()
    project.stop()
    assert run.returncode == 130
    assert project.said().splitlines() == ["begun", "ended in order"]
    project.stop()  # one that has ended is left alone


def test_without_pulumi_it_says_so(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(site))
    with pytest.raises(StateError, match="Install Pulumi and put it on PATH"):
        Project(site).make(Mark("one"))


def test_requests_to_slurmrestd_are_counted_each_try(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project(site)
    project.make(Mark("one"))
    monkeypatch.setenv(tally.FILE, str(site / FOLDER / "requests.log"))
    slurm = FakeSlurm()
    with slurm.client() as client:
        client.nodes(allow_none=True)
    counted = project.tally()
    assert counted.of(tally.SLURMRESTD) == len(slurm.asked)
    assert counted.of(tally.KUBERNETES) == 0
    assert project.tally().requests.total() == 0, "a tally is of what came since the last one"


@pytest.mark.usefixtures("heard")
def test_ctrl_c_at_any_line_of_a_beginning_leaves_no_update_running(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line until the ladder waits for the update is tried once, also between the process and its name here. An update
    that goes on would run while its rung is removed."""
    project = Project(site)
    project.make(Mark("one"))
    ladder = Ladder(project, Cluster().fleet(), REACH, lambda line: None)
    begun: list[subprocess.Popen[bytes]] = []
    begin = subprocess.Popen

    def recorded(*arguments: Any, **more: Any) -> subprocess.Popen[bytes]:
        begun.append(begin(*arguments, **more))
        return begun[-1]

    monkeypatch.setattr(subprocess, "Popen", recorded)
    line, waits = 0, False
    while not waits:
        line += 1
        passed = 0

        def look(frame: FrameType, event: str, _: object, at: int = line) -> Any:
            nonlocal passed, waits
            here = Path(frame.f_code.co_filename).parent.name == "qualify"
            waits = waits or frame.f_code is begin.wait.__code__
            passed += here and event == "line"
            if waits or passed == at:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
            return look

        before = sys.gettrace()
        sys.settrace(look)
        try:
            with pytest.raises(KeyboardInterrupt):
                ladder.take_down(4)
        finally:
            sys.settrace(before)
        ladder.interrupt()
        assert all(each.returncode is not None for each in begun), f"line {line}"
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, f"line {line}"
    assert line > len(begun) > 1, "some lines are before an update, and some after"
