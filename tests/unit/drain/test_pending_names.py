"""Nodes that jobs of the queue name by --nodelist are chosen last, and preview and gate choose the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slinky_iac.drain.cost import undecided
from slinky_iac.drain.protocol import Goal, Step
from slinky_iac.drain.session import Session, open_session
from slinky_iac.drain.settings import DrainPolicy, GateSettings
from slinky_iac.drain.steps import next_step
from tests.gate_site import NODESETS, Site
from tests.made.rows import job
from tests.unit.drain.made import OWNER, goal, held, pod
from tests.unit.drain.model_session import settings

EACH = 6
QUEUE = 30
"""So many that a look for jobs that may hold nodes leaves out what waits."""


@pytest.fixture
def site() -> Iterator[Site]:
    """Six nodes: a job on the second, and of those that wait one names the last two."""
    made = Site(1, EACH)
    made.slurm.add(*(job(1000 + each, "PENDING") for each in range(QUEUE)))
    made.slurm.jobs[1007]["required_nodes"] = "g0-[4-5]"
    made.server.objects[f"{NODESETS}/hpc-worker-g0"]["spec"]["updateStrategy"] = {"type": "OnDelete"}
    restapi = "/apis/apps/v1/namespaces/slurm/deployments/hpc-restapi"
    made.server.objects[restapi] = {"metadata": {"name": "hpc-restapi"}, "status": {"availableReplicas": 1}}
    with made.server:
        yield made


def acted(session: Session, gate: GateSettings, wanted: Goal) -> Step:
    """A look, and what it leads to."""
    step = next_step(session.observe(gate), wanted)
    session.act(step, OWNER)
    return step


def lists_of_jobs(site: Site) -> int:
    """How often the records of all jobs were asked for, since the last time."""
    asked = sum(path.endswith("/jobs/") for path in site.server.asked)
    site.server.asked.clear()
    return asked


@pytest.mark.parametrize(("target", "nodes"), [(4, ["g0-2", "g0-3"]), (2, ["g0-0", "g0-1", "g0-2", "g0-3"])])
def test_preview_and_gate_choose_the_same_nodes_and_none_that_a_pending_job_names(
    site: Site, tmp_path: Path, target: int, nodes: list[str]
) -> None:
    (found,) = site.preview(tmp_path, 1, target)
    assert sorted(each["node"] for each in found.plan.props["nodes"]) == nodes
    assert not any("--nodelist" in text for text in found.plan.props["warnings"])
    gate = settings(target, resource="hpc-worker-g0", reach=site.reach(tmp_path), policy=DrainPolicy(hold_factor=0))
    wanted = goal(EACH, target, deadline_at=2 * 10**9, policy=gate.policy)
    with open_session(gate.reach, "", report=lambda *_args, **_more: None) as session:
        marked, drained = acted(session, gate, wanted), acted(session, gate, wanted)
        assert sorted(each.pod.removeprefix("hpc-worker-") for each in marked.pods) == nodes
        assert sorted(drained.nodes) == nodes
        assert lists_of_jobs(site) > 0
        session.observe(gate)
        assert lists_of_jobs(site) == 0, "the choice is made: what waits is asked for no more"


@pytest.mark.parametrize(
    ("state", "reason"),
    [(["DOWN"], "Not responding"), (["IDLE", "DRAIN"], "power"), (["DOWN", "DRAIN"], "power")],
)
def test_a_node_out_of_service_is_not_spared_for_the_job_that_was_requeued_from_it(
    site: Site, tmp_path: Path, state: list[str], reason: str
) -> None:
    """A person sets a node down in mid-drain: its requeued job names it, and the choice stays."""
    site.slurm.nodes["g0-5"] |= {"state": state, "reason": reason}
    (found,) = site.preview(tmp_path, 1, EACH - 1)
    assert [each["node"] for each in found.plan.props["nodes"]] == ["g0-5"]


@pytest.mark.parametrize("target", [EACH, EACH + 1, 0])
def test_what_waits_is_not_asked_for_where_there_is_nothing_to_choose(site: Site, tmp_path: Path, target: int) -> None:
    gate = settings(target, resource="hpc-worker-g0", reach=site.reach(tmp_path))
    with open_session(gate.reach, "", report=lambda *_args, **_more: None) as session:
        session.observe(gate)
    assert lists_of_jobs(site) == 0


@pytest.mark.parametrize(
    ("changes", "ours", "target", "expected"),
    [
        ({}, (), 2, True),
        ({}, (2,), 2, False),
        ({}, (2,), 1, True),
        ({2: {"terminating": True}}, (), 2, False),
        ({2: {"ready": False}}, (), 2, False),
        ({2: {"ready": False}}, (), 1, True),
        ({1: {"ready": False}, 2: {"ready": False}}, (), 2, True),
        ({1: {"ready": False}, 2: {"ready": False}}, (0,), 2, True),
        ({}, (), 0, False),
        ({}, (), 3, False),
    ],
)
def test_a_choice_is_open_where_the_cut_divides_pods_that_are_not_all_drained_by_us(changes, ours, target, expected):
    pods = [pod(number, **changes.get(number, {})) for number in range(3)]
    assert undecided(pods, {f"gpu-{number}": held(number) for number in ours}, OWNER, target) is expected
