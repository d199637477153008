"""The namespace of a cluster."""

from __future__ import annotations

from collections.abc import Iterator

from slurm_rules.cluster import operator_release
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, rule, slinky

_SYSTEM = ("default", "kube-system", "kube-public", "kube-node-lease")


@rule("own-namespace", slinky("Controller"))
def own_namespace(controller: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """A Slurm cluster has a namespace of its own, apart from the operator's and from Kubernetes' own.

    Why: on destroy one would take the other with it, and anyone who may create pods in the namespace can mount slurm.key and
    become any user of the cluster.

    Source: Kubernetes, "Good practices for Secrets" (pods of a namespace read its Secrets); slurm-operator
    docs/installation.md (operator in slinky, cluster in slurm).

    Do: set cluster.namespace to a namespace that holds nothing else.

    Level: mandatory, since it leaks keys.
    """
    if controller.namespace in _SYSTEM or controller.namespace.startswith("kube-"):
        yield f"{controller.label} is in namespace {controller.namespace}, which others use too; give it one of its own"
    release = operator_release(stack)
    if release is not None and release.text("namespace") == controller.namespace:
        yield f"{controller.label} and slurm-operator are both in namespace {controller.namespace}; give each its own"
