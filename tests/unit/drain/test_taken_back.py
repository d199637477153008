"""An autoscaler lowers the number and raises it again: slurm-operator, whose strategy is OnDelete then, returns no node of a
NodeSet that has its number. The gate does, where the operator cordoned the pod and no one else did (found on the lab)."""

from dataclasses import replace

import pytest

from slinky_iac.drain.marks import Unmark
from slinky_iac.drain.members import members_step, taken_back
from slinky_iac.drain.observe import look
from slinky_iac.drain.protocol import Done, Release, Wait
from slinky_iac.drain.scale import MembersTask
from slinky_iac.names import ANNOTATION_POD_CORDON
from tests.made.rows import node as listed
from tests.unit.drain.made import NOW, held, node, nodeset, pod, seen
from tests.unit.drain.model_session import settings
from tests.unit.drain.test_preview import silent
from tests.unit.slurmrest.fake import FakeSlurm

__all__ = ["silent"]

REASON = "slurm-operator: Pod (slurm/hpc-worker-gpu-1) was cordoned"
GATE = settings(2, scaler="autoscaler", max_replicas=3, updates="Gated")


def view(record=None, worker=None, **changes):
    """Two pods, one of which the operator had selected for removal."""
    workers = [pod(0), worker or pod(1, cordon=True)]
    return seen(workers, [node(0), record or node(1, "IDLE+DRAIN", REASON)], **changes)


def names(found):
    return [each.name for each in found]


@pytest.mark.parametrize("updates", ["Gated", "OnDelete"])
@pytest.mark.parametrize("reason", [REASON, f"{REASON} pending termination"])
def test_a_node_that_the_operator_holds_for_its_cordon_is_asked_about(updates, reason):
    look = view(node(1, "IDLE+DRAIN", reason))
    assert names(taken_back(look, replace(GATE, updates=updates))) == ["hpc-worker-gpu-1"]


@pytest.mark.parametrize(
    ("look", "gate"),
    [
        (view(), replace(GATE, scaler="stack")),
        (view(), replace(GATE, updates="RollingUpdate")),
        (view(replicas=1), GATE),
        (view(nodeset=nodeset(2, observed_generation=0)), GATE),
        (view(nodeset=None), GATE),
        (view(cluster=None), GATE),
        (view(), replace(GATE, max_replicas=1)),
        (view(node(1, "IDLE+DRAIN", "bad DIMM")), GATE),
        (view(node(1, "IDLE+DRAIN", "slurm-operator: Node (n1) was cordoned, Pod (x) must be cordoned")), GATE),
        (view(held(1)), GATE),
        (view(node(1, "IDLE")), GATE),
        (view(worker=pod(1)), GATE),
        (view(worker=pod(1, cordon=True, gate="another gate's")), GATE),
        (view(worker=pod(1, cordon=True, terminating=True)), GATE),
    ],
    ids=[
        "the stack's number", "the operator's own rollouts", "a lower number", "not observed", "no NodeSet", "no answer",
        "over the maximum", "a person's drain", "a cordoned machine", "our drain", "in service", "no cordon",
        "another gate's", "ending",
    ],
)  # fmt: skip
def test_every_other_node_is_left_alone(look, gate):
    assert taken_back(look, gate) == ()


def test_the_gate_takes_the_cordon_away_and_waits_until_the_operator_returns_the_node():
    step = members_step(replace(view(), cordoned=frozenset({"hpc-worker-gpu-1"})), GATE, NOW + 60)
    assert step == Release((Unmark("hpc-worker-gpu-1", restore_cost=False, was=None, uncordon=True),))
    assert isinstance(members_step(view(worker=pod(1)), GATE, NOW + 60), Wait)
    assert members_step(view(node(1, "IDLE"), pod(1)), GATE, NOW + 60) == Done()


def test_a_cordon_of_a_person_does_not_hold_up_an_update():
    assert members_step(view(), GATE, NOW + 60) == Done()


class Session:
    """What MembersTask asks of it."""

    def now(self):
        return NOW


def test_a_cordon_that_the_operator_sets_again_is_taken_away_once():
    """Its machine is cordoned too."""
    task = MembersTask(Session(), GATE)
    again = replace(view(), cordoned=frozenset({"hpc-worker-gpu-1"}))
    step = task.decide(again)
    task.did(step)
    assert (type(step), task.decide(again)) == (Release, Done())


class Kube:
    """Kubernetes with the NodeSet; ``maker``: whether the operator cordoned the pod."""

    def nodeset(self, _namespace, _name):
        return nodeset(2)

    def pods_of(self, _namespace, _state):
        return (pod(0), pod(1, cordon=True))

    def deployment_available(self, _namespace, _name):
        return 1


@pytest.mark.parametrize("theirs", [True, False])
def test_a_look_asks_who_cordoned_the_pod(theirs):
    asked = []

    def is_makers(_kube, namespace, name, annotation):
        asked.append((namespace, name, annotation))
        return theirs

    slurm = FakeSlurm().add(listed("gpu-0")).add(listed("gpu-1", "IDLE", "DRAIN", reason=REASON))
    with slurm.client() as client:
        found = look(Kube(), lambda: client, GATE, NOW, is_makers=is_makers).observation
    assert found.cordoned == (frozenset({"hpc-worker-gpu-1"}) if theirs else frozenset())
    assert asked == [("slurm", "hpc-worker-gpu-1", ANNOTATION_POD_CORDON)]


def test_a_preview_says_that_the_update_returns_the_node(silent):
    silent.observe = lambda _settings, **_more: replace(view(), cordoned=frozenset({"hpc-worker-gpu-1"}))
    found = silent.scale(GATE, {"replicas": 2.0})
    assert found.plan.props["gives_back"] == ["gpu-1"]
    assert found.due == (
        "slurm-operator keeps gpu-1 drained, though no pod is selected for removal now; the update returns it to service"
    )
