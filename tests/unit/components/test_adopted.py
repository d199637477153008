"""What a stack takes over is imported under its name, and says nothing of what stays as it is."""

from __future__ import annotations

from typing import Any

import pytest

from components.first_look import within
from slinky_iac.blueprint.objects import objects
from slinky_iac.config.adopted import Adopted, kept
from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.slurm_conf import controller_extra_conf
from slinky_iac.specs.workers import nodeset_spec, template_digest
from tests.clusters import recorded
from tests.stacks import merged, minimal
from tests.unit.config.rule_cases_adopted import RECORD, SOUND, UID

CR = "kubernetes:slinky.slurm.net/v1beta1:"
LABELS = ["metadata.annotations", "metadata.labels"]
OBJECTS = {
    "Controller slurm": {"uid": UID, "keep": [*LABELS, "spec.extraConf.ReturnToService"]},
    "RestApi slurm": {"uid": UID, "keep": [*LABELS, "spec.slurmrestd.env"]},
    "NodeSet slurm-worker-gpu": {"uid": UID, "keep": ["spec.slurmd.resources.requests", "spec.slurmd.env"]},
}
OVER: dict[str, Any] = {
    **SOUND,
    "operator": {"version": "1.2.1", "install": False},
    "nodesets": {"gpu": {"replicas": 2, "resources": {"cpus": "2"}}, "cpu": {"replicas": 1}},
    "adopted": {"release": "slurm", "record": RECORD, "objects": OBJECTS},
}


def test_objects_of_the_release_are_imported_and_others_made() -> None:
    recording = recorded("all-in-kubernetes", **OVER)
    ids = {each.name: each.import_id for each in recording.resources if each.type.startswith(CR)}
    assert ids["slurm-slurm-controller"] == ids["slurm-slurm-restapi"] == "slurm/slurm"
    assert ids["slurm-slurm-worker-gpu-nodeset"] == "slurm/slurm-worker-gpu"
    assert not ids["slurm-slurm-worker-cpu-nodeset"]


def test_what_restarts_pods_is_left_out() -> None:
    recording = recorded("all-in-kubernetes", **OVER)
    by_name = {each.name: each.inputs for each in recording.resources if each.type.startswith(CR)}
    for daemon in ("slurm-slurm-controller", "slurm-slurm-restapi"):
        assert by_name[daemon]["metadata"].keys() == {"name", "namespace"}
    assert "env" not in by_name["slurm-slurm-restapi"]["spec"]["slurmrestd"]
    nodeset = by_name["slurm-slurm-worker-gpu-nodeset"]
    assert nodeset["spec"]["slurmd"]["resources"].keys() == {"limits"}
    assert nodeset["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "slinky-iac"


def test_what_only_gates_write_is_not_written_at_the_first_update() -> None:
    recording = recorded("all-in-kubernetes", **OVER)
    by_name = {each.name: each.inputs["spec"] for each in recording.resources if each.type.startswith(CR)}
    assert "extraConf" not in by_name["slurm-slurm-controller"]
    assert "replicas" not in by_name["slurm-slurm-worker-gpu-nodeset"]
    assert by_name["slurm-slurm-worker-cpu-nodeset"]["replicas"] == 0


@pytest.mark.parametrize("kind", ["Controller", "Accounting", "RestApi", "NodeSet", "LoginSet"])
def test_each_kind_can_keep_a_field(kind: str) -> None:
    more = {"accounting": {"database": {"host": "db"}}, "logins": {"main": {"sssdConfFrom": {"secret": "sssd"}}}}
    name = {"NodeSet": "slurm-worker-gpu", "LoginSet": "slurm-login-main"}.get(kind, "slurm")
    section = {"release": "slurm", "record": RECORD, "objects": {f"{kind} {name}": {"uid": UID, "keep": ["spec.template"]}}}
    labelled = {"pod": {"labels": {"team": "a"}}}
    nodesets = {"gpu": {"replicas": 1, **labelled}}
    daemons = dict.fromkeys(("controller", "restapi"), labelled)
    whole = merged(minimal(**{**SOUND, **more, **daemons, "nodesets": nodesets}), {"accounting": {"enabled": True}})
    whole = merged(
        whole, {"accounting": {"pod": {"labels": {"team": "a"}}}, "logins": {"main": {"pod": {"labels": {"a": "b"}}}}}
    )

    def spec(config: StackConfig) -> Any:
        return next(each.body["spec"] for each in objects(config) if (each.kind, each.name) == (kind, name))

    assert "template" in spec(load(whole))
    assert "template" not in spec(load({**whole, "adopted": section}))


def test_slurm_conf_stays_without_the_line_that_the_stack_adds() -> None:
    assert "ReturnToService" not in controller_extra_conf(load(minimal(**OVER)))
    assert "ReturnToService=2" in controller_extra_conf(load(minimal(**{**OVER, "adopted": None})))


def test_a_field_that_is_no_longer_kept_is_another_template() -> None:
    """So the gate rolls it out, and drains the nodes first."""
    stays, goes = load(minimal(**OVER)), load(minimal(**{**OVER, "adopted": None}))
    assert template_digest(nodeset_spec(stays, "gpu", stays.nodesets["gpu"])) != template_digest(
        nodeset_spec(goes, "gpu", goes.nodesets["gpu"])
    )


@pytest.mark.parametrize(
    ("place", "left"),
    [
        ("spec.a.b", {"c": 1}),
        ("spec.a", {"c": 1}),
        ("spec.c", {"a": {"b": {"d": 1}}}),
        ("spec.a.x", {"a": {"b": {"d": 1}}, "c": 1}),
        ("spec.c.x", {"a": {"b": {"d": 1}}, "c": 1}),
        ("metadata.labels", {"a": {"b": {"d": 1}}, "c": 1}),
    ],
)
def test_a_kept_field_leaves_no_empty_mapping(place: str, left: dict[str, Any]) -> None:
    objects = {"RestApi slurm": {"uid": UID, "keep": [place]}}
    adopted = Adopted.model_validate({"release": "slurm", "record": RECORD, "objects": objects})
    spec = {"a": {"b": {"d": 1}}, "c": 1}
    assert kept(adopted, "RestApi", "slurm", spec) == left
    assert kept(adopted, "RestApi", "other", spec) == spec


def test_an_update_of_an_imported_object_is_compared_with_what_is_there() -> None:
    """Its inputs in the state are a name; defaults of the API server are no change."""
    there = {"spec": {"login": {"image": "a", "env": [{"name": "A", "more": 1}]}, "replicas": 1}, "metadata": {"uid": "u"}}
    new = {"spec": {"login": {"image": "a", "env": [{"name": "A"}]}}, "metadata": {"name": "x"}}
    assert within(there, new) == {"spec": new["spec"], "metadata": {}}
    assert within(there, {"spec": {"login": {"image": "b"}}}) == {"spec": {"login": {"image": "a"}}}
    assert within({"a": [1]}, {"a": [1, 2]}) == {"a": [1]}
