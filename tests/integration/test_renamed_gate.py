"""The real engine, the real gate: its logical name (or its parent's type) changes, the NodeSet doesn't. The engine makes the
new one and deletes the old one last, which must leave the NodeSet that the new one owns; a removal still deletes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.engine import Project
from tests.integration.test_two_gates import GATES, write
from tests.integration.two_gates import World, served
from tests.stacks import ROOT


class Deletable(World):
    deleted: tuple[str, ...] = ()

    def nodeset(self, method: str, name: str, body: dict[str, Any]) -> httpx.Response:
        if method == "DELETE":
            self.deleted = (*self.deleted, name)
            self.pods[name] = []
        if name in self.deleted:
            gone = {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}
            return httpx.Response(200 if method == "DELETE" else 404, json=gone)
        return super().nodeset(method, name, body)


@pytest.fixture
def world() -> Iterator[tuple[Deletable, str]]:
    now = Deletable()
    with served(now) as (_, url):
        yield now, url


def test_a_gate_under_another_name_keeps_its_nodeset(
    project: Project, world: tuple[Deletable, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now, url = world
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    project.write(main=GATES.format(root=str(ROOT)))
    write(project, url, 2)
    file = Path(project.folder) / "gates.json"

    def programmed(*gates: str) -> None:
        named = {f"{gate}": found[gate[0]] | {"urn": f"urn:pulumi:test::p::NodeSetScale::{gate}"} for gate in gates}
        file.write_text(json.dumps(named))

    found = json.loads(file.read_text())
    programmed("a", "b")
    project.up()
    for name in ("a-0", "a-1"):
        now.end_job(name)
    programmed("a-renamed", "b")
    assert "hpc-worker-a stays: since this gate's last run another one owns it" in project.up().stdout
    assert now.deleted == ()
    programmed("b")
    project.up()
    assert now.deleted == ("a",), "removed from the program"
