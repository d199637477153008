"""Two gates in one update, on the real engine: they look together, end apart, and one that fails doesn't stop the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from slinky_iac import names
from tests.integration.engine import Project, eventually
from tests.integration.two_gates import NODESETS, PROPS, World, kubeconfig, served
from tests.stacks import ROOT

GATES = """
    import json, sys
    from pathlib import Path
    sys.path.insert(0, {root!r})
    from pulumi.dynamic import Resource
    from slinky_iac.drain.gates import NodeSetScaleProvider

    class NodeSetScale(Resource, module="slurm", name="NodeSetScale"):
        def __init__(self, name, props):
            super().__init__(NodeSetScaleProvider(), name, {{**props, "plan": None}})

    for name, props in json.loads(Path("gates.json").read_text()).items():
        NodeSetScale(name, props)
"""


@pytest.fixture
def world() -> Iterator[tuple[World, str]]:
    with served(World()) as made:
        yield made


@pytest.fixture
def gates(project: Project, world: tuple[World, str], monkeypatch: pytest.MonkeyPatch) -> Project:
    """Both gates in the state, as their NodeSets are."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    project.write(main=GATES.format(root=str(ROOT)))
    write(project, world[1], 2)
    project.up()
    return project


def write(project: Project, url: str, replicas: int) -> None:
    folder = Path(project.folder)
    own = {"kubeconfig": kubeconfig(folder, url), "url": url, "replicas": replicas, "maxReplicas": replicas}
    found = {name: {**PROPS, **own, "nodeset": name, "resource": f"hpc-worker-{name}"} for name in NODESETS}
    (folder / "gates.json").write_text(json.dumps(found))


def test_two_gates_share_their_looks_and_end_each_with_its_own_jobs(gates: Project, world: tuple[World, str]) -> None:
    now, url = world
    write(gates, url, 1)
    run = gates.spawn("up", "--yes", "--skip-preview")
    eventually("both are drained and marked", lambda: all(now.drained(f"{name}-1") for name in NODESETS))
    noted = '"hold":1'  # seconds since 1970: the end of the drain, as slurmctld says it
    eventually("both wait", lambda: all(noted in now.annotations[f"pod {n}-1"][names.ANNOTATION_GATE] for n in NODESETS))
    looks = now.nodes_asked()
    eventually("the looks after that", lambda: now.nodes_asked() >= looks + 2)
    jobs, looks = now.jobs_asked(), now.nodes_asked()
    eventually("five looks each", lambda: now.nodes_asked() >= looks + 10)
    assert now.jobs_asked() - jobs <= 1, "two gates that wait ask for jobs once in half a minute, together"

    cordoned = [name for name, found in now.annotations.items() if names.ANNOTATION_POD_CORDON in found]
    assert cordoned == [], "slurm-operator would drain their nodes again, after a run that was killed"
    now.end_job("b-1")
    eventually("b is lowered", lambda: now.written == [("b", 1)])
    assert run.process.poll() is None, "a waits on"
    now.end_job("a-1")
    assert run.wait() == 0, run.output
    assert now.written == [("b", 1), ("a", 1)]
    assert now.pods == {"a": ["a-0"], "b": ["b-0"]}
    told = {name: row["outputs"]["lastDrain"] for name, row in gates.resources().items() if name in NODESETS}
    assert told == dict.fromkeys(NODESETS, "1 job ran on, 0 lost")


def test_a_gate_that_fails_leaves_the_other_to_its_end_and_goes_on_next_time(
    gates: Project, world: tuple[World, str]
) -> None:
    now, url = world
    now.annotations["nodeset a"] = {names.ANNOTATION_FREEZE: "an audit"}
    write(gates, url, 1)
    run = gates.spawn("up", "--yes", "--skip-preview", "--continue-on-error")
    eventually("b is drained", lambda: now.drained("b-1"))
    now.end_job("b-1")
    assert run.wait() != 0
    assert "frozen by its annotation" in run.output
    assert now.written == [("b", 1)]
    assert not now.drained("a-1")
    found = {name: row["outputs"]["replicas"] for name, row in gates.resources().items() if name in NODESETS}
    assert found == {"a": 2, "b": 1}

    now.annotations["nodeset a"].clear()
    now.end_job("a-1")
    gates.up()
    assert now.written == [("b", 1), ("a", 1)]
    gates.preview("--expect-no-changes")
