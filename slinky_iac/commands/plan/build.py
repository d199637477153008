"""A preview's JSON becomes a :class:`ChangeOrder`: one :class:`Change` a resource with what differs, and why some can't be
taken back. Pure: the time is given.

Values are shown only where they can't be secret: numbers, flags, images, versions. A preview blinds secrets as ``[secret]``;
what a program forgot to mark as one must not reach a pull request either.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import convert

from slinky_iac import names
from slinky_iac.cluster.pulumi_state import RELEASE, SECRET, STACK, custom, dynamic, name_of, type_of
from slinky_iac.commands.plan import wire
from slinky_iac.commands.plan.drains import drains, gives_back
from slinky_iac.commands.plan.model import Change, ChangeOrder, Op
from slinky_iac.commands.plan.wire import State, Step
from slinky_iac.drain.written_plan import Plan, Plans
from slinky_iac.errors import PreviewError

SHOWN_WORDS: Final = frozenset({"image", "tag", "repository", "version", "chart", "operatorVersion", "imagePullPolicy"})
"""Last parts of paths whose texts are shown."""
_PASSED_OVER: Final = frozenset({"__provider", "plan", "urn"})
"""Inputs that are no setting: the pickled provider, and what the gates compute (shown as drains)."""


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """Paths of what differs, e.g. ``chart.version: 1.0.1 → 1.0.2`` or ``spec.template.spec.affinity``; sorted."""
    keys = (old.keys() | new.keys()) - _PASSED_OVER
    return tuple(line for key in sorted(keys) for line in _walk(key, old.get(key), new.get(key)))


def _walk(path: str, old: object, new: object) -> Iterator[str]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys(), key=str):
            yield from _walk(f"{path}.{key}", old.get(key), new.get(key))
    elif _may_show(path, old) and _may_show(path, new):
        yield f"{path}: {_shown(old)} → {_shown(new)}"
    else:
        yield path


def _may_show(path: str, value: object) -> bool:
    if value is None or isinstance(value, bool | int | float):
        return True
    return isinstance(value, str) and path.rpartition(".")[2] in SHOWN_WORDS and len(value) <= 200


def _shown(value: object) -> str:
    if value is None:
        return "not set"
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


_KINDS: Final = {
    names.NODESET_SCALE: "NodeSet scale",
    dynamic("OutsideHosts"): "bare-metal hosts",
    dynamic("ControllerGate"): "gate of the Controller",
    dynamic("QueueGate"): "gate of the queue",
    dynamic("SessionsGate"): "gate of sessions",
    dynamic("Removals"): "list of what stands",
    dynamic("ClusterIdentity"): "cluster identity",
    "random:index/randomPassword:RandomPassword": "generated key",
    RELEASE: "Helm release",
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


def changes(steps: Iterable[Step]) -> tuple[Change, ...]:
    """One change a resource: a replacement has up to three steps and is one. In the order of the preview."""
    by_urn: dict[str, list[Step]] = {}
    for step in steps:
        if step.does and not type_of(step.urn).startswith((COMPONENTS, "pulumi:providers:", STACK)):
            by_urn.setdefault(step.urn, []).append(step)
    return tuple(_change(urn, group) for urn, group in by_urn.items())


def _change(urn: str, group: list[Step]) -> Change:
    ops = [step.does for step in group if step.does]
    op: Op = "replace" if "replace" in ops else ops[-1]
    old = next((step for step in group if step.old), group[0])
    new = next((step for step in group if step.new), group[0])
    kind = type_of(urn)
    fields = differences(old.before, new.after) if op in ("update", "replace") else ()
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


QUIET: Final = ("debug", "")
"""Severities that no reviewer reads."""


def change_order(text: str, *, now: int, removals: Mapping[str, Plan] | None = None) -> ChangeOrder:
    """Read a preview. ``now``: seconds since the epoch, for previews that don't say when they were taken; ``removals``:
    plans of removals by NodeSet (see :func:`read_removals`).

    Raises :class:`PreviewError` where ``text`` isn't a whole preview.
    """
    try:
        seen = wire.read(text)
        steps, taken_at = seen.steps, seen.taken_at or now
        stack, project = steps[0].urn.removeprefix("urn:pulumi:").split("::")[:2] if steps else ("", "")
        said = (message for message in seen.messages if message.severity not in QUIET and message.text)
        return ChangeOrder(
            project=project,
            stack=stack,
            taken_at=taken_at,
            changes=changes(steps),
            unchanged=sum(step.does is None for step in steps),
            drains=drains(steps, removals or {}, taken_at),
            policies=seen.policies,
            messages=tuple(dict.fromkeys(said)),
            gives_back=gives_back(steps),
            failed=seen.failed,
        )
    except RecursionError:
        raise PreviewError("the preview is nested deeper than any preview is: nothing was judged") from None


def read_removals(text: str) -> dict[str, Plan]:
    """Plans by NodeSet, from the output of `slinky drain plan --json`."""
    try:
        named = {plan.nodeset or "": plan for plan in convert(json.loads(text), Plans).plans}
    except (ValueError, RecursionError):
        named = {"": Plan()}
    if "" in named:
        raise PreviewError("the plans of removals aren't the output of `slinky drain plan --json`; nothing was judged")
    return named
