"""What guards a NodeSet's number of nodes, and how a stack shows it: the one place that knows the gates' shape."""

from __future__ import annotations

from collections.abc import Iterator

from slurm_rules.model import Resource, Stack

SCALE_IN_GATE = "pulumi-python:dynamic/slurm:ScaleInGate"
TEARDOWN_GATE = "pulumi-python:dynamic/slurm:TeardownGate"
OUTSIDE_HOSTS = "pulumi-python:dynamic/slurm:OutsideHosts"
GATES = (SCALE_IN_GATE, TEARDOWN_GATE, OUTSIDE_HOSTS)
NODESET_GATES = (SCALE_IN_GATE, TEARDOWN_GATE)


def gates_of(nodeset: Resource, stack: Stack, type_: str) -> list[Resource]:
    """Gates of a type that say they guard this NodeSet."""
    wanted = (nodeset.namespace, nodeset.in_cluster_name)
    return [g for g in stack.of_type(type_) if (g.text("namespace"), g.text("resource")) == wanted]


def scaler_gate(nodeset: Resource, stack: Stack) -> Resource | None:
    """The gate that knows a NodeSet's owner and numbers, if there is one."""
    return next(iter(gates_of(nodeset, stack, SCALE_IN_GATE)), None)


def most_nodes(nodeset: Resource, stack: Stack) -> float:
    """How many nodes a NodeSet may have: what it says, and what its autoscaler may ask for."""
    gates = [gate for gate in gates_of(nodeset, stack, SCALE_IN_GATE) if gate.text("owner") == "autoscaler"]
    return max([nodeset.number("spec", "replicas") or 0, *(gate.number("maxReplicas") or 0 for gate in gates)])


def number_faults(nodeset: Resource, stack: Stack) -> Iterator[str]:
    """Why a NodeSet's number may go down undrained."""
    gates = gates_of(nodeset, stack, SCALE_IN_GATE)
    if not gates:
        yield f"{nodeset.label} has no ScaleInGate: a lower spec.replicas reaches the operator undrained"
        return
    if len(gates) > 1:
        yield f"{nodeset.label} has {len(gates)} ScaleInGates, and each would drain for its own number; keep one"
        return
    flows = stack.sources(nodeset, "spec")
    if not any(gate.urn in flows for gate in gates):
        yield f"{nodeset.label}: spec.replicas doesn't come from {gates[0].name}, so the gate can be passed by"
        return
    if gates[0].text("owner") == "autoscaler":
        return
    replicas, gated = nodeset.number("spec", "replicas"), gates[0].number("replicas")
    if replicas != gated:
        shown = "none" if replicas is None else f"{replicas:g}"
        yield f"{nodeset.label}: spec.replicas is {shown}, its gate says {gated or 0:g}; use the gate's output replicas"


def removal_faults(nodeset: Resource, stack: Stack) -> Iterator[str]:
    """Why a NodeSet may be removed undrained."""
    gates = gates_of(nodeset, stack, TEARDOWN_GATE)
    if not gates:
        yield f"{nodeset.label} has no TeardownGate: removing it kills its jobs"
    elif not any(nodeset.urn in stack.needs(gate) for gate in gates):
        yield f"{nodeset.label}: {gates[0].name} doesn't depend on it, so the NodeSet may be removed first; add dependsOn"
