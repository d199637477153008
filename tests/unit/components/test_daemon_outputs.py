"""Which Kubernetes nodes fit, given by another resource of the program (the label of a node pool, say): an Output in a
selection is a value of a label, and the gate plans nothing by a placeholder or by what isn't known yet."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest
from pulumi import Output
from pulumi.dynamic import CheckResult

from slinky_iac import NodeSet
from slinky_iac.drain.gates import NodeSetScaleProvider, sound
from slinky_iac.drain.settings import GateSettings
from slinky_iac.engine.provider import Unknown
from slinky_iac.selection import REQUIRED, Selection
from tests.unit.components.test_program_parts import CR, made, refused
from tests.unit.drain.test_recorded import PROPS

CLUSTER = {"cluster": {"name": "atlas"}}


def terms(**requirement: Any) -> dict[str, Any]:
    each = {"key": "site", "operator": "In", "values": ["a"], **requirement}
    return {REQUIRED[0]: {REQUIRED[1]: {"nodeSelectorTerms": [{"matchExpressions": [each]}]}}}


def program(pod: dict[str, Any], **more: Any) -> None:
    NodeSet("gpu", cluster=CLUSTER, pod=pod, **({"scalingMode": "DaemonSet"} | more))


def test_the_gate_gets_the_label_and_no_placeholder_is_left() -> None:
    pool, site = Output.from_input("pool-7"), Output.from_input("b")
    recording = made(lambda: program({"nodeSelector": {"cloud.example.org/pool": pool}, "affinity": terms(values=[site])}))
    (gate,) = recording.of("NodeSetScale")
    found = Selection.of(gate.inputs["selection"])
    assert found == Selection({"cloud.example.org/pool": "pool-7"}, terms(values=["b"]), ())
    assert "slinky-output" not in repr([each.inputs for each in recording.resources])


def test_a_nodeset_with_a_number_takes_it_in_its_template_and_rolls_out_by_it() -> None:
    def digest(pool: str) -> str:
        label = {"nodeSelector": {"pool": Output.from_input(pool)}}
        recording = made(lambda: program(label, scalingMode="StatefulSet", replicas=1))
        spec = recording.one(f"{CR}NodeSet").inputs["spec"]
        assert spec["template"]["spec"]["nodeSelector"] == {"pool": pool}
        (gate,) = recording.of("NodeSetScale")
        return str(gate.inputs["template"])

    assert digest("a") == digest("a") != digest("b")


@pytest.mark.parametrize("wrong", ["a b", "-x", "x" * 64, 7, None])
def test_what_is_no_value_of_a_label_ends_the_program_and_no_gate_is_made(wrong: object) -> None:
    with pytest.raises(pulumi.RunError, match=r"nodesets\.gpu\.pod\.nodeSelector\.pool: must be a value of a label"):
        made(lambda: program({"nodeSelector": {"pool": Output.from_input(wrong)}}))


@pytest.mark.parametrize(
    "pod",
    [
        {"affinity": terms(operator=Output.from_input("In"))},
        {"affinity": Output.from_input(terms())},
        {"nodeSelector": Output.from_input({"pool": "gpu"})},
        {"tolerations": [{"key": "gpu", "operator": Output.from_input("Exists")}]},
    ],
)
def test_what_is_judged_before_anything_is_made_is_no_output(pod: dict[str, Any]) -> None:
    assert "nodesets.gpu.pod" in refused(lambda: program(pod))


# -- the gate --------------------------------------------------------------------------------------------------------------
def props(pool: object) -> dict[str, Any]:
    selection = {"nodeSelector": {"pool": pool}, "affinity": {}, "tolerations": []}
    return {**PROPS, "scalingMode": "DaemonSet", "replicas": 0, "maxReplicas": 0, "selection": selection}


class Asked(NodeSetScaleProvider):
    """A gate that must not be asked for a plan."""

    def planned(self, olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        raise AssertionError(f"planned by what isn't known: {olds}, {news}")


def test_a_preview_that_does_not_know_the_label_asks_nothing_plans_nothing_and_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Neither by the old selection nor by part of the new one; the plan of the last update isn't repeated as this one's."""
    olds = {**props("old"), "plan": {"nodes": [{"node": "gpu-7"}]}}
    checked = Asked().check(olds, {**props(Unknown()), "plan": None})
    assert not checked.failures
    assert not checked.inputs["plan"]
    assert NodeSetScaleProvider().diff("", olds, checked.inputs).changes
    assert "not known in this preview: selection (an Output of another resource)" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [terms(operator="Gt", values=["three"]), terms(operator="in"), terms(values=[])])
def test_a_selection_that_the_operator_would_read_otherwise_is_refused_by_the_gate(wrong: dict[str, Any]) -> None:
    """No Kubernetes node would fit, and all nodes be drained. A destroy by such a state still works."""
    news = props("gpu")
    news["selection"] = {**news["selection"], "affinity": wrong}
    (failure,) = NodeSetScaleProvider().check({}, news).failures
    assert "pod.affinity" in failure.reason
    assert GateSettings.from_props(news).selection is not None
    news["selection"] = {**news["selection"], "affinity": terms(operator="Gt", values=["3"])}
    assert sound(news) == GateSettings.from_props(news)


def test_what_an_update_knows_is_read_as_it_is() -> None:
    assert GateSettings.from_props(props("pool-7")).selection == Selection({"pool": "pool-7"})
