"""A long drain as the person in front of it sees it: `pulumi up` and `drain watch` in terminals, on the real engine."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.terminal import Terminal, page
from tests.integration.engine import Project, eventually
from tests.integration.test_two_gates import GATES, write
from tests.integration.two_gates import World, served
from tests.made.rows import number
from tests.stacks import ROOT

ENDS = {970: 7200, 971: 1500, 980: 7200, 981: 840}
"""Seconds until each job's end by its limit."""
PEOPLE = {971: "alice", 981: "bob"}
WIDTH = 224
"""Wide enough for the whole line: Pulumi's own words about the difference come first, and its table cuts the rest off."""


@pytest.fixture
def world() -> Iterator[tuple[World, str]]:
    with served(World()) as made:
        now = int(time.time())
        for job, ends in ENDS.items():
            times = {"start_time": number(now - 3600), "end_time": number(now + ends), "time_limit": number(ends // 60 + 60)}
            made[0].slurm.jobs[job] |= times | {"user_name": PEOPLE.get(job, "carol")}
        yield made


@pytest.fixture
def gates(project: Project, world: tuple[World, str], monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    project.write(main=GATES.format(root=str(ROOT)))
    write(project, world[1], 2)
    _on_their_lines(project)
    project.up()
    write(project, world[1], 1)
    _on_their_lines(project)
    return project


def _on_their_lines(project: Project) -> None:
    """As in a stack, each gate knows its URN, so that the engine shows its words on its line, and has half an hour."""
    file = Path(project.folder) / "gates.json"
    found = json.loads(file.read_text())
    for name, props in found.items():
        props["policy"] |= {"deadline_s": 1800, "bound_s": 1980}
        props["urn"] = f"urn:pulumi:test::{PROJECT}::pulumi-python:dynamic/slurm:NodeSetScale::{name}"
    file.write_text(json.dumps(found))


PROJECT = "probe"


def test_a_long_drain_shows_a_bar_the_last_job_and_what_comes_next_and_then_what_happened(
    gates: Project, world: tuple[World, str], tmp_path: Path
) -> None:
    now, _ = world
    env = {**gates.engine.env, "PYTHONPATH": str(ROOT)}
    for each in ("up", "watch"):
        (tmp_path / each).mkdir()
    with (
        Terminal(tmp_path / "up", width=WIDTH, height=14, cwd=gates.folder, env=env) as up,
        Terminal(tmp_path / "watch", width=100, height=22, cwd=gates.folder, env=env) as watch,
    ):
        up.type("clear; pulumi up --yes --skip-preview --stack test")
        eventually(
            "the line has a bar and a count", lambda: up.text.count("[..........] 0 of 1 nodes are free; last: job") == 2
        )
        line = next(each for each in up.text.splitlines() if "job 981 of bob, ends by" in each)
        assert "min); once free" in line, "and what comes next"
        watch.type(f"clear; {sys.executable} -m slinky_iac drain watch --stack test")
        eventually("the second terminal has both bars", lambda: watch.text.count("] 0 of 1 nodes are free") == 2)
        assert "the last is 971 of alice" in watch.text
        assert "<pre>" in page(up.coloured)
        now.end_job("b-1")
        eventually("its last line says what happened", lambda: "test/b: 1 job ran on, 0 lost" in up.text)
        assert "981" not in up.text, "and not what was waited for"
        eventually("the second terminal says so", lambda: "b: 1 pod of 1 asked for; nothing of this stack's" in watch.text)
        now.end_job("a-1")
        eventually("`pulumi up` ends", lambda: "Duration:" in up.text)
        assert "test/a: 1 job ran on, 0 lost" in up.text
        watch.key("C-c")
