"""The fence in the API server: ValidatingAdmissionPolicies that refuse to everybody what would take pods with jobs.

All are refused alike: kubectl, Helm, a controller, a program of Pulumi with an edited state. A gate that has drained writes
its permission on the NodeSet (:data:`slinky_iac.names.ANNOTATION_PERMIT`), for one number or for the deletion, and for the
generation that it looked at.

- ``nodesets`` compares the object itself. A NodeSet of no replicas and no pods may go, but for an autoscaler's. In DaemonSet
  mode it compares which Kubernetes nodes fit, in the place of the number. For the scale subresource the API server shows a
  Scale without annotations, labels and generation, so a lower number is refused there, but for NodeSets that an autoscaler
  owns.
- ``controller`` compares extraConf, the tail of slurm.conf: only the Controller's gate writes it.
- ``needed``, ``namespace`` and ``crds`` are evaluated once for each NodeSet of the namespace (``paramKind``), and let all
  through where there is none. A namespace that is deleted takes its pods with it, and without slurmrestd the operator treats
  every node as drained.
- ``workers`` and ``pods`` are about single pods: :mod:`slinky_iac.parts.fence.pods`.

CEL is compiled by the API server; the texts here hold names only that are RFC 1123 labels, so nothing needs to be quoted.
"""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac import names
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.fence.pods import pods, workers
from slinky_iac.parts.fence.policy import (
    PERMITTED_DELETE,
    Guarded,
    Policy,
    binding,
    each_nodeset,
    named,
    permit,
    policy_name,
    rule,
    texts,
    way_out,
)
from slinky_iac.specs.shared import Spec

_STRATEGY = "spec.?updateStrategy.?type.orValue('RollingUpdate')"
_MODE = "spec.?scalingMode.orValue('StatefulSet')"
_SELECTED = f"{permit('object')} == '{names.PERMIT_SELECT}{names.PERMIT_AT}' + variables.generation"
_SAME_NODES = " && ".join(
    f"object.spec.?template.?spec.?{field}.orValue({none}) == oldObject.spec.?template.?spec.?{field}.orValue({none})"
    for field, none in (("nodeSelector", "{}"), ("affinity", "{}"), ("tolerations", "[]"))
)
_FIELDS = (
    (
        "scalingMode",
        # The gate of a NodeSet in DaemonSet mode writes the mode once, on one that has no pod.
        f"object.{_MODE} == oldObject.{_MODE} || object.{_MODE} == 'DaemonSet' && variables.now == 0 && {_SELECTED}",
        "slurm-operator would remove its present pods with the jobs on them. Remove this NodeSet from nodesets in the stack"
        " and run pulumi up, which drains its nodes first",
    ),
    (
        "nodeSelector, affinity or tolerations",
        f"oldObject.{_MODE} != 'DaemonSet' || {_SAME_NODES} || {_SELECTED}",
        "slurm-operator would remove the pods of Kubernetes nodes that no longer fit, with the jobs on them. Set pod of this"
        " NodeSet in the stack and run pulumi up, which drains these nodes first",
    ),
    (
        "controllerRef",
        "object.spec.controllerRef.name == oldObject.spec.controllerRef.name",
        "slurm-operator would lose its client of slurmrestd and treat every node as drained. Make another NodeSet for"
        " another cluster",
    ),
    (
        "updateStrategy",
        f"object.{_STRATEGY} == 'OnDelete' || object.{_STRATEGY} == oldObject.{_STRATEGY} ||"
        f" object.{_STRATEGY} == object.metadata.?annotations[?'{names.ANNOTATION_UPDATE}'].orValue('')",
        "slurm-operator would replace pods without the limits of the stack. Set updateStrategy.type of this NodeSet in the"
        " stack and run pulumi up",
    ),
)
"""Fields of a NodeSet whose change takes pods: the field, in CEL that it is as it may be, and what would follow."""


def policies(config: StackConfig) -> tuple[Policy, ...]:
    """The policies of a stack, in the order in which they are made."""
    scaled = texts(
        names.nodeset_resource(config.cluster.resource_name, name)
        for name, nodeset in config.nodesets.items()
        if nodeset.scaled_by_others
    )
    return (_nodesets(config, scaled), _controller(config), *_kept(config), workers(config), pods(config, scaled))


def _nodesets(config: StackConfig, scaled: str) -> Policy:
    """No NodeSet is deleted or lowered without its permission. ``scaled``: those that an autoscaler owns."""
    base = config.cluster.resource_name
    name = policy_name(config.cluster.namespace, base, "nodesets")
    to_scale = f"'{names.PERMIT_SCALE}' + string(variables.wanted) + '{names.PERMIT_AT}' + variables.generation"
    lowered = (
        "variables.nodeset + ' has ' + string(variables.now) + ' replicas and was to have ' + string(variables.wanted) + '"
        ": pods would go with the jobs on them. Set nodesets.NAME.replicas in the stack and run pulumi up, which drains"
        f" their nodes first. {way_out(name)}'"
    )
    spec: Spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "namespaceSelector": named(config.cluster.namespace),
            "resourceRules": [
                rule(names.GROUP, ["nodesets"], "UPDATE", "DELETE"),
                rule(names.GROUP, ["nodesets/scale"], "UPDATE"),
            ],
        },
        "matchConditions": [
            {"name": "of-this-cluster", "expression": f"oldObject.metadata.name.startsWith('{names.nodeset_prefix(base)}')"}
        ],
        "variables": [
            {"name": "nodeset", "expression": "'NodeSet ' + oldObject.metadata.namespace + '/' + oldObject.metadata.name"},
            {"name": "scale", "expression": "request.?subResource.orValue('') == 'scale'"},
            # A Scale of none has no `replicas`; a NodeSet always has: its CRD has a default.
            {"name": "now", "expression": "oldObject.?spec.?replicas.orValue(0)"},
            {"name": "wanted", "expression": "request.operation == 'DELETE' ? 0 : object.?spec.?replicas.orValue(0)"},
            {"name": "generation", "expression": "string(oldObject.metadata.?generation.orValue(0))"},
            {"name": "lowers", "expression": "request.operation == 'UPDATE' && variables.wanted < variables.now"},
            # One of an update that ended before its gate was made, say: no gate is there to write a permission. Its number
            # can't have been lowered to none without one, and the operator counts pods until they are gone. An autoscaler
            # may raise its own at any moment, so that needs one always.
            {
                "name": "empty",
                "expression": "oldObject.?spec.?replicas.orValue(1) == 0 && oldObject.?status.?replicas.orValue(0) == 0 &&"
                " oldObject.?spec.?scalingMode.orValue('StatefulSet') == 'StatefulSet' &&"
                f" !(oldObject.metadata.name in {scaled})",
            },
        ],
        "validations": [
            {
                "expression": f"!variables.lowers || variables.scale || {permit('object')} == {to_scale}",
                "messageExpression": lowered,
            },
            {
                "expression": f"!variables.lowers || !variables.scale || oldObject.metadata.name in {scaled}",
                "messageExpression": lowered,
            },
            {
                # A deletion that was let through has raised the generation; asked for again, it continues.
                "expression": "request.operation != 'DELETE' || has(oldObject.metadata.deletionTimestamp) ||"
                f" variables.empty || {permit('oldObject')} == {PERMITTED_DELETE} + variables.generation",
                "messageExpression": "variables.nodeset + ' was to be deleted: its pods would go with the jobs on them."
                " Remove it from nodesets in the stack and run pulumi up, or run pulumi destroy: they drain its nodes first."
                f" {way_out(name)}'",
            },
            *(
                {
                    "expression": f"request.operation != 'UPDATE' || variables.scale || {same}",
                    "messageExpression": f"variables.nodeset + ' was to get another {field}: {follows}. {way_out(name)}'",
                }
                for field, same, follows in _FIELDS
            ),
        ],
    }
    return Policy("nodesets", name, spec, binding(name))


def _controller(config: StackConfig) -> Policy:
    """The tail of slurm.conf isn't written by others than its gate: slurmctld ends the jobs of what leaves it."""
    namespace, base = config.cluster.namespace, config.cluster.resource_name
    name = policy_name(namespace, base, "controller")
    wanted = f"'{names.PERMIT_CONFIGURE}{names.PERMIT_AT}' + string(oldObject.metadata.generation)"
    spec: Spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "namespaceSelector": named(namespace),
            "resourceRules": [rule(names.GROUP, ["controllers"], "UPDATE")],
        },
        "matchConditions": [{"name": "of-this-cluster", "expression": f"oldObject.metadata.name == '{base}'"}],
        "validations": [
            {
                "expression": "object.spec.?extraConf.orValue('') == oldObject.spec.?extraConf.orValue('') ||"
                f" {permit('object')} == {wanted}",
                "messageExpression": "'Controller ' + oldObject.metadata.namespace + '/' + oldObject.metadata.name + ' was"
                " to get another extraConf: slurmctld ends jobs whose partition or node leaves slurm.conf. Set it in the"
                f" stack and run pulumi up, which waits for these jobs first. {way_out(name)}'",
            }
        ],
    }
    return Policy("controller", name, spec, binding(name))


def _kept(config: StackConfig) -> Iterator[Policy]:
    """What NodeSets need isn't deleted while one of them has no permission to be.

    A policy for each kind of object, because the API server looks for the parameters, NodeSets, before it evaluates a
    condition: where that kind isn't known, it refuses whatever the rules and selectors match (``CollectParams`` in
    apiserver's policy_dispatcher.go). So these match objects of this cluster alone.
    """
    namespace, base = config.cluster.namespace, config.cluster.resource_name
    kinds = ["controllers", "restapis", *(["accountings"] if config.accounting.enabled else [])]
    crds = [f"{kind}.{names.GROUP}" for kind in ["nodesets", *kinds]]
    # A RestApi without a pod takes the operator's client away as a deleted one does: it then treats every node as drained.
    ends = {
        "name": "ends-it",
        "expression": "request.operation == 'DELETE' || request.resource.resource == 'restapis' &&"
        " object.spec.?replicas.orValue(1) == 0 && oldObject.spec.?replicas.orValue(1) != 0",
    }
    own = {"name": "of-this-cluster", "expression": f"oldObject.metadata.name == '{base}'"}
    by_name = named(namespace)
    yield _kept_while_needed(
        config,
        "needed",
        {
            "namespaceSelector": by_name,
            "resourceRules": [rule(names.GROUP, kinds, "DELETE"), rule(names.GROUP, ["restapis"], "UPDATE")],
        },
        [own, ends],
        f"params.spec.?controllerRef.?name.orValue('') == '{base}'",
    )
    spaces = {"objectSelector": by_name, "resourceRules": [rule("", ["namespaces"], "DELETE")]}
    yield _kept_while_needed(config, "namespace", spaces, [], "true")
    definitions = rule("apiextensions.k8s.io", ["customresourcedefinitions"], "DELETE") | {"resourceNames": crds}
    yield _kept_while_needed(config, "crds", {"resourceRules": [definitions]}, [], "true")


def _kept_while_needed(config: StackConfig, part: Guarded, match: Spec, conditions: list[Spec], needs: str) -> Policy:
    """``needs``: in CEL, whether the NodeSet ``params`` needs what ``match`` selects."""
    namespace = config.cluster.namespace
    name = policy_name(namespace, config.cluster.resource_name, part)
    spec: Spec = {
        "failurePolicy": "Fail",
        "paramKind": {"apiVersion": names.API_VERSION, "kind": "NodeSet"},
        "matchConstraints": match,
        **({"matchConditions": conditions} if conditions else {}),
        "validations": [
            {
                "expression": f"!({needs}) || has(params.metadata.deletionTimestamp) ||"
                f" {permit('params')} == {PERMITTED_DELETE} + string(params.metadata.generation)",
                "messageExpression": "request.kind.kind + ' ' + oldObject.metadata.name + ' was to be deleted or to have no"
                f" pod, and NodeSet ' + params.metadata.name + ' in namespace {namespace} needs it: jobs on its nodes would"
                " be lost. Run pulumi destroy, which drains them first. If the stack did not make this NodeSet, drain its"
                f" nodes and delete it yourself. {way_out(name)}'",
            }
        ],
    }
    return Policy(part, name, spec, binding(name) | each_nodeset(namespace))
