"""`status --watch` in a terminal while an update drains real nodes: the screen follows, and no older one shows through."""

from __future__ import annotations

import re
import sys
import time
from itertools import pairwise
from pathlib import Path

from tests.browser.chromium import browse
from tests.browser.terminal import Terminal, page
from tests.e2e.gated import NODES, NODESET, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.stacks import ROOT

STANDS_ON = "gated"
WIDTH, HEIGHT = 132, 50


def drained(text: str) -> set[str]:
    """Nodes that the screen shows as drained by this stack, with a job still on each."""
    return set(re.findall(r"^\s*(\S+)\s+draining\s+this stack\s+1\s", text, re.MULTILINE))


def test_the_screen_follows_a_drain_from_its_first_node_to_its_end(gated: Gated, slurm: Slurm, tmp_path: Path) -> None:
    drain = {"deadline": "10m"}
    gated.reset(drain)
    # The later the ordinal the sooner the end, so that the gate's choice doesn't hang on the second in which each began.
    jobs = [slurm.submit("-p", "gpu", "-w", node, "-t", str(60 - 10 * at)) for at, node in enumerate(NODES)]
    slurm.await_running(*jobs)
    env = gated.stack.environment("status") | {"PYTHONPATH": str(ROOT)}
    with Terminal(tmp_path, width=WIDTH, height=HEIGHT, cwd=gated.stack.folder, env=env) as seen:
        seen.type(f"clear; {sys.executable} -m slinky_iac status --watch --every 2 --stack {gated.stack.name}")
        await_true("the first screen", lambda: "Endpoints" in seen.text and "Last up" in seen.text, 60)
        assert drained(seen.text) == set()
        gated.write(1, drain)
        run = gated.start_up()
        await_true("the screen has both drains, and whose they are", lambda: drained(seen.text) == {"gpu-1", "gpu-2"}, 150)
        _picture(seen, tmp_path)
        assert all("RUNNING" in slurm.job_state(job) for job in jobs)
        slurm.finish(*jobs)
        out, _ = run.communicate(timeout=300)
        assert run.returncode == 0, out
        await_true("the screen says that it is over", lambda: drained(seen.text) == set(), 60)
        await_true("nothing of an older screen is left", lambda: not {"gpu-1", "gpu-2"} & set(seen.text.split()), 60)
        seen.key("C-c")
        await_true("Ctrl-C ends it", lambda: seen.text.rstrip().endswith(("$", "#")), 20)


def test_without_a_terminal_a_wait_is_one_line_a_minute_and_the_last_says_what_happened(gated: Gated, slurm: Slurm) -> None:
    """As CI shows it: each line stays in the log."""
    drain = {"deadline": "10m"}
    gated.reset(drain)
    jobs = [slurm.submit("-p", "gpu", "-w", node, "-t", "40") for node in NODES]
    slurm.await_running(*jobs)
    gated.write(2, drain)
    run = gated.start_up()
    assert run.stdout is not None
    said: list[tuple[float, str]] = []
    with run.stdout as lines:
        for line in lines:
            said.append((time.monotonic(), line.strip()))
            if jobs and sum(WAITS in text for _, text in said) == LINES:
                slurm.finish(*jobs)
                jobs = []
    assert run.wait(60) == 0, said
    times = [at for at, text in said if WAITS in text]
    assert len(times) >= LINES
    gaps = [later - at for at, later in pairwise(times[:LINES])]
    assert all(50 < gap < 75 for gap in gaps), gaps
    of_gate = [text for _, text in said if f"{gated.stack.name}/{NODESET}: " in text]
    assert "1 job ran on, 0 lost" in of_gate[-1], of_gate


WAITS, LINES = "nodes are free; last: job", 3


def _picture(seen: Terminal, folder: Path) -> None:
    file = folder / "screen.html"
    file.write_text(page(seen.coloured))
    picture = folder / "status-watch.png"
    browse(folder, file, f"--screenshot={picture}", width=1150, height=800)
    assert picture.read_bytes().startswith(b"\x89PNG")
    print(f"the picture of docs/images: {picture}")
