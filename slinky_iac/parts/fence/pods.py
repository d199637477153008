"""Worker pods behind the fence: none is deleted under its jobs, by a person, a controller or slurm-operator.

- ``workers`` refuses to everybody but slurm-operator, kubelet and Kubernetes' own controllers a worker pod whose node isn't
  reported as drained. A deletion that names the pod's resourceVersion passes: gates do, after a look; kubectl never does.
- ``pods`` refuses slurm-operator alone.
"""

from __future__ import annotations

from typing import Final

from slinky_iac import names
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.fence.policy import Policy, binding, each_nodeset, named, permit, policy_name, rule, way_out
from slinky_iac.specs.shared import Spec

_USER: Final = "request.userInfo.username"
_WORKERS: Final[Spec] = {
    "objectSelector": {"matchLabels": {names.LABEL_NAME: "slurmd"}},
    "resourceRules": [rule("", ["pods"], "DELETE")],
}
"""Deletions of worker pods. The selector spares other pods of the namespace what a policy costs."""
_RUNNING: Final = {
    "name": "running",
    "expression": "!has(oldObject.metadata.deletionTimestamp) &&"
    " !(oldObject.status.?phase.orValue('') in ['Failed', 'Succeeded']) &&"
    " oldObject.status.?containerStatuses.orValue([]).exists(each, has(each.state) && has(each.state.running))",
}
"""Where no container runs, no job does: images that can't be pulled, a slurmd that ends again and again."""
_DRAINED: Final = (
    {
        "name": "states",
        "expression": "oldObject.status.?conditions.orValue([])"
        f".filter(each, each.type.startsWith('{names.CONDITION_PREFIX}') && each.status == 'True')"
        f".map(each, each.type.substring({len(names.CONDITION_PREFIX)}))",
    },
    {
        "name": "drained",
        "expression": "'Drain' in variables.states &&"
        " !variables.states.exists(each, each in ['Undrain', 'Allocated', 'Mixed', 'Completing'])",
    },
)
"""Whether slurm-operator has reported the pod's node as drained and without a job."""
_BY_HAND: Final = (
    "kubectl annotate pod -n ' + oldObject.metadata.namespace + ' ' + oldObject.metadata.name + '"
    f" {names.ANNOTATION_PERMIT}={names.PERMIT_DELETE}, then kubectl delete pod -n ' + oldObject.metadata.namespace + ' ' +"
    " oldObject.metadata.name + '"
)
"""What a person does who knows that no job is on the pod, inside a text of CEL."""


def _by_operator(config: StackConfig) -> str:
    return f"{_USER}.startsWith('system:serviceaccount:{config.operator.namespace}:')"


def _of_nodeset(config: StackConfig, more: str = "") -> str:
    """Whether the pod is of a NodeSet of this cluster. ``more``: what else must be so of ``each``, its NodeSet."""
    return (
        "oldObject.metadata.?ownerReferences.orValue([]).exists(each, each.kind == 'NodeSet' &&"
        f" each.name.startsWith('{names.nodeset_prefix(config.cluster.resource_name)}'){more})"
    )


def workers(config: StackConfig) -> Policy:
    """No worker pod is deleted under its jobs by kubectl, Helm or a controller of others.

    slurm-operator drains before it deletes. kubelet deletes what has ended, and Kubernetes' controllers what is lost: pods
    of a node that is gone, of a NodeSet that is. Their accounts are known by their names: other programs and people have
    accounts in kube-system, too. kube-scheduler, which would preempt, is none of them. An eviction isn't a deletion for
    admission; the operator's PodDisruptionBudget refuses that of a busy pod.
    """
    name = policy_name(config.cluster.namespace, config.cluster.resource_name, "workers")
    spec: Spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"namespaceSelector": named(config.cluster.namespace), **_WORKERS},
        "matchConditions": [
            {
                "name": "of-this-cluster",
                "expression": _of_nodeset(config),
            },
            {
                "name": "by-others",
                "expression": f"!({_USER}.startsWith('system:node:') || {_USER} == 'system:kube-controller-manager' ||"
                f" {_USER}.matches('^system:serviceaccount:kube-system:[a-z-]+-(controller|collector)$') ||"
                f" {_by_operator(config)})",
            },
            _RUNNING,
        ],
        "variables": [
            *_DRAINED,
            {"name": "looked", "expression": "request.?options.?preconditions.?resourceVersion.hasValue()"},
        ],
        "validations": [
            {
                "expression": f"variables.drained || variables.looked || {permit('oldObject')} == '{names.PERMIT_DELETE}'",
                "messageExpression": "'Pod ' + oldObject.metadata.namespace + '/' + oldObject.metadata.name + ' was to be"
                " deleted, and slurm-operator does not report its node as drained: a job on it would be lost. Drain the node"
                ' (scontrol update nodename=NODE state=drain reason="..."), and delete the pod once its jobs are over; the'
                " operator reports a drain within half a minute. If you know that no job is on it:"
                f" {_BY_HAND}. {way_out(name)}'",
            }
        ],
    }
    return Policy("workers", name, spec, binding(name))


def pods(config: StackConfig, scaled: str) -> Policy:
    """slurm-operator deletes no pod that it hasn't reported as drained since the number was lowered, once its slurmd runs.

    Without its client of slurmrestd it deletes without a drain, and takes its reports off the pods at the end of its first
    sync; from 1.1 on it also deletes pods whose node slurmctld doesn't have. Pods of NodeSets that an autoscaler owns
    (``scaled``) are guarded with ``cluster.fencePods`` alone, for what it costs there (docs/fence.md), and those that the
    operator replaces itself (RollingUpdate) aren't, for the same cost.
    """
    others = "" if config.cluster.fence_pods else f" && !(each.name in {scaled})"
    namespace = config.cluster.namespace
    name = policy_name(namespace, config.cluster.resource_name, "pods")
    lowered = f"'{names.PERMIT_SCALE}' + string(params.spec.replicas) + '{names.PERMIT_AT}'"
    selected = f"'{names.PERMIT_SELECT}{names.PERMIT_AT}'"
    spec: Spec = {
        "failurePolicy": "Fail",
        "paramKind": {"apiVersion": names.API_VERSION, "kind": "NodeSet"},
        "matchConstraints": {"namespaceSelector": named(namespace), **_WORKERS},
        "matchConditions": [
            {
                "name": "by-the-operator",
                "expression": _by_operator(config),
            },
            {
                "name": "guarded",
                "expression": _of_nodeset(config, others),
            },
            _RUNNING,
        ],
        "variables": [
            *_DRAINED,
            # The operator writes both at the end of each sync, the generation first. So what it reports of the pod is of a
            # sync that has seen this number; a gate has just asked slurmctld itself.
            {
                "name": "seen",
                "expression": "params.?status.?observedGeneration.orValue(-1) == params.metadata.generation ||"
                f" {permit('params')} == {lowered} + string(params.metadata.generation - 1) ||"
                f" {permit('params')} == {selected} + string(params.metadata.generation - 1)",
            },
            {
                "name": "known",
                "expression": " + ".join(
                    f"params.?status.?slurm{state}.orValue(0)" for state in ("Idle", "Allocated", "Down", "Drain")
                ),
            },
            # From 1.1.0 on the operator replaces a pod whose node slurmctld doesn't have. Without its client it doesn't; it
            # then deletes for a lower number, another template or another scaling mode only. None of these is so. Where
            # slurmctld has no node of the NodeSet, it has lost its state: jobs run on, and it may get its state back.
            {
                "name": "unregistered",
                "expression": "size(variables.states) == 0 && variables.known > 0 &&"
                " params.?status.?replicas.orValue(params.spec.replicas + 1) <= params.spec.replicas &&"
                " params.spec.?updateStrategy.?type.orValue('') == 'OnDelete' &&"
                f" oldObject.metadata.?labels[?'{names.LABEL_SCALING_MODE}'].orValue('') == 'StatefulSet' &&"
                " params.spec.?scalingMode.orValue('') == 'StatefulSet'",
            },
        ],
        "validations": [
            {
                "expression": "!oldObject.metadata.ownerReferences.exists(each, each.kind == 'NodeSet' &&"
                " each.name == params.metadata.name) || variables.seen && (variables.drained || variables.unregistered) ||"
                " params.spec.?updateStrategy.?type.orValue('RollingUpdate') == 'RollingUpdate' &&"
                f" !(params.metadata.name in {scaled})",
                "messageExpression": "'Pod ' + oldObject.metadata.namespace + '/' + oldObject.metadata.name +"
                " ' was to be deleted by slurm-operator, which has not reported its node as drained: jobs on it would be"
                " lost. The operator drains the node and deletes the pod once slurmrestd answers it: see slinky status. If"
                " slurmctld does not have the node (scontrol show nodes), delete the pod yourself:"
                f" {_BY_HAND}. {way_out(name)}'",
            }
        ],
    }
    return Policy("pods", name, spec, binding(name) | each_nodeset(namespace))
