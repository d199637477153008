"""What guards a NodeSet's number of nodes, and how a stack shows it: the one place that knows the gates' shape."""

from __future__ import annotations

from slurm_rules.model import Resource, Stack

NODESET_SCALE = "pulumi-python:dynamic/slurm:NodeSetScale"
OUTSIDE_HOSTS = "pulumi-python:dynamic/slurm:OutsideHosts"
GATES = (NODESET_SCALE, OUTSIDE_HOSTS)
NODESET_GATES = (NODESET_SCALE,)


def gates_of(nodeset: Resource, stack: Stack, type_: str) -> list[Resource]:
    """Gates of a type that say they guard this NodeSet."""
    wanted = (nodeset.namespace, nodeset.in_cluster_name)
    return [g for g in stack.of_type(type_) if (g.text("namespace"), g.text("resource")) == wanted]


def scaler_gate(nodeset: Resource, stack: Stack) -> Resource | None:
    """The gate that knows a NodeSet's owner and numbers, if there is one."""
    return next(iter(gates_of(nodeset, stack, NODESET_SCALE)), None)


def most_nodes(nodeset: Resource, stack: Stack) -> float:
    """How many nodes a NodeSet may have: what it or its gate says, and what its autoscaler may ask for."""
    gates = gates_of(nodeset, stack, NODESET_SCALE)
    asked = [gate.number("maxReplicas" if gate.text("owner") == "autoscaler" else "replicas") or 0 for gate in gates]
    return max([nodeset.number("spec", "replicas") or 0, *asked])
