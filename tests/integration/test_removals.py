"""The real engine and providers: what leaves the program has its plan and its limits in the preview, until it is gone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.integration.engine import Project
from tests.integration.test_renamed_gate import Deletable
from tests.integration.two_gates import PROPS, kubeconfig, served
from tests.stacks import ROOT

PROGRAM = f"""
    import json, sys
    from pathlib import Path
    sys.path.insert(0, {str(ROOT)!r})
    from pulumi.dynamic import Resource
    from slinky_iac.drain.gates import NodeSetScaleProvider, RemovalsProvider

    class NodeSetScale(Resource, module="slurm", name="NodeSetScale"):
        def __init__(self, name, props):
            super().__init__(NodeSetScaleProvider(), name, {{**props, "plan": None}})

    class Removals(Resource, module="slurm", name="Removals"):
        def __init__(self, name, props):
            super().__init__(RemovalsProvider(), name, {{**props, "plan": None, "pending": None}})

    given = json.loads(Path("given.json").read_text())
    for name, props in given["gates"].items():
        NodeSetScale(name, props)
    Removals("removals", given["removals"])
"""
EMPTY = ("preview", "--expect-no-changes")


@pytest.fixture
def world() -> Iterator[tuple[Deletable, str]]:
    now = Deletable()
    with served(now) as (_, url):
        yield now, url


def write(project: Project, url: str, *names: str, policy: Mapping[str, Any] | None = None) -> None:
    folder = Path(project.folder)
    base = {**PROPS, "kubeconfig": kubeconfig(folder, url), "url": url}
    base["policy"] = {**PROPS["policy"], **(policy or {})}
    base["urn"] = "urn:pulumi:test::p::x::y"
    own = {name: {"nodeset": name, "resource": f"hpc-worker-{name}", "replicas": 2, "maxReplicas": 2} for name in names}
    stands = {name: {"resource": f"hpc-worker-{name}", "controller": "hpc"} for name in names}
    gates = {name: {**base, **each} for name, each in own.items()}
    (folder / "given.json").write_text(json.dumps({"gates": gates, "removals": {**base, "stands": stands}}))


def test_a_nodeset_that_leaves_is_planned_judged_and_forgotten(
    project: Project, world: tuple[Deletable, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now, url = world
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    project.write(main=PROGRAM)
    write(project, url, "a", "b")
    project.up()

    write(project, url, "a", policy={"limits": {"max_jobs": 1}})
    for command in (("preview",), ("up", "--yes", "--skip-preview")):
        refused = project.engine.run(*command, cwd=project.folder, ok=False)
        assert "b leaves the program: 2 jobs" in refused.stdout
        assert "more than the 1 that drain.limits allows" in refused.stdout
    assert not any(now.drained(f"b-{number}") for number in range(2))

    write(project, url, "a", policy={"deadline_s": 1})
    shown = project.preview().stdout
    assert "b leaves the program: 2 nodes will be drained and removed; 2 jobs (" in shown
    write(project, url, "a", "b", policy={"deadline_s": 1})  # its own gate waits by its own deadline
    project.up()
    write(project, url, "a", policy={"deadline_s": 1})
    late = project.engine.run("up", "--yes", "--skip-preview", cwd=project.folder, ok=False)
    assert "is over" in late.stdout
    assert now.deleted == ()
    again = project.preview().stdout
    assert "b leaves the program: 2 nodes will be drained and removed; 2 jobs (" in again, "what failed is planned again"

    for name in ("b-0", "b-1"):
        now.end_job(name)
    project.up()
    assert now.deleted == ("b",)
    done = project.engine.run(*EMPTY, cwd=project.folder)
    assert "leaves the program" not in done.stdout
