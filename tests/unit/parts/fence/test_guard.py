"""A fence that is gone or changed is reported, whatever was changed; one that the API server only completed stands."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.blueprint.document import guards
from slinky_iac.cluster.blueprint import guarded
from slinky_iac.cluster.spec_drift import Desired, faults
from slinky_iac.errors import KubeForbidden, KubeNotFound
from slinky_iac.parts.fence.part import GUARD
from slinky_iac.parts.fence.policy import guarded_by
from tests.stacks import form

Live = dict[tuple[str, str], Any]


PARTS = guarded(guards(form("all-in-kubernetes"))["fence"])


def served() -> Live:
    """The same as the API server gives it back: completed."""
    live = {(part.kind, part.name): copy.deepcopy(dict(part.spec)) for part in PARTS}
    for (kind, _), spec in live.items():
        if kind == "ValidatingAdmissionPolicy":
            match = spec["matchConstraints"]
            match["matchPolicy"] = "Equivalent"
            for selector in ("namespaceSelector", "objectSelector"):
                match.setdefault(selector, {})
            for rule in match["resourceRules"]:
                rule["scope"] = "*"
    return live


class Kube:
    """An API server that has these."""

    def __init__(self, live: Live) -> None:
        self.live = live

    def admission(self, kind: str, name: str) -> Mapping[str, Any]:
        if (kind, name) not in self.live:
            raise KubeNotFound(f"{kind} {name}: it isn't there", status=404)
        found: Mapping[str, Any] = self.live[kind, name]
        return found


def test_the_blueprint_says_which_objects_the_fence_has() -> None:
    kinds = [(part.kind.removeprefix("ValidatingAdmission"), part.name) for part in PARTS]
    fences = ("nodesets", "controller", "needed", "namespace", "crds", "workers", "pods")
    parts = [f"slinky-iac-{part}.slurm.slurm" for part in fences]
    assert kinds == [(kind, part) for part in parts for kind in ("Policy", "PolicyBinding")]


def test_a_fence_that_the_api_server_completed_stands() -> None:
    assert faults(Kube(served()), PARTS, GUARD.open_to) == ()


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"{part.kind} {part.name}")
def test_a_part_that_is_gone_is_told_with_what_follows_and_what_to_do(part: Desired) -> None:
    live = served()
    del live[part.kind, part.name]
    (said,) = faults(Kube(live), PARTS, GUARD.open_to)
    follows = {"pods": "slurm-operator can delete pods with", "workers": "anyone with the right to can delete pods with"}
    open_to = follows.get(guarded_by(part.name), "NodeSets can be deleted or lowered with")
    assert said.startswith(f"{part.kind} {part.name} is gone: {open_to} jobs")
    assert "`pulumi up --refresh`" in said


CHANGES = [
    ("Policy", {"failurePolicy": "Ignore"}),
    ("Policy", {"validations": []}),
    ("Policy", {"matchConditions": [{"name": "never", "expression": "false"}]}),
    ("Policy", {"matchConstraints": {"excludeResourceRules": [{"resources": ["*"]}]}}),
    ("PolicyBinding", {"validationActions": ["Audit"]}),
    ("PolicyBinding", {"policyName": "another"}),
    ("PolicyBinding", {"matchResources": {"namespaceSelector": {"matchLabels": {"no": "such"}}}}),
]


@pytest.mark.parametrize(("kind", "change"), CHANGES)
@given(which=st.sampled_from(["nodesets", "controller", "needed", "namespace", "crds"]))
def test_a_part_that_lets_more_through_is_told(kind: str, change: dict[str, Any], which: str) -> None:
    live = served()
    spec = live[f"ValidatingAdmission{kind}", f"slinky-iac-{which}.slurm.slurm"]
    for key, value in change.items():
        spec[key] = {**spec.get(key, {}), **value} if isinstance(value, dict) else value
    (said,) = faults(Kube(live), PARTS, GUARD.open_to)
    assert "was changed" in said


def test_an_api_server_that_doesnt_tell_is_no_fence_that_stands() -> None:
    class Refusing(Kube):
        def admission(self, kind: str, name: str) -> Mapping[str, Any]:
            raise KubeForbidden("this user may not", status=403)

    with pytest.raises(KubeForbidden):
        faults(Refusing({}), PARTS, GUARD.open_to)
