"""Which Kubernetes nodes a NodeSet in DaemonSet mode has pods on: the operator's own rule. Pure.

Source: slurm-operator 1.1.0 to 1.2.1, ``nodeset_sync.go`` (``podsShouldBeOnNode``, ``newSimulatedDaemonPod``) and
``utils.go`` (``PodShouldRunOnNode``), which ask Kubernetes' own code: ``GetRequiredNodeAffinity`` for nodeSelector and
required affinity, ``FindMatchingUntoleratedTaint`` for taints of the effects NoSchedule and NoExecute. The pod that it asks
about is the template's; other than with a DaemonSet of Kubernetes', no toleration of daemons is added (not-ready,
unschedulable …). A pod that is there stays under an untolerated NoSchedule, and goes under an untolerated NoExecute.

A term that can't be read matches no node, and an affinity without a term neither: so does Kubernetes' code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from slinky_iac.kube.objects import NodeSet, ObjectMeta, Pod, Wire
from slinky_iac.selection import DAEMON, REQUIRED, Selection, at, fault_of_requirement, listed, whole

HOSTNAME_OVERRIDE: Final = "nodeset.slinky.slurm.net/hostname-override"
_WORKERS_OWN: Final[Mapping[str, Any]] = {
    "key": "nodeset.slinky.slurm.net/worker",
    "operator": "Equal",
    "effect": "NoExecute",
}
"""What the operator's own template tolerates; a list of the NodeSet's replaces it (worker_app.go)."""


def written(nodeset: NodeSet) -> Selection:
    """The three fields of the live template, whatever the mode."""
    spec = nodeset.spec.template.spec
    return Selection(spec.node_selector or {}, spec.affinity or {}, tuple(spec.tolerations or ()))


def selection_of(nodeset: NodeSet) -> Selection | None:
    """The live selection; None where the NodeSet isn't in DaemonSet mode."""
    return written(nodeset) if nodeset.spec.scaling_mode == DAEMON else None


class Taint(Wire, frozen=True):
    """One taint of a Kubernetes node."""

    key: str
    effect: str
    value: str = ""


class _MachineSpec(Wire, frozen=True):
    taints: tuple[Taint, ...] | None = None


class Machine(Wire, frozen=True):
    """A Kubernetes node, as far as it decides whether a pod fits."""

    metadata: ObjectMeta
    spec: _MachineSpec = _MachineSpec()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def label(self) -> str:
        """The first label of its name: what a slurmd in its own network is called."""
        return self.name.partition(".")[0]

    def host_name(self, *, by_annotation: bool) -> str:
        """Host name of a new pod on it (``GetDaemonSetPodHostname``): the first label of its own name, or an annotation's,
        which operators from 1.2 on read."""
        given = self.metadata.annotations.get(HOSTNAME_OVERRIDE, "") if by_annotation else ""
        return given or self.label

    def slurm_names(self, *, by_annotation: bool, on_host: bool) -> tuple[str, ...]:
        """Names that a new pod on it may have in Slurm. ``on_host``: it is on the host network, where slurmd has the
        machine's own name, whatever the operator takes it for."""
        host_name = self.host_name(by_annotation=by_annotation)
        return (host_name, self.label) if on_host and host_name != self.label else (host_name,)


def fits(selection: Selection, machine: Machine) -> tuple[bool, bool]:
    """Whether a pod should come to a machine, and whether one that is there stays."""
    if not _labelled(selection, machine):
        return False, False
    tolerations = selection.tolerations or (_WORKERS_OWN,)
    bad = {taint.effect for taint in machine.spec.taints or () if not any(tolerates(one, taint) for one in tolerations)}
    return not bad & {"NoSchedule", "NoExecute"}, "NoExecute" not in bad


def _labelled(selection: Selection, machine: Machine) -> bool:
    labels = machine.metadata.labels
    if any(labels.get(key) != value for key, value in selection.node_selector.items()):
        return False
    required = at(selection.affinity, *REQUIRED)
    if required is None:
        return True
    terms = required.get("nodeSelectorTerms") if isinstance(required, Mapping) else None
    return any(_term(term, machine) for term in listed(terms) if isinstance(term, Mapping))


def _term(term: Mapping[str, Any], machine: Machine) -> bool:
    """One of ``nodeSelectorTerms``: all that it asks for, and an empty one asks for a node that there isn't."""
    expressions, named = listed(term.get("matchExpressions")), listed(term.get("matchFields"))
    if not expressions and not named:
        return False
    if any(fault_of_requirement(requirement, by_field=False) for requirement in expressions):
        return False
    if any(fault_of_requirement(requirement, by_field=True) for requirement in named):
        return False
    return all(_expression(requirement, machine.metadata.labels) for requirement in expressions) and all(
        (machine.name in requirement["values"]) is (requirement["operator"] == "In") for requirement in named
    )


def _expression(wanted: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(str(wanted["key"])), wanted.get("values") or ()
    match wanted["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    number, bound = whole(value or ""), whole("".join(values))
    if number is None or bound is None:
        return False
    return number > bound if wanted["operator"] == "Gt" else number < bound


def tolerates(toleration: Mapping[str, Any], taint: Taint) -> bool:
    """``Toleration.ToleratesTaint`` of Kubernetes' API; an operator that isn't known tolerates nothing."""
    if (toleration.get("effect") or taint.effect) != taint.effect or (toleration.get("key") or taint.key) != taint.key:
        return False
    operator = toleration.get("operator") or "Equal"
    return operator == "Exists" or (operator == "Equal" and (toleration.get("value") or "") == taint.value)


def machine_of(pod: Pod) -> str:
    """The Kubernetes node that a pod is for: where it runs, or the one that the operator has named for it
    (``GetTargetNodeName``); ``""`` where it names none."""
    if pod.spec.node_name:
        return pod.spec.node_name
    terms = at(pod.spec.affinity, *REQUIRED, "nodeSelectorTerms")
    for term in terms if isinstance(terms, list) else ():
        for requirement in listed(at(term, "matchFields")):
            if not fault_of_requirement(requirement, by_field=True) and requirement["operator"] == "In":
                return str(requirement["values"][0])
    return ""
