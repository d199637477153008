"""The pause of the autoscaler: KEDA stands still while nodes are drained, and goes on after every end that a run sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky_iac import names
from slinky_iac.drain import scale
from slinky_iac.drain.protocol import Done, SetReplicas, Wait
from slinky_iac.errors import DrainBlocked, DrainDeadline, KubeConflict
from slinky_iac.kube.objects import Listed, WrittenMeta
from slinky_iac.kube.scalers import Scaler, writing
from slinky_iac.parts.autoscale import pause
from slinky_iac.parts.autoscale.keda import PAUSED as KEDA_PAUSED
from slinky_iac.parts.autoscale.pause import standing_still
from slinky_iac.parts.autoscale.pause_steps import PauseScaler, ResumeScaler, ScalerView, pause_step, resume_step
from tests.made import scalers as made_scalers
from tests.made.kubernetes import meta as made_meta
from tests.unit.drain.made import OWNER
from tests.unit.drain.model import world
from tests.unit.drain.model_session import ModelSession, job_ends, nothing, with_job
from tests.unit.drain.model_session import autoscaled as autoscaled_gate
from tests.unit.drain.model_session import settings as gate
from tests.unit.examples import examples

NAME = "hpc-worker-gpu"
PAUSED = ScalerView(paused=True, mark="dev/gpu r1", stopped=True, max_replicas=8)
VIEWS = st.builds(
    ScalerView,
    paused=st.booleans(),
    mark=st.sampled_from(["", "dev/gpu r1", "dev/gpu r0", "prod/gpu r1", "dev/gpu-2 r1"]),
    stopped=st.booleans(),
    max_replicas=st.sampled_from([None, 2, 8]),
)


@given(VIEWS)
def test_nothing_is_drained_before_keda_stands_still(seen: ScalerView) -> None:
    if isinstance(pause_step(seen, OWNER, "r1"), Done):
        assert seen.paused
        assert seen.stopped


@given(VIEWS, st.sampled_from(["r1", ""]))
def test_only_a_pause_of_this_gate_is_taken_back(seen: ScalerView, run: str) -> None:
    if isinstance(resume_step(seen, OWNER, run, 2), ResumeScaler):
        assert seen.mark in ({"dev/gpu r1"} if run else {"dev/gpu r1", "dev/gpu r0"})


def test_a_pause_of_a_run_that_died_is_taken_over() -> None:
    died = ScalerView(paused=True, mark="dev/gpu r0", stopped=True, max_replicas=8)
    assert pause_step(died, OWNER, "r1") == PauseScaler("dev/gpu r1")
    assert resume_step(died, OWNER, "r1", 2) == Done()
    assert resume_step(PAUSED, OWNER, "r1", 2) == ResumeScaler(2)


def test_a_person_s_pause_stays() -> None:
    persons = ScalerView(paused=True, mark="", stopped=True, max_replicas=8)
    assert pause_step(persons, OWNER, "r1") == Done()
    assert resume_step(persons, OWNER, "r1", 2) == Done()


def test_without_an_autoscaler_nothing_is_paused() -> None:
    assert pause_step(None, OWNER, "r1") == resume_step(None, OWNER, "r1", 2) == Done()


def test_the_pause_is_awaited() -> None:
    assert isinstance(pause_step(ScalerView(True, "dev/gpu r1", False, 8), OWNER, "r1"), Wait)


@dataclass
class Keda:
    """KEDA as the gate meets it: it stops its HorizontalPodAutoscaler at the pause after the one that asked."""

    max_replicas: int = 8
    mark: str = ""
    paused: bool = False
    works: bool = True
    hpa: bool = True

    version: int = 1

    def reconcile(self) -> None:
        if self.works:
            self.hpa = not self.paused

    def asked(self, _path: str, model: Any, _what: str) -> Any:
        """The ScaledObject, as the API server has it."""
        marked = {names.ANNOTATION_PAUSED_BY: self.mark} if self.mark else {}
        meta = made_meta(NAME, annotations=marked | ({KEDA_PAUSED: "true"} if self.paused else {}))
        spec = {"scaleTargetRef": made_scalers.target(NAME), "maxReplicaCount": self.max_replicas}
        stopped = {"conditions": [{"type": "Paused", "status": str(not self.hpa)}]}
        meta["resourceVersion"] = f"{self.version}"
        return msgspec.convert({"metadata": meta, "spec": spec, "status": stopped}, model)

    def listed(self, path: str, model: Any, _what: str) -> Any:
        """Its HorizontalPodAutoscaler."""
        return made_scalers.listed(path, model, *([f"HorizontalPodAutoscaler/keda-hpa-{NAME}"] if self.hpa else []))

    def patch(self, _path: str, meta: WrittenMeta, change: dict[str, Any], _what: str) -> None:
        if meta.resource_version != f"{self.version}":
            raise KubeConflict("written since", status=409)
        self.version += 1
        annotations = change["metadata"]["annotations"]
        self.paused, self.mark = annotations[KEDA_PAUSED] == "true", annotations[names.ANNOTATION_PAUSED_BY] or ""
        self.max_replicas = change.get("spec", {}).get("maxReplicaCount", self.max_replicas)


class Scaled(ModelSession):
    """The model of operator and Slurm, with KEDA."""

    def __init__(self, w, keda, meanwhile=(), run="r1"):
        super().__init__(w, meanwhile, run)
        self.keda = self.kube = keda
        self.written_while_scaled = []

    def pause(self, seconds):
        self.keda.reconcile()
        return super().pause(seconds)

    def act(self, step, owner):
        if self.keda.hpa:
            self.written_while_scaled.append(step)
        super().act(step, owner)


def autoscaled(max_replicas):
    return autoscaled_gate(max_replicas=max_replicas)


def test_lowering_the_maximum_pauses_drains_writes_and_resumes():
    session = Scaled(with_job(pods=3), Keda(), [nothing, nothing, job_ends(1)])
    scale.settle(session, autoscaled(0))
    assert (session.w.replicas, session.w.lost) == (0, [])
    assert 1 not in session.w.jobs, "its end was awaited"
    assert session.written_while_scaled == []
    assert (session.keda.paused, session.keda.mark, session.keda.max_replicas) == (False, "", 0)


def test_a_number_within_the_maximum_is_not_paused():
    session = Scaled(world("1.1.0", 2), Keda())
    scale.settle(session, autoscaled(4))
    assert (session.keda.max_replicas, session.w.replicas, session.keda.hpa) == (8, 2, True)


def test_a_keda_that_doesn_t_stop_drains_nothing_and_is_given_back():
    keda = Keda(works=False)
    session = Scaled(world("1.1.0", 3), keda)
    with pytest.raises(DrainDeadline, match="nothing was drained"):
        scale.settle(session, autoscaled(1))
    assert session.written_while_scaled == []
    assert (keda.paused, keda.mark, keda.max_replicas, session.w.replicas) == (False, "", 8, 3)


def test_a_deadline_gives_the_autoscaler_back_with_its_old_maximum():
    session = Scaled(with_job(pods=3, end=None), Keda())
    with pytest.raises(DrainDeadline):
        scale.settle(session, autoscaled(0))
    assert (session.keda.paused, session.keda.max_replicas, session.w.replicas) == (False, 8, 3)
    assert 1 in session.w.jobs


def test_a_removal_pauses_and_leaves_it():
    session = Scaled(world("1.1.0", 2), Keda())
    pause.stop_for_removal(session, autoscaled(4))
    assert session.keda.paused
    assert not session.keda.hpa


def test_a_cancel_gives_back_a_dead_run_s_pause():
    session = Scaled(world("1.1.0", 2), Keda(mark="dev/gpu r0", paused=True, hpa=False))
    assert pause.give_back(session, autoscaled(4)) == 1
    assert (session.keda.paused, session.keda.mark, session.keda.max_replicas) == (False, "", 8)
    assert pause.give_back(session, autoscaled(4)) == 0


@settings(max_examples=examples(60), deadline=None)
@given(pods=st.integers(1, 5), max_replicas=st.integers(0, 5), cut=st.integers(0, 12), dies=st.booleans())
def test_whatever_ends_a_run_the_next_one_ends_with_an_autoscaler_that_works(pods, max_replicas, cut, dies):
    """A run is cut off at any pause: interrupted, which it sees, or killed with its engine, which it doesn't outlive."""
    keda = Keda()
    first = Scaled(world("1.1.0", pods), keda, run="r0")
    first.interrupted_at = cut
    first.alive = not dies
    try:
        scale.settle(first, autoscaled(max_replicas))
        ended = True
    except DrainBlocked:
        ended = not dies
    assert not (ended and keda.paused)
    second = Scaled(first.w, keda)
    scale.settle(second, autoscaled(max_replicas))
    assert not keda.paused
    assert first.w.replicas <= max(max_replicas, 0) or first.w.replicas == 0
    assert [step for step in second.written_while_scaled if isinstance(step, SetReplicas)] == []


def test_another_autoscaler_of_the_nodeset_is_a_rival_and_what_keda_makes_is_none():
    scalers = ("ScaledObject/gpu", "HorizontalPodAutoscaler/keda-hpa-gpu", "ScaledObject/mine", "HorizontalPodAutoscaler/h")
    found = [(each, made_scalers.listed(f"/{kind.lower()}s", Listed[Scaler], each)[0])
             for each in scalers for kind in (each.partition("/")[0],)]  # fmt: skip
    assert writing(found, "hpc-worker-gpu", "gpu") == ("ScaledObject/mine", "HorizontalPodAutoscaler/h")
    assert writing(found, "hpc-worker-gpu") == scalers
    assert writing(found, "hpc-worker-other") == ()


def taken_over(replicas):
    return gate(replicas, leaving="hpc-worker-gpu")


def test_a_stack_that_takes_the_number_over_pauses_drains_and_leaves_the_pause():
    """The engine removes the ScaledObject after the gate; until then KEDA would write the number back."""
    session = Scaled(with_job(pods=3), Keda(), [nothing, nothing, job_ends(1)])
    scale.settle(session, taken_over(1))
    assert (session.w.replicas, session.w.lost) == (1, [])
    assert session.written_while_scaled == []
    assert (session.keda.paused, session.keda.max_replicas) == (True, 8)


def test_a_stack_that_raises_the_number_pauses_first_too():
    session = Scaled(world("1.1.0", 1), Keda())
    scale.settle(session, taken_over(3))
    assert (session.w.replicas, session.written_while_scaled, session.keda.paused) == (3, [], True)


def test_a_taking_over_that_fails_gives_the_autoscaler_back():
    session = Scaled(with_job(pods=3, end=None), Keda())
    with pytest.raises(DrainDeadline):
        scale.settle(session, taken_over(0))
    assert (session.keda.paused, session.keda.max_replicas, session.w.replicas) == (False, 8, 3)


def superseded(session):
    """A run that ends because a later one has taken the pause over."""
    with standing_still(session, autoscaled(1), 3):
        session.keda.mark = "dev/gpu r9"
        raise DrainBlocked("another run began after this one")


def test_two_runs_the_earlier_one_leaves_the_later_one_s_pause():
    session = Scaled(world("1.1.0", 3), Keda())
    with pytest.raises(DrainBlocked, match="after this one"):
        superseded(session)
    assert session.keda.paused
