"""A short-lived pod is deleted whatever happens: an error, Ctrl-C, a lost answer, a killed run before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from slinky_iac.commands.preflight.ask_pods import ask_pods
from slinky_iac.errors import KubeForbidden, KubeNotFound, KubeUnreachable
from slinky_iac.kube.pods import ShortPod, ShortPodClient
from slinky_iac.kube.wire import Clock
from slinky_iac.preflight.facts import PodFacts
from slinky_iac.preflight.short_pods import ELSEWHERE
from tests.made.pods import short_pod
from tests.made.wire import read
from tests.unit.preflight.made import CTL, NOW, stack

SAID = f"date {NOW}\nuid 401\nslurmd slurm 26.05.5\ntry ctl.example.org 6817 0 10.0.0.1 \n"


@dataclass
class FakeKube(ShortPodClient):
    """An API server that holds pods; ``phases`` is what looks see, one after the other, the last for ever."""

    phases: list[ShortPod] = field(default_factory=list)
    there: dict[str, ShortPod] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    namespaces: tuple[str, ...] = ("slurm", ELSEWHERE)
    made_in: list[str] = field(default_factory=list)
    on_make: Callable[[], None] = lambda: None
    on_look: Callable[[], None] = lambda: None
    on_delete: Callable[[], None] = lambda: None

    def namespace_exists(self, namespace: str) -> bool:
        return namespace in self.namespaces

    def make_pod(self, namespace: str, body: Any) -> None:
        self.made_in.append(namespace)
        name = body["metadata"]["name"]
        self.there[name] = pod("Pending")
        self.on_make()

    def short_pods(self, namespace: str, label: str) -> tuple[ShortPod, ...]:
        return tuple(self.there.values())

    def short_pod(self, namespace: str, name: str) -> ShortPod:
        self.on_look()
        if name not in self.there:
            raise KubeNotFound("gone")
        return self.phases.pop(0) if len(self.phases) > 1 else self.phases[0]

    def delete_pod(self, namespace: str, name: str) -> None:
        self.deleted.append(name)
        self.there.pop(name, None)
        self.on_delete()


def pod(phase: str, message: str = "", trouble: str = "", name: str = "p") -> ShortPod:
    ended = {"name": "look", "state": {"terminated": {"message": message}}}
    stuck = {"type": "PodScheduled", "status": "False", "message": trouble}
    status = {"phase": phase, "containerStatuses": [ended] if message else [], "conditions": [stuck] if trouble else []}
    return read(ShortPod, short_pod(name, **status))


def ask(kube: FakeKube, wait_s: float = 5) -> PodFacts:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    clock = Clock(wall=lambda: NOW + now[0], monotonic=lambda: now[0], sleep=sleep)
    return ask_pods(kube, stack(), [CTL], clock=clock, wait_s=wait_s)


def test_pods_are_made_in_the_namespace_that_was_named_and_in_no_other() -> None:
    """The maker of a pod in the cluster's own may mount slurm.key."""
    kube = FakeKube(phases=[pod("Succeeded", SAID)])
    clock = Clock(wall=lambda: NOW, monotonic=lambda: 0.0, sleep=lambda _: None)
    assert ask_pods(kube, stack(), [CTL], clock=clock, namespace="checks").reports
    assert set(kube.made_in) == {"checks"}
    assert kube.there == {}


def raising(error: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


def test_a_pod_that_looked_is_read_and_deleted() -> None:
    kube = FakeKube(phases=[pod("Pending"), pod("Running"), pod("Succeeded", SAID)])
    seen = ask(kube)
    assert seen.trouble == ""
    assert [(each.node, each.slurm_uid, each.tried[0].open) for each in seen.reports] == [("node-1", 401, True)]
    assert (len(kube.deleted), kube.there) == (1, {})


def test_before_the_first_up_the_pod_stands_in_a_namespace_that_every_cluster_has() -> None:
    kube = FakeKube(phases=[pod("Succeeded", SAID)], namespaces=(ELSEWHERE,))
    assert ask(kube).reports
    assert kube.made_in == [ELSEWHERE]


@pytest.mark.parametrize("step", ["on_make", "on_look"])
def test_ctrl_c_deletes_the_pod_and_goes_on_up(step: str) -> None:
    kube = FakeKube(phases=[pod("Running")])
    setattr(kube, step, raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        ask(kube)
    assert (len(kube.deleted), kube.there) == (1, {})


def test_a_second_ctrl_c_while_deleting_deletes_all_the_same() -> None:
    kube = FakeKube(phases=[pod("Succeeded", SAID)])
    left = [KeyboardInterrupt()]

    def again() -> None:
        if left:
            raise left.pop()

    kube.on_delete = again
    with pytest.raises(KeyboardInterrupt):
        ask(kube)
    assert (len(kube.deleted), kube.there) == (2, {})


def test_a_pod_whose_making_was_not_answered_is_deleted_too() -> None:
    kube = FakeKube(phases=[pod("Running")], on_make=raising(KubeUnreachable("no answer")))
    assert ask(kube) == PodFacts(trouble="no pod could look: no answer")
    assert len(kube.deleted) == 1


def test_who_may_make_no_pod_is_told_so() -> None:
    kube = FakeKube(phases=[pod("Running")], on_make=raising(KubeForbidden("this user may not")))
    assert ask(kube).trouble == "no pod could be made: this user may not"


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (pod("Pending", trouble="ErrImageNeverPull"), "ErrImageNeverPull"),
        (pod("Failed", trouble="DeadlineExceeded"), "DeadlineExceeded"),
        (pod("Pending", trouble="0/3 nodes are available"), "0/3 nodes are available (after 5 s)"),
    ],
)
def test_a_pod_that_can_not_look_says_why_in_bounded_time_and_is_deleted(last: ShortPod, words: str) -> None:
    kube = FakeKube(phases=[pod("Pending"), last])
    seen = ask(kube)
    assert (seen.reports, words in seen.trouble, kube.there) == ((), True, {})


def test_a_pod_that_somebody_deleted_is_no_endless_wait() -> None:
    kube = FakeKube(phases=[pod("Running")])
    kube.on_look = kube.there.clear
    assert "somebody deleted it" in ask(kube).trouble


def test_what_a_killed_run_left_is_removed_and_a_running_one_of_others_is_not() -> None:
    kube = FakeKube(phases=[pod("Succeeded", SAID)])
    kube.there = {"old": pod("Failed", name="old"), "running": pod("Running", name="running")}
    ask(kube)
    assert kube.deleted[0] == "old"
    assert set(kube.there) == {"running"}
