"""slurmctld refuses UNDRAIN and RESUME of a node that registered as something else than it is configured to be.

That node is named, and every other one is returned: one node's refusal is not the run's end.
"""

from __future__ import annotations

import pytest

from slinky_iac.drain.maintenance import plan_hosts
from slinky_iac.drain.members import fault_of, stale_records, undo_steps, unreturnable
from slinky_iac.drain.protocol import Release, Resume, Undrain
from slinky_iac.drain.scale import give_back
from slinky_iac.drain.session import act_on_slurm
from slinky_iac.drain.settings import Owner
from tests.made import rows
from tests.unit.drain.made import NOW, OURS, OWNER, given_up, held, node, pod, seen
from tests.unit.drain.model import world
from tests.unit.drain.model_session import ModelSession, settings
from tests.unit.slurmrest import fake

WRONG = ("IDLE", "DRAIN", "INVALID_REG")


class Strict(fake.FakeSlurm):
    """As slurmctld: what can be done is done, and the answer is an error all the same."""

    def update(self, body):
        lifts = body.get("state") in (["UNDRAIN"], ["RESUME"])
        bad = [name for name in body["name"] if lifts and "INVALID_REG" in self.nodes[name]["state"]]
        super().update({**body, "name": [name for name in body["name"] if name not in bad]})
        return fake.answer(422, [fake.error(2028, "Invalid node state specified")]) if bad else fake.answer()


def test_an_undo_returns_every_other_node_and_names_this_one():
    look = seen([pod(0), pod(1)], [held(0), node(1, "+".join(WRONG), OURS)])
    assert undo_steps(look, OWNER) == (Undrain(("gpu-0",)),)
    (told,) = unreturnable(look, OWNER)
    assert told.startswith("gpu-1 registered as something else")
    assert unreturnable(seen([pod(0)], [held(0)]), OWNER) == ()
    assert unreturnable(seen([pod(1)], [node(1, "+".join(WRONG), "gres/gpu count")]), OWNER) == (), "slurmctld's own drain"


def test_marks_are_taken_back_though_the_drain_cannot_be():
    assert [type(step) for step in undo_steps(seen([given_up(1)], [node(1, "+".join(WRONG), OURS)]), OWNER)] == [Release]


@pytest.mark.parametrize("step", [Undrain(("gpu-0", "gpu-1")), Resume(("gpu-0", "gpu-1"))])
def test_a_node_that_registered_wrongly_since_the_look_is_told_and_ends_no_update(step):
    slurm = Strict().add(rows.node("gpu-0", "IDLE", "DRAIN", reason=OURS), rows.node("gpu-1", *WRONG, reason=OURS))
    told = []
    act_on_slurm(slurm.client(), step, OWNER, told.append)
    assert "DRAIN" not in slurm.nodes["gpu-0"]["state"]
    assert [text.split(":")[0].split()[-1] for text in told] == ["gpu-1"]
    assert "Invalid node state" in told[0]


def test_a_record_that_an_earlier_pod_left_is_not_resumed_while_its_node_is_wrong():
    left = {"reason": "slurm-operator: Pod is terminating", "reason_changed_at": NOW - 9000}
    assert stale_records(seen([pod(1)], [node(1, "IDLE+DRAIN", **left)]), OWNER) == ("gpu-1",)
    assert stale_records(seen([pod(1)], [node(1, "+".join(WRONG), **left)]), OWNER) == ()


def test_the_fault_of_such_a_node_is_its_registration_and_not_our_drain():
    look = seen([pod(1)], [node(1, "+".join(WRONG), OURS)])
    assert "registered as something else" in fault_of(look.pods[0], look, OWNER)


def test_a_cancel_ends_well_and_says_which_drain_stays():
    w = world("1.2.1", 2)
    for name in ("gpu-0", "gpu-1"):
        w.nodes[name].drain, w.nodes[name].reason = True, OURS
    w.nodes["gpu-1"].wrong = True
    session = ModelSession(w)
    assert give_back(session, settings(2)) == 1
    assert not w.nodes["gpu-0"].drain
    assert session.said[-1].startswith("our drain stays: gpu-1 registered as something else")


def test_a_metal_host_that_registered_wrongly_is_named_and_the_others_return():
    owner = Owner("dev", "outside-hosts")
    ours = owner.reason("maintenance")
    look = seen([], [held(0, reason=ours), node(1, "+".join(WRONG), ours), node(2, "+".join(WRONG), ours)])
    plan = plan_hosts((), ("gpu-0", "gpu-1"), look.cluster, owner, NOW, ("gpu-2",))
    assert plan.returns == ("gpu-0",)
    assert [text.split()[0] for text in plan.notices] == ["gpu-1", "gpu-2"]
