"""What the hands of a gate write, and on which condition: each test is a fault that once passed all others."""

from contextlib import ExitStack

import pytest

from slinky_iac import names
from slinky_iac.cluster.reach import Reach
from slinky_iac.drain.lease import ThisRun
from slinky_iac.drain.observe import ask_slurm
from slinky_iac.drain.protocol import (
    ClearHold,
    DeleteNodeSet,
    DeletePods,
    Drain,
    Mark,
    Release,
    RenewHold,
    Replaced,
    SetReplicas,
    Undrain,
    Unmark,
)
from slinky_iac.drain.session import Session
from slinky_iac.errors import KubeConflict, SlurmrestAuthError
from slinky_iac.kube.wire import Clock
from slinky_iac.parts.autoscale.keda import PAUSED
from slinky_iac.parts.autoscale.pause import seen_now
from slinky_iac.slurmrest.shared import SharedJobs
from tests.made import rows
from tests.unit.drain.interleaving import Scheduler
from tests.unit.drain.made import OWNER
from tests.unit.drain.model import OURS, world
from tests.unit.drain.model_session import autoscaled, settings
from tests.unit.drain.site_world import SiteWorld
from tests.unit.drain.whole_site import SCALER, SiteKube, SiteSlurm
from tests.unit.slurmrest import fake


class Hands(Session):
    """A gate's session on a whole cluster in which nothing else acts."""

    slurm = None

    def __init__(self, stack, pods=3):
        reach = Reach("slurm", "hpc-restapi", "jwt", "jwt.key")
        super().__init__(reach, self._say, stack, budget_s=1, clock=Clock(), this_run=ThisRun(id="r1"))
        self.said = []
        self.w = SiteWorld(**vars(world("1.1.2", pods)), live="")
        scheduler = Scheduler(None)
        self.kube = SiteKube(self.w, scheduler, "")
        self.rest = SiteSlurm(self.w, scheduler, self.kube)
        self.slurm = stack.enter_context(self.rest.client())

    def _say(self, text, **_more):
        self.said.append(text)

    def now(self):
        return self.w.now

    def steady(self):
        self.rest.ticks.now = max(self.rest.ticks.now, float(self.w.now))
        return self.rest.ticks.read()

    def annotations(self, number):
        return self.w.pods[number].annotations


@pytest.fixture
def hands():
    with ExitStack() as stack:
        yield Hands(stack)


def test_a_nodeset_is_not_deleted_where_a_pod_changed_since_the_look(hands):
    hands.observe(settings(0))
    hands.w.pods[1].ready = False
    with pytest.raises(KubeConflict, match="changed during the look"):
        hands.act(DeleteNodeSet(()), OWNER)
    assert not hands.kube.gone


def test_a_number_is_written_though_pods_that_stay_change_places_in_the_operators_ranking(hands):
    hands.w.pods[2].annotations["pod-deletion-cost"] = "-9"
    for ordinal, deadline in ((0, "50"), (1, "60")):
        hands.annotations(ordinal)["pod-deadline"] = deadline
    hands.observe(settings(2))
    hands.annotations(0)["pod-deadline"] = "70"
    hands.act(SetReplicas(2, ("hpc-worker-gpu-2",)), OWNER)
    assert hands.w.replicas == 2


def test_a_lower_number_is_permitted_before_it_is_written_and_a_higher_one_needs_none(hands):
    hands.observe(settings(4))
    hands.act(SetReplicas(4), OWNER)
    assert names.ANNOTATION_PERMIT not in hands.kube.annotations
    hands.w.sync(refresh=True)
    generation = hands.w.generation
    hands.observe(settings(2))
    hands.act(SetReplicas(2), OWNER)
    assert hands.kube.annotations[names.ANNOTATION_PERMIT] == names.permit_to_scale(2, generation)


@pytest.mark.parametrize(
    ("step", "order"),
    [
        (lambda mark: RenewHold(("gpu-2",), 900, (mark,)), ["note", "hold"]),
        (lambda mark: ClearHold({"gpu-2": 1_003_600}, (mark,)), ["hold", "note"]),
    ],
    ids=["renewed", "cleared"],
)
def test_a_hold_is_noted_before_it_is_longer_and_forgotten_after_it_is_cleared(hands, step, order):
    """A run that ends between the two leaves a note of a hold that may be there, and never a hold without a note."""
    hands.w.act(Drain(("gpu-2",), f"{OURS}: scale-in", 3600))
    hands.annotations(2)["gate"] = "old"
    hands.observe(settings(2))
    done, update, annotate = [], hands.rest.update, hands.kube.annotate_pod
    hands.rest.update = lambda body: done.append("hold") or update(body)
    hands.kube.annotate_pod = lambda *all_, **more: done.append("note") or annotate(*all_, **more)
    hands.act(step(Mark("hpc-worker-gpu-2", 0, "new")), OWNER)
    assert done == order


def test_a_nodeset_that_the_operator_has_not_seen_may_have_outdated_pods(hands):
    hands.w.sync(refresh=True)
    hands.w.template = 1
    assert not hands.may_be_outdated("hpc-worker-gpu")
    hands.w.generation += 1
    for pod in hands.w.pods.values():
        pod.template = 0  # of the revision that an unseen NodeSet shows
    assert hands.may_be_outdated("hpc-worker-gpu")


def test_a_pod_that_changed_since_the_look_is_not_replaced(hands):
    hands.observe(settings(3))
    hands.w.pods[1].ready = False
    with pytest.raises(KubeConflict):
        hands.act(DeletePods((Replaced("hpc-worker-gpu-1", ""),)), OWNER)
    assert hands.w.deleted == []


@pytest.mark.parametrize(("seconds", "lists"), [(0, 0), (60, 1)])
def test_a_drain_rests_on_the_looks_list_of_nodes_only_while_that_is_young(hands, seconds, lists):
    hands.observe(settings(2))
    before = len(hands.rest.asked_for("GET", "nodes/"))
    hands.w.now += seconds
    hands.act(Drain(("gpu-2",), f"{OURS}: scale-in", 3600), OWNER)
    assert len(hands.rest.asked_for("GET", "nodes/")) - before == lists


def test_a_cost_that_a_pod_had_before_is_put_back(hands):
    hands.annotations(1).update({"gate": "dev/gpu", "pod-deletion-cost": "-9"})
    hands.observe(settings(3))
    hands.act(Release((Unmark("hpc-worker-gpu-1", restore_cost=True, was="5", uncordon=False),)), OWNER)
    assert hands.annotations(1) == {"pod-deletion-cost": "5"}


def test_another_stacks_drain_is_not_lifted_by_name(hands):
    node = hands.w.nodes["gpu-1"]
    node.drain, node.reason = True, "slinky-iac:prod/gpu: scale-in"
    hands.act(Undrain(("gpu-1",)), OWNER)
    assert node.drain


@pytest.mark.parametrize(("hpa", "stopped"), [(True, False), (False, True)])
def test_an_autoscaler_has_not_stopped_while_its_hpa_may_write(hands, hpa, stopped):
    hands.kube.scaled = {PAUSED: "true"}
    told = hands.kube.asked

    def paused(path, model, what, **more):
        hands.kube.hpa = False  # KEDA says Paused before the HorizontalPodAutoscaler is gone
        found = told(path, model, what, **more)
        hands.kube.hpa = hpa
        return found

    hands.kube.asked = paused
    seen = seen_now(hands, autoscaled(2, max_replicas=2, name=SCALER))
    assert (seen.paused, seen.stopped) == (True, stopped)


def test_a_list_of_jobs_that_was_asked_for_before_the_nodes_answered_is_not_taken():
    """Two gates of a process: a job may have begun on a node between the other's jobs and this one's nodes."""
    slurm, shared = fake.FakeSlurm().add(rows.node("gpu-0")), SharedJobs()
    with slurm.client(shared=shared) as one, slurm.client(shared=shared) as other:
        serve, asked = slurm.serve, []

        def between(request, rest, body):
            if rest == "nodes/" and not asked:
                asked.append(other.jobs_after(0, wanted="held"))
            return serve(request, rest, body)

        slurm.serve = between
        found, _ = ask_slurm(lambda: one, ["gpu-0"], None, "")
    assert found.jobs.asked >= found.nodes.answered
    assert len(slurm.asked_for("GET", "jobs/state/")) == 2


def test_a_refused_token_ends_a_look_at_once():
    slurm = fake.FakeSlurm(keys=(fake.OTHER_KEY,))
    with slurm.client() as client, pytest.raises(SlurmrestAuthError):
        ask_slurm(lambda: client, ["gpu-0"], None, "")
