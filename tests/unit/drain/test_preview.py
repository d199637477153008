"""A preview that gets no answer says of a lower number that its plan isn't known, and of none that nothing is selected."""

import dataclasses
from contextlib import contextmanager

import pytest
from msgspec.structs import replace

from slinky_iac.drain import preview
from slinky_iac.drain.gates import outputs
from slinky_iac.drain.protocol import Observation
from slinky_iac.errors import KubeNotFound, KubeUnreachable
from slinky_iac.parts import writers
from tests.made import scalers as made_scalers
from tests.unit.drain.model import OURS, world
from tests.unit.drain.model_session import autoscaled, settings


class Silent:
    """A session without an answer."""

    def __init__(self):
        self.said = []

    def observe(self, _settings, **_more):
        raise KubeUnreachable("no route.")

    def report(self, message, **_more):
        self.said.append(message)

    @contextmanager
    def opened(self, *_arguments, **_more):
        yield self

    def scale(self, settings, olds):
        return preview.nodeset_scale(settings, olds, self.opened)


@pytest.fixture
def silent():
    return Silent()


def test_a_lower_number_is_a_plan_that_is_not_known(silent):
    plan = silent.scale(settings(1), {"replicas": 3.0}).plan.props
    assert (plan["known"], plan["from"], plan["to"]) == (False, 3, 1)
    assert "The update asks again" in silent.said[0]


def test_a_lower_maximum_of_an_autoscaler_is_one_too(silent):
    plan = silent.scale(settings(2, scaler="autoscaler", max_replicas=4), {"replicas": 2.0, "maxReplicas": 10.0}).plan.props
    assert (plan["known"], plan["from"], plan["to"]) == (False, 10, 4)
    assert "The update asks again" in silent.said[0]


def test_an_unchanged_number_that_is_not_known_makes_the_update_ask(silent):
    """No update may end well while a drain of ours may stand on a node that stays."""
    olds = {"replicas": 3.0, "plan": {"nodeset": "gpu"}}
    found = silent.scale(settings(3), olds)
    assert found.props(olds) == olds["plan"], "that of the state"
    assert "no route" in found.due


def test_a_creation_that_nobody_can_look_at_says_so(silent):
    plan = silent.scale(settings(1), {}).plan.props
    assert plan["known"] is False, "`slinky plan` doesn't say that there is nothing to wait for"
    assert "exists already, with jobs: no route" in plan["warnings"][0]
    assert "it is unknown whether hpc-worker-gpu exists already, with jobs: no route" in silent.said[0]


@pytest.mark.parametrize("there", [0, 2])
def test_a_creation_without_pods_to_lose_has_no_plan(silent, there):
    nothing = Observation(1, world("1.1.0", 1).version)
    silent.observe = lambda _settings, **_more: world("1.1.0", there).observe() if there else nothing
    assert silent.scale(settings(2), {}) == preview.Seen()
    assert silent.said == []


def test_a_creation_over_a_nodeset_that_is_there_plans_the_drain(silent):
    """A state that was lost: the gate drains what is over its number."""
    silent.observe = lambda _settings, **_more: world("1.1.0", 3).observe()
    found = silent.scale(settings(2), {})
    assert (found.plan.props["from"], found.plan.props["to"], len(found.plan.props["nodes"])) == (3, 2, 1)


def test_a_number_as_it_should_be_is_no_work(silent):
    silent.observe = lambda _settings, **_more: world("1.1.0", 3).observe()
    olds = {"replicas": 3.0, "plan": {"nodeset": "gpu"}}
    assert silent.scale(settings(3), olds) == preview.Seen()


def test_a_nodeset_that_somebody_raised_is_drained_down_by_the_update(silent):
    silent.observe = lambda _settings, **_more: world("1.1.0", 3).observe()
    found = silent.scale(settings(2), {"replicas": 2.0, "plan": {"nodeset": "gpu"}})
    assert found.plan.props["nodes"]
    assert found.due == "hpc-worker-gpu has 3 replicas and 2 are asked for"


def test_a_nodeset_that_somebody_lowered_is_raised_by_the_update(silent):
    silent.observe = lambda _settings, **_more: world("1.1.0", 3).observe()
    found = silent.scale(settings(4), {"replicas": 4.0})
    assert found.plan.props["raises"] == {"from": 3, "to": 4}
    assert found.due


@pytest.mark.parametrize("number", [2, 3, 4])
def test_a_frozen_nodeset_is_told_whatever_the_update_was_to_do(silent, number):
    there = world("1.1.0", 3).observe()
    meta = replace(there.nodeset.metadata, annotations={"slinky-iac/freeze": "incident 4711"})
    silent.observe = lambda _settings, **_more: dataclasses.replace(there, nodeset=replace(there.nodeset, metadata=meta))
    silent.scale(settings(number), {"replicas": 3.0})
    assert [text for text in silent.said if "incident 4711" in text and "slinky-iac/freeze-`" in text]


def test_an_autoscalers_number_is_no_work(silent):
    silent.observe = lambda _settings, **_more: world("1.1.0", 3).observe()
    assert silent.scale(settings(4, scaler="autoscaler", max_replicas=5), {"replicas": 4.0}).due == ""


def test_a_drain_of_ours_on_a_node_that_stays_is_work_for_the_update(silent):
    w = world("1.1.0", 3)
    w.nodes["gpu-1"].drain, w.nodes["gpu-1"].reason = True, f"{OURS}: scale-in 3->2"
    silent.observe = lambda _settings, **_more: w.observe()
    found = silent.scale(settings(3), {"replicas": 3.0})
    assert found.plan.props["gives_back"] == ["gpu-1"]
    assert "gpu-1" in found.due


def test_a_nodeset_that_is_gone_is_said_to_need_a_refresh(silent):
    silent.observe = lambda _settings, **_more: Observation(1, world("1.1.0", 1).version)
    assert "`pulumi up --refresh` makes it again" in silent.scale(settings(3), {"replicas": 3.0}).due


class Watched:
    """A session with an autoscaler and another one beside it, which answers as long as it is open."""

    def __init__(self):
        self.open = True
        self.said = []
        self.kube = self

    def observe(self, _settings, **_more):
        return world("1.1.0", 3).observe()

    def asked(self, _path, _model, what):
        assert self.open, "a closed connection answers nothing"
        raise KubeNotFound(f"no {what}", status=404)

    def listed(self, path, model, _what):
        assert self.open, "a closed connection answers nothing"
        return made_scalers.listed(path, model, "ScaledObject/hpc-worker-gpu", "ScaledObject/rival")

    def report(self, message, **_more):
        self.said.append(message)


def test_a_preview_asks_about_the_autoscaler_before_it_closes_its_connection():
    session = Watched()

    @contextmanager
    def opened(*_arguments, **_more):
        yield session
        session.open = False

    found = autoscaled(max_replicas=4)
    assert preview.nodeset_scale(found, {"replicas": 0.0, "maxReplicas": 4.0}, opened).failures == ()
    assert not session.open
    assert "today's demand" in session.said[0] or "busy" in session.said[0]
    assert session.said[1].startswith("ScaledObject/rival also writes")


@pytest.mark.parametrize(
    ("before", "after", "leaving"),
    [
        ({"autoscaler": "hpc-gpu"}, {"owner": "stack"}, "hpc-gpu"),
        ({"autoscaler": "hpc-gpu"}, {"owner": "autoscaler", "autoscaler": "hpc-gpu"}, None),
        ({"autoscaler": "hpc-gpu"}, {"owner": "autoscaler"}, None),
        ({}, {"owner": "stack"}, None),
    ],
)
def test_only_a_stack_that_takes_the_number_over_is_asked_to_pause_the_former_autoscaler(before, after, leaving):
    news = writers.inputs(before, after)
    assert news.get("formerAutoscaler") == leaving
    assert "formerAutoscaler" not in outputs(news), "what only one update needs is not in the state's outputs"
