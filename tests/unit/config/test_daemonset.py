"""NodeSets in DaemonSet mode: what is refused, what isn't needed, and what the stack makes of one."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac import names
from slinky_iac.commands.rights.table import Use, rights
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.errors import ConfigError
from slinky_iac.selection import FIELDS, Selection
from slinky_iac.specs.workers import nodeset_spec
from tests.clusters import recorded
from tests.stacks import SECRETS, minimal

POD = {
    "nodeSelector": {"pool": "gpu"},
    "affinity": {"podAntiAffinity": {}},
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "priorityClass": "high",
}


def stack(operator: str = "1.2.1", **settings: Any) -> dict[str, Any]:
    return minimal(nodesets={"gpu": {"scalingMode": "DaemonSet", **settings}}, operator={"version": operator})


def errors(sections: dict[str, Any]) -> dict[str, str]:
    return {each.path: each.message for each in findings(load(sections), SECRETS) if each.level == "error"}


def test_it_needs_no_number_and_takes_none() -> None:
    found = load(stack()).nodesets["gpu"]
    assert (found.replicas, found.most, found.on_each_node, found.has_pods) == (0, 0, True, True)
    assert load(stack(replicas=0)).nodesets["gpu"].replicas == 0
    with pytest.raises(ConfigError, match="reads no number"):
        load(stack(replicas=2))
    with pytest.raises(ConfigError, match="reads no number"):
        load(stack() | {"nodesetDefaults": {"replicas": 2}})


def test_a_nodeset_with_a_number_still_needs_one() -> None:
    with pytest.raises(ConfigError, match=r"nodesets\.gpu\.replicas"):
        load(minimal(nodesets={"gpu": {}}))


def test_how_many_machines_may_fit_counts_against_maxnodecount() -> None:
    assert errors(stack(maxReplicas=50)) == {}
    sections = stack(maxReplicas=50)
    sections["cluster"] = {**sections["cluster"], "maxNodeCount": 40}
    assert "50 pods" in errors(sections)["nodesets"]


@pytest.mark.parametrize(("operator", "told"), [("1.1.0", 1), ("1.1.1", 0), ("1.1.2", 0), ("1.2.1", 0)])
def test_an_operator_that_never_ends_what_it_drains_itself_is_named(operator: str, told: int) -> None:
    found = [each for each in findings(load(stack(operator)), SECRETS) if each.id == "daemonset-operator-1-1-0"]
    assert [each.level for each in found] == ["warning"] * told
    numbered = load(minimal(nodesets={"gpu": {"replicas": 1}}, operator={"version": operator}))
    assert not [each for each in findings(numbered, SECRETS) if each.id == "daemonset-operator-1-1-0"]


def affinity(**requirement: Any) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    return {"pod": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}}


WHERE = "nodesets.gpu.pod.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "an operator that has no such mode": ({"operator": "1.0.5"}, "nodesets.gpu.scalingMode", "1.1 or newer"),
    "an autoscaler": ({"owner": "autoscaler", "maxReplicas": 4}, "nodesets.gpu.owner", "no number that an autoscaler"),
    "an operator of affinity that there isn't": (
        affinity(key="pool", operator="Is", values=["a"]),
        f"{WHERE}.0.matchExpressions.0",
        "operator must be one of In",
    ),
    "a number that is none": (
        affinity(key="size", operator="Gt", values=["big"]),
        f"{WHERE}.0.matchExpressions.0",
        "needs one whole number",
    ),
    "a toleration behind a feature gate": (
        {"pod": {"tolerations": [{"key": "gpu", "operator": "Gt", "value": "1"}]}},
        "nodesets.gpu.pod.tolerations.0.operator",
        "Equal, Exists",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_it_cant_have_is_refused_with_what_to_do(case: str) -> None:
    given, path, says = REFUSED[case]
    assert says in errors(stack(**given))[path]
    plain = dict(given) if "operator" not in given else {key: value for key, value in given.items() if key != "operator"}
    if "pod" not in plain:
        number = minimal(nodesets={"gpu": {"replicas": 1, **plain}})
        assert path not in errors(number), "with a number it may"


def test_the_custom_resource_has_neither_the_mode_nor_which_nodes_fit() -> None:
    """Only its gate writes them, so no update of the custom resource can end a pod."""
    config = load(stack(pod=POD))
    spec = nodeset_spec(config, "gpu", config.nodesets["gpu"])
    assert "scalingMode" not in spec
    assert spec["replicas"] == 0
    assert not set(FIELDS) & spec["template"]["spec"].keys()
    assert spec["template"]["spec"]["priorityClassName"] == "high"
    assert config.nodesets["gpu"].pod.selection == Selection(POD["nodeSelector"], POD["affinity"], (POD["tolerations"][0],))


def test_the_engine_ignores_what_the_gate_writes_and_replaces_on_a_change_of_the_mode() -> None:
    made = recorded("all-outside", nodesets={"each": {"scalingMode": "DaemonSet", "pod": POD}}).resources
    sets = {
        each.inputs["metadata"]["name"]: each for each in made if each.type.endswith(":NodeSet") and "spec" in each.inputs
    }
    (each,) = [found for name, found in sets.items() if name.endswith("-each")]
    (other,) = [found for name, found in sets.items() if name.endswith("-gpu")]
    assert each.inputs["metadata"]["annotations"][names.ANNOTATION_MODE] == "DaemonSet"
    assert names.ANNOTATION_MODE not in other.inputs["metadata"]["annotations"]
    assert other.ignore_changes == ("spec.replicas",)
    assert set(each.ignore_changes) == {
        "spec.replicas",
        "spec.scalingMode",
        "spec.template.spec.nodeSelector",
        "spec.template.spec.affinity",
        "spec.template.spec.tolerations",
    }
    assert each.replace_on_changes == other.replace_on_changes == ('metadata.annotations["slinky-iac/scaling-mode"]',)


def test_kubernetes_nodes_are_listed_by_who_applies() -> None:
    def lists(config: dict[str, Any]) -> bool:
        return any(row.resource == "nodes" and "list" in row.verbs for row in rights(load(config), Use.APPLY))

    assert lists(stack())
    assert not lists(minimal(nodesets={"gpu": {"replicas": 1}}))


@pytest.mark.parametrize("terms", [[{"matchExpressions": 5}], [{"matchFields": True}], [7], 7, "ab"])
def test_terms_of_another_shape_are_errors_with_their_place(terms: object) -> None:
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    found = errors(stack(pod={"affinity": affinity}))
    assert any("nodeSelectorTerms" in path for path in found), found
