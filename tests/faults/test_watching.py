"""A long drain as the person in front of it sees it: `pulumi up`, `drain watch` and `status --watch` in a terminal."""

from __future__ import annotations

import sys
from pathlib import Path

from lab import apt
from tests.browser.chromium import browse
from tests.browser.terminal import Terminal, page
from tests.e2e.gated import NODES, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.faults.prepare import TERMINAL

STANDS_ON = "gated"
WIDTH = 132
SLINKY = f"{sys.executable} -m slinky_iac"


def terminal(gated: Gated, folder: Path, height: int) -> Terminal:
    folder.mkdir()
    return Terminal(folder, width=WIDTH, height=height, cwd=gated.stack.folder, env=gated.stack.environment("up"))


def picture(folder: Path, name: str, shown: Terminal, height: int) -> None:
    file = folder / f"{name}.html"
    file.write_text(page(shown.coloured))
    png = folder / f"{name}.png"
    browse(folder, file, f"--screenshot={png}", width=1160, height=height)
    assert png.read_bytes().startswith(b"\x89PNG")
    print(f"the picture of docs/images: {png}")


def test_a_long_drain_shows_a_bar_the_last_job_and_what_comes_next_and_then_what_happened(
    gated: Gated, slurm: Slurm, tmp_path: Path
) -> None:
    apt.ensure(TERMINAL)
    gated.reset()
    jobs = [slurm.submit("-p", "gpu", "-w", node, "-t", str(20 + at)) for at, node in enumerate(NODES)]
    slurm.await_running(*jobs)
    gated.write(1)
    with (
        terminal(gated, tmp_path / "up", 30) as up,
        terminal(gated, tmp_path / "watch", 16) as watch,
        terminal(gated, tmp_path / "status", 50) as status,
    ):
        up.type(f"clear; pulumi up --yes --skip-preview --stack {gated.stack.name}")
        await_true("the line has a bar and a count", lambda: "] 0 of 2 nodes are free; last: job" in up.text, 120)
        watch.type(f"clear; {SLINKY} drain watch")
        status.type(f"clear; {SLINKY} status --watch --stack {gated.stack.name}")
        await_true("`drain watch` has a bar", lambda: "0 of 2 nodes are free" in watch.text, 60)
        await_true("`status --watch` shows the drain", lambda: "scale-in 3->1" in status.text, 60)
        leaving = [job for job in jobs if gated.drained(slurm.job_nodes(job))]
        assert len(leaving) == 2
        slurm.finish(leaving[0])
        await_true("the bar moves", lambda: "] 1 of 2 nodes are free" in up.text, 60)
        await_true("in the second terminal too", lambda: "1 of 2 nodes are free" in watch.text, 60)
        line = next(line for line in up.text.splitlines() if "] 1 of 2 nodes are free" in line)
        assert f"last: job {leaving[1]} of " in line
        for name, shown, height in (("drain-up", up, 600), ("drain-watch", watch, 340), ("status-watch", status, 990)):
            picture(tmp_path, name, shown, height)
        slurm.finish(leaving[1])
        await_true("`pulumi up` ends", lambda: "Duration:" in up.text, 240)
        assert "replicas are 1; drained for it:" in up.text, "what happened, and not what was waited for"
        assert "is not ready" not in up.text
        picture(tmp_path, "drain-done", up, 600)
        watch.key("C-c")
        status.key("C-c")
    slurm.cancel_all()
