"""The last look: a hook right before a NodeSet is written, that no flag and no earlier step can leave out.

The gate drains; this only refuses. It matters where time has passed since (an interrupted update that goes on), or where
the gate was not part of the update.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pulumi

from slinky_iac.drain.progress import Severity
from slinky_iac.drain.settings import GateSettings


def last_look(nodeset: str, props: Mapping[str, Any]) -> pulumi.ResourceHookBinding:
    """The hook for one NodeSet; ``props`` are its gate's, without the URN."""

    async def before_update(args: pulumi.ResourceHookArgs) -> None:
        wanted = _replicas(args.new_inputs)
        if wanted is not None and props["owner"] == "stack":
            await asyncio.to_thread(_refuse_unsafe, {**props, "replicas": wanted})

    hook = pulumi.ResourceHook(f"slinky-last-look-{nodeset}", before_update)
    return pulumi.ResourceHookBinding(before_update=[hook])


def _replicas(inputs: Mapping[str, Any] | None) -> int | None:
    spec = (inputs or {}).get("spec")
    value = spec.get("replicas") if isinstance(spec, Mapping) else None
    return int(value) if isinstance(value, int | float) else None


def _refuse_unsafe(props: Mapping[str, Any]) -> None:
    # Only a NodeSet that is written needs the clients, and they cost every program a tenth of a second to import.
    from slinky_iac.drain import scale  # noqa: PLC0415
    from slinky_iac.drain.session import open_session  # noqa: PLC0415

    settings = GateSettings.from_props(props)
    with open_session(settings.reach, "", report=_silent) as session:
        scale.last_look(session, settings)


def _silent(message: str, *, severity: Severity = "info", keep: bool = False) -> None:
    """A hook has no line of its own to write on; what it has to say is in its error."""
