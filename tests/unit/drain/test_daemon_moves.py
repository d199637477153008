"""A Kubernetes node that goes from one NodeSet in DaemonSet mode to another in one update: the first one's gate drains it
and lets go, and only then does the second one's pod come, under the same name in Slurm."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from slinky_iac.drain import preview, scale
from slinky_iac.drain.daemons import SetSelection
from slinky_iac.drain.observe import completed
from slinky_iac.drain.protocol import SetCosts, Stop, Wait
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import DrainPolicy
from slinky_iac.drain.steps import next_step
from slinky_iac.errors import DrainBlocked
from slinky_iac.kube.objects import Pod
from slinky_iac.names import LABEL_INSTANCE
from slinky_iac.selection import Selection
from tests.unit.drain.made import NOW, given_up, goal, held, job, node, pod
from tests.unit.drain.model_session import settings
from tests.unit.drain.test_daemons import ALL, MACHINES, ONE, Desk, daemon, looked, shown, state, wish

CPU = "hpc-worker-cpu"
HELD = {"gpu-1": CPU}
TWO = Selection({"pool": "gpu", "n": "1"})
GONE = "slurm-operator: Pod is terminating"


def comes(record=None, **more):
    """A look of the NodeSet that gets gpu-1, which NodeSet cpu still has, or has left a record of."""
    record = node(1, "MIXED+DYNAMIC_NORM", features=["cpu"]) if record is None else record
    plain = {"selection": ONE, "neighbours": HELD}
    return looked([daemon(pod, 0)], [node(0), record], **{**plain, **more})


# -- the order -------------------------------------------------------------------------------------------------------------
def test_the_second_nodeset_waits_for_the_first_and_names_it():
    step = next_step(comes(jobs=[job(7, 1)]), wish(ALL, ONE))
    assert isinstance(step, Wait)
    assert f"gpu-1 has a pod of NodeSet {CPU}" in step.why
    assert "End the other slurmd" not in step.why


def test_it_waits_also_while_the_first_ones_pod_is_ending_though_its_record_is_down():
    """Under that record its slurmd would be a node of the first NodeSet's partition."""
    down = node(1, "DOWN+DRAIN+DYNAMIC_NORM", reason=GONE, features=["cpu"])
    assert isinstance(next_step(comes(down), wish(ALL, ONE)), Wait)


@pytest.mark.parametrize("reason", [GONE, "slinky-iac:dev/cpu: machines that fit 2->1"])
def test_the_record_that_the_first_one_leaves_goes_before_the_pod_comes(reason):
    """slurmctld takes features only from a registration that makes the record (1.2 leaves it)."""
    down = node(1, "DOWN+DRAIN+DYNAMIC_NORM", reason=reason, features=["cpu"])
    step = next_step(comes(down, neighbours={}), wish(ALL, ONE))
    assert step == SetSelection(ALL, (), ("gpu-1",))


@pytest.mark.parametrize(("state", "features"), [("DOWN+DYNAMIC_NORM", ["gpu"]), ("DOWN", ["cpu"])])
def test_a_record_of_its_own_and_one_of_slurm_conf_stay(state, features):
    down = node(1, state, reason=GONE, features=features)
    assert next_step(comes(down, neighbours={}), wish(ALL, ONE)) == SetSelection(ALL, ())


@pytest.mark.parametrize("reason", ["bad fan", "slinky-iac:prod/cpu: rollout", "Not responding", ""])
def test_a_record_with_a_persons_or_another_stacks_reason_is_not_deleted(reason):
    """Nor of a machine that starts again: its pod may be in another namespace, or another Kubernetes."""
    down = node(1, "DOWN+DYNAMIC_NORM", reason=reason, features=["cpu"])
    step = next_step(comes(down, neighbours={}), wish(ALL, ONE))
    assert isinstance(step, Wait)
    assert reason in step.why
    assert "scontrol delete nodename=gpu-1" in step.why


def test_at_its_end_it_says_what_to_do():
    step = next_step(comes(), wish(ALL, ONE, deadline_at=NOW - 1))
    assert isinstance(step, Stop)
    for part in ("Pulumi deletes it last", "still fits", "an update of its own"):
        assert part in step.why, part


# -- two that wait for each other ------------------------------------------------------------------------------------------
def swaps(**more):
    """gpu-0 goes, and gpu-1 comes from the other NodeSet."""
    nodes = [node(0), node(1, "MIXED+DYNAMIC_NORM", features=["cpu"])]
    return looked(**{"pods": [daemon(pod, 0)], "nodes": nodes, "selection": ONE, "neighbours": HELD, **more})


def test_nodes_that_two_nodesets_exchange_take_two_updates_and_nothing_is_drained():
    """Each gate would wait for the other one with its own node drained, until the deadline, and so in each next run."""
    step = next_step(swaps(), wish(TWO, ONE))
    assert isinstance(step, Stop)
    assert "two updates" in step.why
    assert "Nothing was drained" in step.why
    found, _ = shown(swaps(), TWO)
    assert any("two updates" in each for each in found.failures)


def test_one_that_has_begun_continues():
    """Somebody's pod came to the machine meanwhile: what is drained is waited for, and removed at the end or given back."""
    begun = swaps(pods=(daemon(given_up, 0),))
    begun = replace(begun, cluster=looked([], [held(0), node(1, "MIXED+DYNAMIC_NORM", features=["cpu"])]).cluster)
    assert isinstance(next_step(begun, wish(TWO, ONE)), Wait)


def test_without_a_neighbour_the_same_change_is_one_update():
    free = looked([daemon(pod, 0)], [node(0)], selection=ONE)
    assert isinstance(next_step(free, wish(TWO, ONE)), SetCosts)


# -- the preview -----------------------------------------------------------------------------------------------------------
def test_a_preview_says_whom_the_update_waits_for_and_how_long():
    found, _ = shown(comes(), ALL)
    assert found.failures == ()
    (text,) = (each for each in found.plan.props["warnings"] if CPU in each)
    assert "Pulumi deletes it last" in text
    assert "up to 600 s" in text


def test_a_preview_of_a_nodeset_that_is_new_says_it_too():
    """A NodeSet that is renamed in the program is a new one, and the old one is deleted last."""
    desk = Desk(replace(looked([], []), nodeset=None, pods=(), machines=None))
    desk.kube = Kube(neighbour())
    mine = settings(0, selection=ALL)
    assert preview.nodeset_scale(mine, {}, desk.opened) == preview.Seen()
    (text,) = desk.said
    assert f"gpu-1 has a pod of NodeSet {CPU}" in text
    assert "Pulumi deletes it last" in text
    desk.said, desk.kube = [], Kube()
    preview.nodeset_scale(mine, {}, desk.opened)
    assert desk.said == []


# -- what is asked ---------------------------------------------------------------------------------------------------------
def neighbour(name: str = "gpu-1", of: str = CPU) -> Pod:
    made = pod(1, name=f"{of}-x", slurm_node=name, machine=name, mode="DaemonSet")
    labels = {**made.metadata.labels, LABEL_INSTANCE: of}
    meta = type(made.metadata)(**{
        **{each: getattr(made.metadata, each) for each in made.metadata.__struct_fields__},
        "labels": labels, "uid": "another",
    })  # fmt: skip
    return Pod(metadata=meta, spec=made.spec, status=made.status)


class Kube:
    def __init__(self, *workers):
        self.workers, self.asked = workers, 0

    def machines(self):
        return MACHINES

    def worker_pods(self, _namespace):
        self.asked += 1
        return self.workers

    def pods_of(self, _namespace, _state):
        return (daemon(pod, 0),)


def test_pods_of_other_nodesets_are_asked_for_where_slurm_has_a_name_that_comes():
    look = replace(comes(), neighbours={}, machines=None)
    kube = Kube(neighbour(), daemon(pod, 0))
    assert completed(look, kube, settings(0, selection=ALL)).neighbours == HELD
    assert completed(look, kube, settings(0, selection=ONE)).neighbours == {}
    assert kube.asked == 1, "nothing comes"


def test_the_wait_for_another_nodeset_is_as_long_as_that_ones_drain():
    """It has jobs to wait for; a registration takes minutes."""
    policy = DrainPolicy(deadline_s=7200, register_deadline_s=300)
    for workers, patience in (((neighbour(),), 7200), ((), 300)):
        session = SimpleNamespace(kube=Kube(*workers), now=lambda: NOW, run="r", asked_by="")
        found = scale._select_goal(session, settings(0, selection=ALL, policy=policy), state(ONE), ALL)
        assert found.deadline_at - NOW == patience


def test_a_removal_is_not_held_up_by_a_neighbour():
    look = looked([daemon(given_up, 0)], [held(0), node(1, "MIXED+DYNAMIC_NORM", features=["cpu"])], neighbours=HELD)
    assert not isinstance(next_step(look, goal(1, 0, teardown=True)), Stop)


# -- the write -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("named", [set(), {"gpu-1"}])
def test_the_record_goes_before_the_selection_is_written_and_stays_with_it_where_a_job_names_it(named):
    """slurmctld would end that job at its next start; under the record the pod would be another NodeSet's node."""
    did: list[str] = []
    hands = SimpleNamespace(
        reach=SimpleNamespace(namespace="slurm"),
        _named=lambda records: named & {*records},
        slurm=SimpleNamespace(delete_node=lambda name: did.append(f"delete {name}")),
        kube=SimpleNamespace(set_selection=lambda *_: did.append("select")),
    )
    step = SetSelection(ALL, (), ("gpu-1",))
    if named:
        with pytest.raises(DrainBlocked, match="Slurm's record of gpu-1, another NodeSet's node, can't be deleted"):
            Session._write_on(hands, state(ONE), step)
    else:
        Session._write_on(hands, state(ONE), step)
    assert did == ([] if named else ["delete gpu-1", "select"])
