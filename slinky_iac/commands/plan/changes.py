"""From the steps of a preview to one :class:`Change` a resource, and why some can't be taken back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from slinky_iac import names
from slinky_iac.cluster.pulumi_state import RELEASE, SECRET, STACK, custom, dynamic, name_of, type_of
from slinky_iac.commands.plan.differences import differences
from slinky_iac.commands.plan.model import Change, Op
from slinky_iac.commands.plan.wire import State, Step

_OPS: Final[Mapping[str, Op]] = {
    "create": "create",
    "update": "update",
    "replace": "replace",
    "create-replacement": "replace",
    "delete-replaced": "replace",
    "discard-replaced": "replace",
    "remove-pending-replace": "replace",
    "import-replacement": "replace",
    "read-replacement": "replace",
    "delete": "delete",
    "discard": "other",
    "import": "import",
    "refresh": "refresh",
    "read": "read",
}
_KINDS: Final = {
    names.NODESET_SCALE: "NodeSet scale",
    names.SCALE_IN_GATE: "scale-in gate",
    names.TEARDOWN_GATE: "teardown gate",
    dynamic("OutsideHosts"): "bare-metal hosts",
    dynamic("SlurmConfGate"): "gate of slurm.conf",
    dynamic("QueueGate"): "gate of the queue",
    dynamic("ClusterIdentity"): "cluster identity",
    "random:index/randomPassword:RandomPassword": "generated key",
    RELEASE: "Helm release",
    STACK: "stack outputs",
}
_HARM: Final = {
    custom("Controller"): "slurmctld goes, and its queue and jobs unless its state is kept",
    custom("Accounting"): "slurmdbd is removed; accounting records remain only in its database",
    custom("RestApi"): "without slurmrestd the operator treats every node as drained",
    custom("NodeSet"): "all pods of the NodeSet go, once its NodeSetScale has drained them",
    SECRET: "what a Secret held is gone; every daemon with the old key stops talking to the cluster",
    "random:index/randomPassword:RandomPassword": "a generated key can't be generated again",
    "kubernetes:core/v1:PersistentVolumeClaim": "the data on the volume is gone",
    "kubernetes:core/v1:Namespace": "everything in the namespace goes with it",
    RELEASE: "what the chart made goes; CRDs take the NodeSets of all stacks with them",
}
COMPONENTS: Final = "slinky:slurm:"
"""Components of this project only group others; nothing is made for them."""


def op_of(step: Step) -> Op | None:
    """What a step does in a person's word; None where it does nothing."""
    return None if step.op == "same" else _OPS.get(step.op, "other")


def changes(steps: Iterable[Step]) -> tuple[Change, ...]:
    """One change a resource: a replacement has up to three steps and is one. In the order of the preview."""
    by_urn: dict[str, list[Step]] = {}
    for step in steps:
        if op_of(step) is not None and not type_of(step.urn).startswith((COMPONENTS, "pulumi:providers:")):
            by_urn.setdefault(step.urn, []).append(step)
    found = (_change(urn, group) for urn, group in by_urn.items())
    return tuple(each for each in found if each is not None)


def _change(urn: str, group: list[Step]) -> Change | None:
    ops = [each for step in group if (each := op_of(step)) is not None]
    op: Op = "replace" if "replace" in ops else ops[-1]
    old = next((step for step in group if step.old), group[0])
    new = next((step for step in group if step.new), group[0])
    kind = type_of(urn)
    fields = differences(old.before, new.after) if op in ("update", "replace") else ()
    if kind == STACK:
        return None
    return Change(op, _KINDS.get(kind, kind.rpartition(":")[2]), name_of(urn), fields, _undo(op, kind, old.old or State()))


def _undo(op: Op, kind: str, old: State) -> str:
    if op not in ("delete", "replace") or kind.startswith(dynamic("")):
        return ""
    why = _HARM.get(kind, "it is replaced, and keeps nothing of the old one" if op == "replace" else "it is gone")
    if old.protect:
        return f"{why}. It is protected: the update stops here until somebody unprotects it"
    if old.retain_on_delete:
        return f"it stays in the cluster, and this stack no longer knows it ({why} when somebody removes it)"
    return why
