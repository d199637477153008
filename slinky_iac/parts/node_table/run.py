"""The hands of the node table: a look at all Kubernetes nodes, then one apply for each that has to change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from slinky_iac.cluster.connection import connected
from slinky_iac.engine.plugin_process import engine_report
from slinky_iac.errors import KubeConflict, SlinkyError
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.machines import Machine, apply, machines
from slinky_iac.parts.node_table import plan
from slinky_iac.parts.node_table.plan import NodeTableError, TableSettings, Values

PREVIEW_S: Final = 20.0
"""Seconds that a preview's question may take."""
Props = dict[str, Any]


def preview(settings: TableSettings, olds: Mapping[str, Any]) -> tuple[Props, tuple[str, ...]]:
    """``nodes`` and ``due`` for the inputs, and what must end the preview. Without an answer the nodes of the state stay,
    and the update asks again."""
    report = engine_report(settings.urn)
    try:
        with connected(settings.reach, budget_s=PREVIEW_S) as way:
            live = machines(way.kube)
        wanted = plan.planned(settings.rows, live)
    except NodeTableError as error:
        return {}, (str(error),)
    except SlinkyError as error:
        report(f"the Kubernetes nodes of the node table are not known: {error}. The update asks again", severity="warning")
        return {"nodes": olds.get("nodes") or {}, "due": f"not known: {error}"}, ()
    if gone := plan.absent(settings.rows, live):
        report(gone, severity="warning")
    props: Props = {"nodes": plan.plain(wanted)}
    if why := plan.due(wanted, live, settings.manager):
        props["due"] = why
    return props, plan.conflicts(wanted, live, settings.manager)


def write(settings: TableSettings) -> Props:
    """Bring every node to what the table says, and take back from all others what is this stack's. Returns ``nodes``.

    Raises what asking raises; what is written by then stays, and the next run continues.
    """
    with connected(settings.reach) as way:
        live = machines(way.kube)
        wanted = plan.planned(settings.rows, live)
        if conflicts := plan.conflicts(wanted, live, settings.manager):
            raise NodeTableError(". ".join(conflicts))
        for node, own in wanted.items():
            _apply(way.kube, live[node], own, settings.manager)
        _take_back(way.kube, {node: at for node, at in live.items() if node not in wanted}, settings.manager)
        return {"nodes": plan.plain(wanted)}


def take_back(settings: TableSettings) -> None:
    """Remove what this stack has set on any node, and nothing else."""
    with connected(settings.reach) as way:
        _take_back(way.kube, machines(way.kube), settings.manager)


def look(settings: TableSettings, nodes: Mapping[str, Any]) -> Props:
    """``nodes`` as they are: what of it is there."""
    with connected(settings.reach) as way:
        live = machines(way.kube)
    there = {node: plan.values(own) for node, own in nodes.items() if node in live}
    values = {
        node: {(part, key): value for part, key in own if (value := getattr(live[node].metadata, part).get(key)) is not None}
        for node, own in there.items()
    }
    return {"nodes": plan.plain(values)}


def _take_back(kube: KubeClient, live: Mapping[str, Machine], manager: str) -> None:
    for machine in live.values():
        if machine.managed_by(manager):
            _apply(kube, machine, {}, manager)


def _apply(kube: KubeClient, machine: Machine, own: Values, manager: str) -> None:
    try:
        apply(kube, machine, own, manager)
    except KubeConflict as error:
        raise NodeTableError(
            f"{error}. Another manager has set it, or the node was replaced, since the look. Nothing of others was changed;"
            " run `pulumi up` again"
        ) from None
