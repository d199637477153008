"""The fence in the API server: that it stands before every NodeSet of the stack."""

from __future__ import annotations

from collections.abc import Iterator

from slurm_rules.cluster import controller_of
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, rule, slinky

_PARTS = ("nodesets", "needed")
_KINDS = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")


@rule("fence-stands", slinky("NodeSet"))
def fence_stands(nodeset: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """The fence stands before every NodeSet: policies in the API server that refuse to lower or delete it undrained.

    Why: gates hold for `pulumi up` alone. Without the fence `kubectl delete nodeset`, a controller, or a program with an
    edited state ends the jobs on all of its pods. How policies and bindings look, cluster-as-made judges: one that audits,
    or whose expressions are true, is not a fence.

    Source: Kubernetes, "Validating Admission Policy" (1.30); slinky_iac/specs/fence.py; docs/adr on the fence.

    Do: leave cluster.fence on, its default. For a Kubernetes older than 1.30 set the rule's level in the site file.

    Level: mandatory, since running jobs are lost.
    """
    controller = controller_of(nodeset, stack)
    base = controller.in_cluster_name if controller is not None else nodeset.text("spec", "controllerRef", "name")
    there = {(each.kind, each.in_cluster_name) for each in stack.resources if each.kind in _KINDS}
    for part in _PARTS:
        name = f"slinky-iac-{part}.{nodeset.namespace}.{base}"
        if missing := [kind for kind in _KINDS if (kind, name) not in there]:
            yield f"{nodeset.label}: the fence lacks {' and '.join(missing)} {name}; leave cluster.fence on"
