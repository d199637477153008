"""What the gates take from the dynamic provider's process: more than four at once, a heard cancel, a line of progress,
errors without a traceback before them.

Each leans on something that the SDK leaves reachable but doesn't promise, so each is pinned on the real engine.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slinky_iac.engine.plugin_process import OWN_PROVIDERS
from tests.integration.engine import REPO, Project, processes_of
from tests.unit.engine import played_engine

WAITER = f"""
    import sys
    import time
    from pathlib import Path
    sys.path.insert(0, {str(REPO)!r})
    import pulumi
    from pulumi.dynamic import CreateResult, Resource, ResourceProvider
    from slinky_iac.engine import plugin_process
    from slinky_iac.engine.plugin_process import engine_report
    from slinky_iac.engine.program_process import end_silently
    from slinky_iac.errors import DrainBlocked

    end_silently()
    ERRORS = {{"ours": DrainBlocked, "a fault of the program": KeyError}}
    HERE = Path(__file__).resolve().parent

    class WaiterProvider(ResourceProvider):
        def create(self, props):
            plugin_process.prepare()
            if "raised" in props:
                raise ERRORS[props["raised"]]("node gpu-1 is busy")
            name, until = props["name"], time.monotonic() + props["seconds"]
            engine_report(props["urn"])(f"waiting in {{name}}", keep=True)
            (HERE / f"begun-{{name}}").touch()
            while time.monotonic() < until:
                if plugin_process.pause(0.1):
                    raise Exception(f"interrupted in {{name}}")
                if not plugin_process.engine_lives():
                    (HERE / f"orphaned-{{name}}").touch()
                    raise Exception("the engine is gone")
                if len(list(HERE.glob("begun-*"))) >= props["enough"]:
                    return CreateResult(name, {{"name": name}})
            raise Exception(f"{{name}} has waited for its whole time")

        def delete(self, id, props):
            pass

    class Waiter(Resource, module="test", name="Waiter"):
        def __init__(self, name, seconds, enough, **more):
            urn = f"urn:pulumi:{{pulumi.get_stack()}}::{{pulumi.get_project()}}::pulumi-python:dynamic/test:Waiter::{{name}}"
            props = {{"name": name, "seconds": seconds, "enough": enough, "urn": urn, **more}}
            super().__init__(WaiterProvider(), name, props)
"""


def main(count: int, seconds: float, enough: int) -> str:
    return f"""
        from waiter import Waiter
        for number in range({count}):
            Waiter(f"w{{number}}", {seconds}, {enough})
    """


@pytest.fixture(autouse=True)
def _named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OWN_PROVIDERS, "waiter.WaiterProvider,half.HalfProvider")


@pytest.fixture
def waiting(project: Project) -> Project:
    project.write(waiter=WAITER)
    return project


def test_ten_gates_wait_at_the_same_time_and_none_starves(waiting: Project) -> None:
    """Each ends as soon as all ten have begun; in a pool of four, the first four wait for their whole time and fail."""
    waiting.write(main=main(10, 240, enough=10))
    waiting.up("--parallel", "32")
    assert len(list(waiting.folder.glob("begun-*"))) == 10


def test_a_line_of_progress_stands_on_the_resources_own_line(waiting: Project) -> None:
    waiting.write(main=main(1, 60, enough=1))
    shown = waiting.up().stdout
    assert any("Waiter" in line and "w0" in line and "waiting in w0" in line for line in shown.splitlines()), shown


def test_one_ctrl_c_ends_a_wait_at_once(waiting: Project) -> None:
    waiting.write(main=main(1, 120, enough=99))
    running = waiting.engine.spawn("up", "--yes", "--skip-preview", cwd=waiting.folder)
    _await_begun(waiting)
    began = time.monotonic()
    running.interrupt()
    assert running.wait(60) != 0
    assert time.monotonic() - began < 30
    assert "interrupted in w0" in running.output


def test_a_gate_whose_engine_was_killed_stops_acting(waiting: Project) -> None:
    waiting.write(main=main(1, 120, enough=99))
    running = waiting.engine.spawn("up", "--yes", "--skip-preview", cwd=waiting.folder)
    _await_begun(waiting)
    running.process.send_signal(signal.SIGKILL)
    running.process.wait()
    _await_file(waiting, "orphaned-w0")


def test_while_a_gate_waits_another_user_of_the_machine_is_not_served(waiting: Project) -> None:
    """Such a user sees every port that listens in /proc/net/tcp. Before this was refused, the pickle ran as whoever ran
    `pulumi up`, with the passphrase in its environment."""
    waiting.write(main=main(1, 120, enough=99))
    running = waiting.engine.spawn("up", "--yes", "--skip-preview", cwd=waiting.folder)
    try:
        _await_begun(waiting)
        waiting.folder.chmod(0o777)
        for what in ("code", "Cancel", "Configure"):
            argv = [sys.executable, played_engine.__file__, "3401", str(_port(waiting)), str(waiting.folder), what, "0"]
            said = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout
            assert "doesn't come from the pulumi process" in said
        assert not (waiting.folder / "code-was-run").exists()
        running.interrupt()
    finally:
        code = running.wait(60)
    assert code != 0
    assert "interrupted in w0" in running.output, "the engine alone has ended the wait"


def _port(project: Project) -> int:
    """Where the plugin listens."""
    of_plugin = ("pulumi.dynamic", "standins.dynamic_provider")
    running = processes_of(project.engine).items()
    (pid,) = [pid for pid, command in running if any(part in command for part in of_plugin) and "/bin/sh" not in command]
    held = {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    tables = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    rows = [row for row in map(str.split, tables.splitlines()) if row[3] == "0A" and f"socket:[{row[9]}]" in held]
    (port,) = [int(row[1].rpartition(":")[2], 16) for row in rows]
    return port


@pytest.mark.parametrize("raised", ["ours", "a fault of the program"])
def test_an_error_of_ours_stands_alone_and_a_fault_of_the_program_keeps_its_traceback(waiting: Project, raised: str) -> None:
    waiting.write(main=f"from waiter import Waiter\nWaiter('w0', 1, 1, raised={raised!r})")
    failed = waiting.up(ok=False)
    assert failed.returncode != 0
    assert "node gpu-1 is busy" in failed.stdout
    assert ("Traceback" in failed.stdout + failed.stderr) is (raised != "ours"), failed.stdout


HALF = f"""
    import sys
    from pathlib import Path
    sys.path.insert(0, {str(REPO)!r})
    from pulumi.dynamic import CreateResult, Resource, ResourceProvider, UpdateResult
    from slinky_iac.engine import plugin_process
    from slinky_iac.engine.program_process import end_silently
    from slinky_iac.errors import DrainDeadline

    end_silently()
    HERE = Path(__file__).resolve().parent

    class HalfProvider(ResourceProvider):
        def create(self, props):
            plugin_process.prepare()
            try:
                raise DrainDeadline("node gpu-1 did not come")
            except Exception:
                plugin_process.keep_made("half", {{"name": props["name"]}}, props)
                raise

        def update(self, id, olds, news):
            (HERE / f"updated-{{id}}-{{olds['name']}}").touch()
            return UpdateResult({{"name": news["name"]}})

        def delete(self, id, props):
            (HERE / f"deleted-{{id}}-{{props['name']}}").touch()

    class Half(Resource, module="test", name="Half"):
        def __init__(self, name):
            super().__init__(HalfProvider(), name, {{"name": name}})
"""


@pytest.mark.parametrize("then", ["destroy", "up"])
def test_a_resource_whose_creation_fails_is_kept_and_so_is_deleted_or_finished_by_its_provider(
    project: Project, then: str
) -> None:
    """A NodeSet whose nodes don't all come has nodes that did, and they take jobs: its gate must drain them."""
    project.write(half=HALF, main="from half import Half\nHalf('h')")
    failed = project.up(ok=False)
    assert failed.returncode != 0
    assert "node gpu-1 did not come" in failed.stdout
    assert "Traceback" not in failed.stdout + failed.stderr
    if then == "up":
        project.up()
        assert (project.folder / "updated-half-h").exists()
        project.preview("--expect-no-changes")
    project.destroy()
    assert (project.folder / "deleted-half-h").exists()


def _await_begun(project: Project) -> None:
    _await_file(project, "begun-w0")


def _await_file(project: Project, name: str) -> None:
    end = time.monotonic() + 60
    while not (project.folder / name).exists():
        assert time.monotonic() < end, f"{name} did not come within 60 s"
        time.sleep(0.1)
