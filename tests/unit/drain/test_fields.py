"""Each field that a decision rests on is false or different in some test, and then the decision is another one.

A fake that always says yes lets a fault in the wiring pass: which answer becomes which field, and which prop which setting.
The last tests list the fields, so that a new one is not forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import msgspec
import pytest

from slinky_iac import names
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.daemons import SetSelection
from slinky_iac.drain.members import members_step
from slinky_iac.drain.observe import look
from slinky_iac.drain.protocol import (
    Done,
    Observation,
    Release,
    SetCosts,
    SetReplicas,
    Step,
    Stop,
    TriggerSync,
    Wait,
)
from slinky_iac.drain.settings import LEAVING, DrainPolicy, GateSettings, Limits, plain_policy
from slinky_iac.drain.steps import next_step
from slinky_iac.errors import KubeForbidden, KubeNotFound, SlurmrestUnreachable
from slinky_iac.parts.autoscale.pause_steps import PauseScaler, ResumeScaler, ScalerView, Told, mark, pause_step, resume_step
from slinky_iac.releases import OperatorVersion
from slinky_iac.selection import Selection, Selects
from tests.clusters import recorded
from tests.made import rows as slurm_rows
from tests.made import scalers as made_scalers
from tests.made.machines import worker_machine
from tests.unit.drain.made import NOW, OWNER, V110, given_up, goal, held, job, node, nodeset, pod, seen
from tests.unit.drain.model_session import settings
from tests.unit.slurmrest import fake

# -- what a look shows: another value, another step ------------------------------------------------------------------------
PLAIN = seen([pod(0), given_up(1)], [node(0), held(1)])
"""One node is free and may go."""
BUSY = replace(PLAIN, cluster=ClusterView.of([node(0), held(1, "MIXED+DRAIN")], [job(1, 1)]))
Difference = tuple[Observation, Observation, Callable[[Observation], Step], type[Step], type[Step], str]


def lowers(look: Observation) -> Step:
    return next_step(look, goal(2, 1))


def members(look: Observation) -> Step:
    return members_step(look, settings(2, scaler="autoscaler", max_replicas=4), NOW + 60)


def raises(look: Observation) -> Step:
    return next_step(look, goal(1, 2))


HOST_NETWORK = {"hostNetwork": True, "nodeSelector": {"pool": "gpu"}}
SETTLED = seen([pod(0), pod(1)], [node(0), node(1)])
ON_HOST = seen([pod(0)], [node(0), node(1)], nodeset=nodeset(1, template_spec=HOST_NETWORK))
GPUS = Selection({"pool": "gpu"})
ON_EACH = seen(
    [pod(0)],
    [node(0)],
    nodeset=nodeset(0, mode="DaemonSet", on_delete=True),
    machines=(worker_machine("k-1", {"pool": "gpu"}),),
)
"""A pod on k-1, which fits."""
COMES = replace(ON_EACH, machines=(*(ON_EACH.machines or ()), worker_machine("k-2", {"pool": "gpu"})))
"""The same, and k-2 is to have one."""
OBSERVED: dict[str, Difference] = {
    "now": (BUSY, replace(BUSY, now=NOW + 4000), lowers, Wait, Stop, "deadline"),
    "version": (
        replace(PLAIN, pods=(pod(0), given_up(1, slurm_states={"MIXED", "DRAIN"}))),
        replace(PLAIN, pods=(pod(0), given_up(1, slurm_states={"MIXED", "DRAIN"})), version=OperatorVersion(1, 2, 1)),
        lowers,
        SetReplicas,
        Step,
        "",
    ),
    "pods": (PLAIN, replace(PLAIN, pods=(*PLAIN.pods, pod(2))), lowers, SetReplicas, TriggerSync, ""),
    "nodeset": (PLAIN, replace(PLAIN, nodeset=None), lowers, SetReplicas, Stop, "not there"),
    "cluster": (PLAIN, replace(PLAIN, cluster=None, problem="asleep"), lowers, SetReplicas, Wait, "asleep"),
    "writers": (PLAIN, replace(PLAIN, writers=("HPA/x",)), lowers, SetReplicas, Stop, "HPA/x"),
    "restapi_ready": (PLAIN, replace(PLAIN, restapi_ready=False), lowers, SetReplicas, Wait, "blind"),
    "problem": (
        replace(PLAIN, cluster=None, problem="asleep"),
        replace(PLAIN, cluster=None, problem="gone"),
        lowers,
        Wait,
        Wait,
        "gone",
    ),
    "free_machines": (
        replace(ON_HOST, free_machines=frozenset()),
        replace(ON_HOST, free_machines=frozenset({"gpu-1"})),
        raises,
        SetReplicas,
        Wait,
        "gpu-1 is in use in Slurm without a pod",
    ),
    "machines": (
        ON_EACH,
        replace(ON_EACH, machines=(worker_machine("k-1", {"pool": "cpu"}),)),
        lambda look: next_step(look, goal(1, 1, selects=Selects(GPUS, Selection()))),
        SetSelection,
        SetCosts,
        "",
    ),
    "neighbours": (
        COMES,
        replace(COMES, neighbours={"k-2": "hpc-worker-cpu"}),
        lambda look: next_step(look, goal(1, 1, selects=Selects(GPUS, Selection()))),
        SetSelection,
        Wait,
        "a pod of NodeSet hpc-worker-cpu",
    ),
    "cordoned": (SETTLED, replace(SETTLED, cordoned=frozenset({pod(1).name})), members, Done, Release, ""),
}


@pytest.mark.parametrize("name", OBSERVED)
def test_a_decision_rests_on_each_field_of_a_look(name: str) -> None:
    one, other, decide, was, becomes, says = OBSERVED[name]
    first, second = decide(one), decide(other)
    assert isinstance(first, was), first
    assert isinstance(second, becomes), second
    assert first != second
    assert says in getattr(second, "why", "")


# -- which answer becomes which field --------------------------------------------------------------------------------------
class Kube:
    """A Kubernetes with one NodeSet; each answer may be another one."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {
            "state": nodeset(2),
            "pods": (pod(0), pod(1)),
            "scalers": (),
            "serving": 1,
            "makers": False,
            "machines": {},
            **answers,
        }

    def nodeset(self, _namespace: str, _name: str) -> Any:
        if self.answers["state"] is None:
            raise KubeNotFound("gone", status=404)
        return self.answers["state"]

    def pods_of(self, *_: Any) -> Any:
        return self.answers["pods"]

    def worker_pods(self, _namespace: str) -> Any:
        return self.answers.get("workers", self.answers["pods"])

    def listed(self, path: str, kind: Any, _what: str, *, headers: Any = None) -> Any:
        """Kubernetes nodes, by name with their labels; autoscalers by ``kind/name``."""
        if "scale" in path:
            return made_scalers.listed(path, kind, *self.answers["scalers"])
        assert path == "/api/v1/nodes"
        assert "Partial" in headers["accept"]
        if self.answers["machines"] is None:
            raise KubeForbidden("not yours", status=403)
        rows = [{"metadata": {"name": name, "uid": name, "labels": has}} for name, has in self.answers["machines"].items()]
        return msgspec.convert({"items": rows}, kind).items

    def machines(self) -> Any:
        return tuple(worker_machine(name, labels) for name, labels in self.answers["machines"].items())

    def deployment_available(self, namespace: str, name: str) -> Any:
        assert (namespace, name) == ("slurm", "hpc-restapi")
        return self.answers["serving"]


def looked(up: bool = True, at: int = NOW, version: OperatorVersion = V110, **answers: Any) -> Observation:
    kube = Kube(**answers)
    cordon = "slurm-operator: Pod (hpc-worker-gpu-1) was cordoned"
    slurm = fake.FakeSlurm().add(slurm_rows.node("gpu-0"), slurm_rows.node("gpu-1", "IDLE", "DRAIN", reason=cordon))
    scaler = "autoscaler" if answers.get("makers") else "stack"
    found = settings(2, version=version, scaler=scaler, updates="Gated", selection=answers.get("selects"))
    with slurm.client() as client:

        def reached() -> Any:
            if not up:
                raise SlurmrestUnreachable("asleep")
            return client

        return look(kube, reached, found, at, is_makers=lambda *_: kube.answers["makers"]).observation


GROWS: dict[str, Any] = {
    "state": nodeset(2, template_spec=HOST_NETWORK),
    "pods": (pod(0),),
    "machines": {"k-1": {"pool": "gpu"}, "k-2": {"pool": "gpu", "x": "y"}, "k-3": {"pool": "cpu"}, "k-4": {}},
}
"""One pod is missing, and one is on k-1."""
ANSWERS: dict[str, tuple[dict[str, Any], object, object]] = {
    "now": ({"at": NOW + 1}, NOW, NOW + 1),
    "version": ({"version": OperatorVersion(1, 2, 1)}, V110, OperatorVersion(1, 2, 1)),
    "pods": ({"pods": (pod(0),)}, (pod(0), pod(1)), (pod(0),)),
    "nodeset": ({"state": None}, nodeset(2), None),
    "writers": ({"scalers": ("ScaledObject/x",)}, (), ("ScaledObject/x",)),
    "restapi_ready": ({"serving": 0}, True, False),
    "problem": ({"up": False}, "", "asleep"),
    "machines": (
        {"state": nodeset(0, mode="DaemonSet"), "machines": {"k-1": {"pool": "gpu"}}},
        None,
        (worker_machine("k-1", {"pool": "gpu"}),),
    ),
    "free_machines": (GROWS, None, frozenset({"k-2"})),
    "neighbours": (
        {
            "state": nodeset(0, mode="DaemonSet"),
            "machines": {"gpu-0": {"pool": "gpu"}},
            "pods": (),
            "workers": (pod(0),),
            "selects": GPUS,
        },
        {},
        {"gpu-0": ""},
    ),
    "cordoned": ({"makers": True, "pods": (pod(0), pod(1, cordon=True))}, frozenset(), frozenset({pod(1).name})),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_each_field_of_a_look_is_what_was_answered(name: str) -> None:
    answers, plain, other = ANSWERS[name]
    assert getattr(looked(), name) == plain
    assert getattr(looked(**answers), name) == other


@pytest.mark.parametrize("other", [{"state": nodeset(2)}, {"pods": (pod(0), pod(1))}, {"machines": None}])
def test_kubernetes_nodes_are_known_only_where_new_pods_take_their_names_and_they_may_be_listed(
    other: dict[str, Any],
) -> None:
    assert looked(**{**GROWS, **other}).free_machines is None


def test_slurms_side_of_a_look_is_there_only_where_slurm_answered() -> None:
    view = looked().cluster
    assert view is not None
    assert set(view.nodes) == {"gpu-0", "gpu-1"}
    assert looked(up=False).cluster is None


# -- a person's pause, ours, and none --------------------------------------------------------------------------------------
OURS_NOW = ScalerView(paused=True, mark=mark(OWNER, "r2"), stopped=True, max_replicas=4)
VIEWS: dict[str, tuple[ScalerView, type[Step]]] = {
    "paused": (replace(OURS_NOW, paused=False), PauseScaler),
    "mark": (replace(OURS_NOW, mark=mark(OWNER, "r1")), PauseScaler),
    "stopped": (replace(OURS_NOW, stopped=False), Wait),
}


@pytest.mark.parametrize("name", VIEWS)
def test_an_autoscaler_is_paused_until_each_field_says_that_it_is(name: str) -> None:
    other, step = VIEWS[name]
    assert isinstance(pause_step(OURS_NOW, OWNER, "r2"), Done)
    assert isinstance(pause_step(other, OWNER, "r2"), step)


def test_a_maximum_that_is_there_already_is_not_waited_for() -> None:
    unpaused = ScalerView(paused=False, mark="", stopped=False, max_replicas=4)
    assert isinstance(resume_step(unpaused, OWNER, "r2", 4), Done)
    assert resume_step(OURS_NOW, OWNER, "r2", 4) == ResumeScaler(None)
    assert resume_step(OURS_NOW, OWNER, "r2", 9) == ResumeScaler(9)


# -- which prop becomes which setting --------------------------------------------------------------------------------------
POLICY = DrainPolicy(deadline_s=77, limits=Limits(max_jobs=3))
PROPS: dict[str, tuple[object, str]] = {
    "stack": ("prod", "owner"),
    "nodeset": ("cpu", "owner"),
    "policy": (plain_policy(POLICY), "policy"),
    "namespace": ("other", "reach"),
    "urn": ("urn:x", "urn"),
    "cluster": ("atlas", "cluster"),
    "kubernetes": ("uid-1", "kubernetes"),
    "resource": ("hpc-worker-cpu", "resource"),
    "controller": ("atlas", "controller"),
    "replicas": (7.0, "replicas"),
    "maxReplicas": (9.0, "max_replicas"),
    "owner": ("autoscaler", "scaler"),
    "operatorVersion": ("1.2.1", "version"),
    "updates": ("Gated", "updates"),
    "maxUnavailable": ("25%", "max_unavailable"),
    "template": ("digest", "template"),
    LEAVING: ("hpc-gpu-old", "leaving"),
    "scalingMode": ("DaemonSet", "selection"),
}
BASE: dict[str, Any] = {
    "schema": 1,
    "stack": "dev",
    "nodeset": "gpu",
    "policy": plain_policy(DrainPolicy()),
    "namespace": "slurm",
    "restapiService": "hpc-restapi",
    "jwtSecret": "jwt",
    "jwtEntry": "jwt.key",
    "resource": "hpc-worker-gpu",
    "controller": "hpc",
    "replicas": 1.0,
    "maxReplicas": 1.0,
    "owner": "stack",
    "operatorVersion": "1.1.0",
    "selection": {"nodeSelector": {"pool": "gpu"}},
}
"""A selection is read with its mode alone."""


@pytest.mark.parametrize("prop", PROPS)
def test_each_prop_is_one_setting_and_no_other(prop: str) -> None:
    value, setting = PROPS[prop]
    plain, changed = GateSettings.from_props(BASE), GateSettings.from_props({**BASE, prop: value})
    read = [field.name for field in fields(GateSettings) if field.compare]
    differs = {name for name in read if getattr(plain, name) != getattr(changed, name)}
    assert differs == {setting}


GPU = {
    "replicas": 2,
    "maxReplicas": 8,
    "owner": "autoscaler",
    "autoscale": {"step": 3, "minReplicas": 1},
    "updateStrategy": {"type": "Gated", "maxUnavailable": "40%"},
    "drain": {"deadline": 777},
}


def test_a_program_gives_each_prop_from_the_setting_of_its_name() -> None:
    """All numbers differ, so one that is given for another shows."""
    gates = [each for each in recorded("all-outside", nodesets={"gpu": GPU}).resources if each.type == names.NODESET_SCALE]
    (inputs,) = [each.inputs for each in gates if each.inputs["nodeset"] == "gpu"]
    found = GateSettings.from_props(inputs)
    assert (found.replicas, found.max_replicas) == (2, 8)
    assert Told.of(found) == Told(found.resource, step=3, least=1)
    assert (found.scaler, found.updates, found.max_unavailable) == ("autoscaler", "Gated", "40%")
    assert found.resource.endswith("-worker-gpu")
    assert found.owner.nodeset == "gpu"
    assert found.policy.deadline_s == 777
    assert found.controller != found.resource
    assert found.template
    assert found.target == 8


def test_a_program_gives_a_nodeset_on_each_node_its_selection() -> None:
    """The three fields differ, so one that is given for another shows."""
    pod_settings = {
        "nodeSelector": {"pool": "gpu"},
        "affinity": {"podAntiAffinity": {}},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
    }
    made = recorded("all-outside", nodesets={"each": {"scalingMode": "DaemonSet", "pod": pod_settings}}).resources
    gates = (each.inputs for each in made if each.type == names.NODESET_SCALE)
    found = GateSettings.from_props(next(each for each in gates if each["nodeset"] == "each"))
    assert found.selection == Selection({"pool": "gpu"}, {"podAntiAffinity": {}}, ({"key": "gpu", "operator": "Exists"},))
    assert found.target == 0


# -- the lists -------------------------------------------------------------------------------------------------------------
def test_every_field_of_a_look_is_in_the_lists() -> None:
    every = {field.name for field in fields(Observation)}
    assert set(OBSERVED) == every
    assert {*ANSWERS, "cluster"} == every


def test_every_setting_of_a_gate_is_in_the_list() -> None:
    assert {setting for _, setting in PROPS.values()} == {field.name for field in fields(GateSettings) if field.compare}


def test_every_field_of_an_autoscaler_is_in_the_list() -> None:
    assert {*VIEWS, "max_replicas"} == {field.name for field in fields(ScalerView)}
