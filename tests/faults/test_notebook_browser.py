"""The page "A notebook" as a person reads it: login, cells and outputs in a real browser; slurm.key is replaced meanwhile.

The hub, with notebooks as pods, is deployed by `pulumi up`; JupyterLab alone is the pod that `slinky client` prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from lab import images, paths
from lab.demo import apply_lines_of
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.slurm import jupyter
from lab.stacks import imported_keys
from tests.e2e.rotating import Rotated, has_taken_part_before, joins, lab_has, settings
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World
from tests.faults.devtools import SHIFT, Browser
from tests.faults.jupyter_hub import NODE, Hub
from tests.faults.munge_site import NAMESPACE
from tests.faults.test_jupyter_slurm import UIDS, clients
from tests.stacks import ROOT

PAGE = ROOT / "docs" / "notebook.md"
LAB = "env HOME=/tmp jupyter lab --ip=0.0.0.0 --notebook-dir=/tmp"
CELL = ".jp-Notebook .jp-Cell .cm-content"
CURRENT = "document.querySelector('.jp-Notebook .jp-Cell.jp-mod-active .cm-content')"
STATUS = "document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle' ? 'Idle' : ''"


@pytest.fixture(scope="module")
def rotated(world: World, slurm: Slurm) -> Iterator[tuple[Rotated, Hub]]:
    """A stack whose slurm.key can be rotated, with a hub."""
    images.import_into(KUBERNETES.home.socket(NODE), jupyter.image())
    slurm.cancel_all()
    world.vacate()
    hub = Hub(world)
    stack = world.stack("notebooks", settings(2) | {"slinky-iac:clients": clients(hub.password)})
    stack.up()
    apply_lines_of(stack)
    slurm.await_registered("gpu-0", "gpu-1", "metal-1", "metal-2")
    has_taken_part_before(world)
    found = Rotated(world, slurm, stack)
    yield found, hub
    for name in hub.notebooks().values():
        world.kubectl("delete", "pod", name, "-n", NAMESPACE)
    slurm.cancel_all()
    has = found.now()
    world.vacate()
    lab_has(has["slurmKey"], has["jwtKey"])


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with Browser(tmp_path) as browser:
        yield browser


def notebook(browser: Browser) -> None:
    """A new notebook, from JupyterLab's first page."""
    browser.click('.jp-LauncherCard[data-category="Notebook"]')
    browser.click(CELL)
    await_true("its kernel is idle", lambda: "Idle" in str(browser.value(STATUS)), 90)


def run(browser: Browser, line: str, number: int) -> str:
    """Type a line into the current cell, press Shift and Enter, and return what stands below it when it has ended."""
    await_true(f"{line} is in the cell", lambda: _typed(browser, line), 60)
    await_true(f"{line} has begun", lambda: _begun(browser, number), 60, every=2)
    done = f"document.querySelectorAll('.jp-InputPrompt')[{number - 1}]?.innerText.includes('[{number}]')"
    await_true(f"{line} has ended", lambda: browser.value(done), 120)
    shown = browser.text(".jp-CodeCell .jp-OutputArea-output")
    return shown[-1] if shown else ""


def _typed(browser: Browser, line: str) -> bool:
    """Whether the line is in the cell. On a busy machine JupyterLab may take the focus away once more after a click."""
    text = browser.value(f"{CURRENT}?.innerText")
    if text is not None and not text.strip():
        if browser.value(f"{CURRENT}.contains(document.activeElement)"):
            browser.write(line)
        else:
            browser.click(CELL)
    return text is not None and text.strip() == line


def _begun(browser: Browser, number: int) -> bool:
    """Whether the cell runs or has run; Shift and Enter are pressed where it doesn't."""
    prompt = str(browser.value(f"document.querySelectorAll('.jp-InputPrompt')[{number - 1}]?.innerText"))
    if prompt.strip() in {"[ ]:", "[]:", ""}:
        browser.enter(SHIFT)
    return "*" in prompt or f"[{number}]" in prompt


def commands() -> list[str]:
    """The lines of the page's example."""
    return [line.partition(" #")[0].strip() for line in re.findall(r"^![a-z].*$", PAGE.read_text(), re.MULTILINE)]


def test_the_pages_commands_in_a_browser_and_a_new_slurm_key_with_the_notebook_open(
    rotated: tuple[Rotated, Hub], browser: Browser, slurm: Slurm
) -> None:
    stack, hub = rotated
    browser.open(f"http://{hub.address()}/")
    browser.click("#username_input")
    browser.write("alice")
    browser.click("#password_input")
    browser.write(hub.password)
    browser.enter()
    notebook(browser)
    sinfo, sbatch, squeue, sacct = commands()
    assert "gpu" in run(browser, sinfo, 1)
    job = int(run(browser, sbatch.replace("sbatch", "sbatch -w gpu-0", 1), 2))
    slurm.await_completed(job)
    assert "JOBID" in run(browser, squeue, 3)
    assert re.search(rf"{job}\s+COMPLETED\s+gpu-0\s+0:0", run(browser, sacct, 4))
    assert run(browser, f"!srun --chdir=/tmp -w gpu-0 cat /tmp/{job}.out", 5).split() == ["gpu-0", str(UIDS["alice"])]
    picture = paths.STATE / "notebook.png"
    browser.picture(picture, height=610)
    print(f"picture: {picture}")
    old = imported_keys()["slurmKey"]
    done = stack.rotate("slurm", "--start")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not joins(old)
    again = int(run(browser, sbatch, 6))
    (row,) = slurm.await_completed(again)
    assert row.state == "COMPLETED"


def test_jupyterlab_alone_as_the_pod_that_the_command_prints(
    rotated: tuple[Rotated, Hub], browser: Browser, slurm: Slurm
) -> None:
    stack, _ = rotated
    words = ["client", "nb", "--person", "bob", "--image", jupyter.NAME, "--run", LAB]
    assert f'--run "{LAB}"' in (ROOT / "docs" / "clients.md").read_text()
    printed = stack.program(*words)
    assert printed.returncode == 0, printed.stderr
    spec = yaml.safe_load(printed.stdout)
    name = spec["metadata"]["name"]
    spec["spec"]["nodeSelector"] = {"kubernetes.io/hostname": NODE.name}
    stack.world.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(spec))
    asked = ("logs", name, "-n", NAMESPACE, "-c", "client")

    def token() -> str:
        found = re.search(r"/lab\?token=(\w+)", stack.world.kubectl(*asked, check=False).stdout)
        return found[1] if found else ""

    await_true("its log has the address", token, 180)
    at = stack.world.kubectl("get", "pod", name, "-n", NAMESPACE, "-o", "jsonpath={.status.podIP}").stdout
    browser.open(f"http://{at}:8888/lab?token={token()}")
    notebook(browser)
    job = int(run(browser, commands()[1], 1))
    slurm.await_completed(job)
    rows = slurm.admin("sacct", "-X", "-n", "-P", "-j", str(job), "-o", "UID,State").split()
    assert rows == [f"{UIDS['bob']}|COMPLETED"]
    stack.world.kubectl("delete", "pod", name, "-n", NAMESPACE)
