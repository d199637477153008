"""A preview that gets no answer says of a lower number that its plan isn't known, and of none that nothing is given up."""

from contextlib import contextmanager

import pytest

from slinky_iac.drain import preview
from slinky_iac.errors import KubeUnreachable
from tests.unit.drain.model import world
from tests.unit.drain.test_drive import settings


class Silent:
    """A session without an answer."""

    def __init__(self):
        self.said = []

    def observe(self, _settings):
        raise KubeUnreachable("no route.")

    def report(self, message, **_more):
        self.said.append(message)


@pytest.fixture
def silent(monkeypatch):
    session = Silent()

    @contextmanager
    def opened(*_arguments, **_more):
        yield session

    monkeypatch.setattr(preview, "open_session", opened)
    return session


def test_a_lower_number_is_a_plan_that_is_not_known(silent):
    plan = preview.scale_in(settings(1), {"replicas": 3.0}).plan
    assert (plan["known"], plan["from"], plan["to"]) == (False, 3, 1)
    assert "The update will ask again" in silent.said[0]


def test_a_lower_maximum_of_an_autoscaler_is_one_too(silent):
    plan = preview.scale_in(settings(2, scaler="autoscaler", maximum=4), {"replicas": 2.0, "maxReplicas": 10.0}).plan
    assert (plan["known"], plan["from"], plan["to"]) == (False, 10, 4)
    assert "The update will ask again" in silent.said[0]


def test_an_unchanged_number_keeps_its_plan_and_says_that_nobody_was_asked(silent):
    olds = {"replicas": 3.0, "plan": {"nodeset": "gpu"}}
    assert preview.scale_in(settings(3), olds).plan == olds["plan"]
    assert "No node is given up here" in silent.said[0]


def test_a_number_taken_over_from_an_autoscaler_needs_a_refresh(silent):
    """The engine has ignored spec.replicas so far, so without one it may see nothing to write."""
    silent.observe = lambda _settings: world("1.1.0", 3).observe()
    assert preview.scale_in(settings(1), {"replicas": 1.0, "owner": "autoscaler"}).plan["nodes"]
    assert "has 3 replicas, by an autoscaler that set them until now" in silent.said[0]
    assert "add --refresh" in silent.said[0]


def test_a_nodeset_that_somebody_raised_is_told_beside_the_plan_that_a_refresh_would_carry_out(silent):
    """A check is given old inputs, which a refresh leaves alone: a preview with --refresh must have its plan."""
    silent.observe = lambda _settings: world("1.1.0", 3).observe()
    assert preview.scale_in(settings(2), {"replicas": 2.0, "plan": {"nodeset": "gpu"}}).plan["nodes"]
    assert "has 3 replicas where the stack says 2: somebody scaled it. Only with --refresh" in silent.said[0]
