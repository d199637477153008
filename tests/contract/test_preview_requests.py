"""A preview of N NodeSets asks at most 12 + N questions in the gates' process: one look for all, and each its NodeSet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slinky_iac.drain import one_look
from slinky_iac.drain.session import open_session
from slinky_iac.drain.settings import DrainPolicy
from tests.gate_site import EACH, HPAS, NODESETS, PODS, Site, kind, nodeset_body
from tests.unit.drain.model_session import settings
from tests.unit.slurmrest.fake import answer, error


@pytest.fixture
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    made = Site(getattr(request, "param", 2))
    with made.server:
        yield made


@pytest.mark.parametrize(("site", "count"), [(1, 1), (10, 10), (100, 100)], indirect=["site"])
@pytest.mark.parametrize("target", [EACH, 1], ids=["nothing changes", "scale-in of each"])
def test_a_preview_asks_twelve_questions_and_one_a_nodeset(site: Site, count: int, target: int, tmp_path: Path) -> None:
    found = site.preview(tmp_path, count, target)
    assert not any("not known" in seen.due for seen in found)
    asked = site.asked()
    assert asked.pop("NodeSet") == count
    assert sum(asked.values()) <= 12, asked
    assert {name: times for name, times in asked.items() if times > 1} == {}
    if target == 1:  # each plan has its own nodes and jobs
        assert [sorted(each["node"] for each in seen.plan.props["nodes"]) for seen in found] == [
            [f"g{number}-0", f"g{number}-2"] for number in range(count)
        ]


@pytest.mark.parametrize(("nodes", "pages"), [(36, 1), (144, 1), (576, 2), (1152, 3), (2304, 5)])
def test_a_preview_of_half_of_n_full_nodes_asks_more_by_pages_of_pods_alone(nodes: int, pages: int, tmp_path: Path) -> None:
    site = Site(1, nodes, full=True)
    with site.server:
        (seen,) = site.preview(tmp_path, 1, nodes // 2)
    assert len(seen.plan.props["nodes"]) == nodes // 2
    kubernetes = ("NodeSet", "horizontalpodautoscalers", "scaledobjects", "jwt", "hpc-restapi")
    slurm = ("ping/", "nodes/", "diag/", "jobs/state/", "jobs/", "reservations/", "conf")
    once = (*kubernetes, *(f"slurm/v/{path}" for path in slurm))
    assert site.asked() == {"pods": pages, **dict.fromkeys(once, 1)}


def test_jobs_are_asked_for_after_the_nodes_answered_and_nodes_after_the_pods(site: Site, tmp_path: Path) -> None:
    site.preview(tmp_path, 2, 1)
    order = [kind(path) for path in site.server.asked]
    jobs = next(at for at, name in enumerate(order) if "jobs" in name)
    assert order.index("pods") < next(at for at, name in enumerate(order) if name.endswith("/nodes/")) < jobs


def test_autoscalers_that_cannot_be_seen_are_an_error_and_no_empty_list(site: Site, tmp_path: Path) -> None:
    del site.server.objects[HPAS]
    assert all("horizontalpodautoscalers" in seen.due.lower() for seen in site.preview(tmp_path, 2, EACH))
    known = site.preview(tmp_path, 2, EACH, scaler="autoscaler", max_replicas=EACH)
    assert not any(seen.due for seen in known), "whose number is an autoscaler's, its gate doesn't ask"


def test_pods_that_cannot_be_listed_are_an_error_to_every_gate_and_are_asked_for_again(site: Site, tmp_path: Path) -> None:
    pods = site.server.objects.pop(PODS)
    assert all(seen.due.startswith("not known") for seen in site.preview(tmp_path, 2, EACH))
    site.server.objects[PODS] = pods
    assert not any(seen.due for seen in site.preview(tmp_path, 2, EACH))


def test_slurms_silence_is_told_to_every_gate_with_no_node_taken_for_free(site: Site, tmp_path: Path) -> None:
    site.slurm.faults += [lambda _: answer(503, [error(1)])] * 40
    for seen in site.preview(tmp_path, 2, 1):
        assert seen.plan.props["known"] is False
        assert not seen.plan.nodes


def test_a_nodeset_that_was_written_since_the_look_is_seen_as_it_is(site: Site, tmp_path: Path) -> None:
    """In an update, pulumi-kubernetes writes it a moment before the gate's plan."""
    site.preview(tmp_path, 2, EACH)
    body = nodeset_body(1)
    site.server.objects[f"{NODESETS}/hpc-worker-g1"] = {**body, "spec": {**body["spec"], "replicas": 7}}  # type: ignore[dict-item]
    first, second = site.preview(tmp_path, 2, EACH)
    assert first.due == ""
    assert "7 replicas" in second.due


def test_a_look_is_taken_again_when_it_is_old(site: Site, tmp_path: Path) -> None:
    reach = site.reach(tmp_path)
    now = [0.0]

    def ask() -> float:
        with open_session(reach, "", report=lambda *_args, **_more: None) as session:
            found = one_look.LOOKS.after(
                float("-inf"),
                ("this test", reach),
                lambda _left: one_look.taken(session.kube, lambda: session.slurm, reach, lambda: now[0]),
                budget_s=9,
                monotonic=lambda: now[0],
                fresh_s=one_look.FRESH_S,
            )
        return found.answered

    assert [ask(), ask()] == [0.0, 0.0]
    now[0] = one_look.FRESH_S
    assert ask() == 0.0
    now[0] += 0.1
    assert ask() == now[0]


def test_users_are_hidden_from_the_plan_of_each_nodeset_that_hides_them(site: Site, tmp_path: Path) -> None:
    shown = site.preview(tmp_path, 2, 0)
    hidden = site.preview(tmp_path, 2, 0, policy=DrainPolicy(show_users=False))
    assert all("alice" in str(seen.plan) for seen in shown)
    assert not any("alice" in str(seen.plan) for seen in hidden)


@pytest.mark.parametrize("serving", [0, 1])
def test_the_operators_slurmrestd_is_ready_where_a_pod_of_it_serves(site: Site, tmp_path: Path, serving: int) -> None:
    path = "/apis/apps/v1/namespaces/slurm/deployments/hpc-restapi"
    site.server.objects[path] = {"metadata": {"name": "hpc-restapi"}, "status": {"availableReplicas": serving}}
    reach = site.reach(tmp_path)
    with open_session(reach, "", report=lambda *_args, **_more: None) as session:
        found = one_look.taken(session.kube, lambda: session.slurm, reach, session.steady)
    assert found.restapi_ready is (serving == 1)


def test_what_acts_looks_for_itself(site: Site, tmp_path: Path) -> None:
    site.preview(tmp_path, 2, EACH)
    before = site.asked()
    with open_session(site.reach(tmp_path), "", report=lambda *_args, **_more: None) as session:
        session.observe(settings(EACH, resource="hpc-worker-g0", reach=site.reach(tmp_path)))
    more = site.asked() - before
    assert {"pods", "NodeSet", "horizontalpodautoscalers"} <= set(more)
    assert any(name.endswith("/nodes/") for name in more)
