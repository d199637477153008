"""The autoscaler of a NodeSet comes after its gate, and so goes before the gate drains the last nodes."""

from __future__ import annotations

from slinky_iac import names
from tests.clusters import recorded

NODESETS = {"gpu": {"replicas": 0, "owner": "autoscaler", "maxReplicas": 8, "autoscale": {"step": 2, "minReplicas": 1}}}
KEDA = "kubernetes:keda.sh/v1alpha1:ScaledObject"


def test_the_autoscaler_is_made_after_the_gate_and_removed_before_it() -> None:
    recording = recorded("all-outside", nodesets=NODESETS)
    (gate,) = [each for each in recording.resources if each.type == names.NODESET_SCALE and each.inputs["nodeset"] == "gpu"]
    (scaler,) = [each for each in recording.resources if each.type == KEDA]
    assert gate.urn in scaler.dependencies
    assert scaler.inputs["metadata"]["name"] == gate.inputs["autoscaler"]
    assert (gate.inputs["autoscalerStep"], gate.inputs["autoscalerMinimum"]) == (2, 1)


def test_a_gate_without_an_autoscaler_keeps_its_props() -> None:
    """Another prop would be a change in every stack's next preview."""
    recording = recorded("all-outside")
    gates = [each for each in recording.resources if each.type == names.NODESET_SCALE]
    assert gates
    assert all(not name.startswith("autoscaler") for each in gates for name in each.inputs)
    assert not [each for each in recording.resources if each.type == KEDA]
