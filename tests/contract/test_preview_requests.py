"""A preview of N NodeSets asks at most 12 + N questions in the gates' process: one look for all, and each its NodeSet."""

from __future__ import annotations

import collections
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slinky_iac.cluster.reach import Reach
from slinky_iac.drain import one_look, preview
from slinky_iac.drain.plan import Seen
from slinky_iac.drain.session import open_session
from slinky_iac.drain.settings import DrainPolicy
from tests.api_server import ApiServer
from tests.unit.drain.model_session import settings
from tests.unit.slurmrest.fake import KEY, NOW, FakeSlurm, Ticks, answer, error, job, node

AT = "2026-01-01T00:00:00Z"
PODS = "/api/v1/namespaces/slurm/pods"
SCALED = "/apis/keda.sh/v1alpha1/namespaces/slurm/scaledobjects"
HPAS = "/apis/autoscaling/v2/namespaces/slurm/horizontalpodautoscalers"
NODESETS = "/apis/slinky.slurm.net/v1beta1/namespaces/slurm/nodesets"
EACH = 3
"""Pods of each NodeSet."""


def nodeset_body(number: int, **meta: object) -> dict[str, object]:
    name = f"hpc-worker-g{number}"
    plain = {"name": name, "uid": name, "resourceVersion": "1", "generation": 1, "creationTimestamp": AT}
    return {
        "metadata": {**plain, **meta},
        "spec": {"replicas": EACH, "controllerRef": {"name": "hpc"}},
        "status": {
            "replicas": EACH,
            "observedGeneration": 1,
            "selector": f"app.kubernetes.io/instance={name},app.kubernetes.io/name=slurmd",
        },
    }


def pod_body(number: int, ordinal: int) -> dict[str, object]:
    owner = f"hpc-worker-g{number}"
    return {
        "metadata": {
            "name": f"{owner}-{ordinal}",
            "uid": f"{owner}-{ordinal}",
            "resourceVersion": "1",
            "creationTimestamp": AT,
            "labels": {"nodeset.slinky.slurm.net/pod-hostname": f"g{number}-{ordinal}"},
            "ownerReferences": [{"uid": owner, "controller": True}],
        },
        "spec": {"nodeName": "machine", "hostname": f"g{number}-{ordinal}"},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": AT}]},
    }


class Site:
    """N NodeSets of :data:`EACH` pods, and a job that runs on the second node of each."""

    def __init__(self, count: int) -> None:
        self.slurm = FakeSlurm(ticks=Ticks(now=time.time() - NOW + 1000))
        self.server = ApiServer(slurm=self.slurm.handle)
        self.server.put("jwt", {"jwt.key": KEY}, at=AT)
        self.server.objects |= {HPAS: {"items": []}, SCALED: {"items": []}}
        self.server.objects[PODS] = {
            "metadata": {},
            "items": [pod_body(number, ordinal) for number in range(count) for ordinal in range(EACH)],
        }
        for number in range(count):
            self.server.objects[f"{NODESETS}/hpc-worker-g{number}"] = nodeset_body(number)
            self.slurm.add(*(node(f"g{number}-{ordinal}") for ordinal in range(EACH)))
            self.slurm.add(job(number + 1, nodes=f"g{number}-1"))

    def reach(self, folder: Path) -> Reach:
        return Reach("slurm", "hpc-restapi", "jwt", "jwt.key", kubeconfig=self.server.kubeconfig(folder))

    def preview(self, folder: Path, count: int, target: int, **changes: object) -> list[Seen]:
        reach = self.reach(folder)

        def one(number: int) -> Seen:
            found = settings(target, resource=f"hpc-worker-g{number}", reach=reach, **changes)
            return preview.nodeset_scale(found, {"replicas": EACH})

        with ThreadPoolExecutor(16) as pool:
            return list(pool.map(one, range(count)))

    def asked(self) -> collections.Counter[str]:
        return collections.Counter(kind(path) for path in self.server.asked)


def kind(path: str) -> str:
    _, proxied, rest = path.partition("/proxy/")
    if proxied:
        return re.sub(r"v0\.0\.\d+", "v", rest)
    return "NodeSet" if path.startswith(NODESETS) else path.rpartition("/")[2]


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
        assert [sorted(each["node"] for each in seen.plan["nodes"]) for seen in found] == [
            [f"g{number}-0", f"g{number}-2"] for number in range(count)
        ]


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
        assert seen.plan["known"] is False
        assert "nodes" not in seen.plan or not seen.plan["nodes"]


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


def test_what_acts_looks_for_itself(site: Site, tmp_path: Path) -> None:
    site.preview(tmp_path, 2, EACH)
    before = site.asked()
    with open_session(site.reach(tmp_path), "", report=lambda *_args, **_more: None) as session:
        session.observe(settings(EACH, resource="hpc-worker-g0", reach=site.reach(tmp_path)))
    more = site.asked() - before
    assert {"pods", "NodeSet", "horizontalpodautoscalers"} <= set(more)
    assert any(name.endswith("/nodes/") for name in more)
