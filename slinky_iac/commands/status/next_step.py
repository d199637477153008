"""What to do next, by what a look at a stack has shown: the gravest thing alone. Pure."""

from __future__ import annotations

from slinky_iac.commands.status.model import Group, Status
from slinky_iac.commands.status.nodes import UNREGISTERED
from slinky_iac.parts.registry import GUARDS
from slinky_iac.text import plain

NOTHING = "nothing has to be done"


def next_step(status: Status) -> str:
    """One sentence with a command."""
    return next((step for step in _steps(status) if step), NOTHING)


def _steps(status: Status) -> tuple[str, ...]:
    """In the order of their weight; empty where one doesn't apply."""
    down = [endpoint.name for endpoint in status.endpoints if endpoint.state == "down"]
    differs = [key.name for key in status.keys if key.cluster == "differs"]
    ours = [drain for drain in status.drains or () if drain.owner == "this stack"]
    late = [group.name for group in status.groups if _short(group)]
    last = "" if status.last is None else status.last.result
    return (
        "" if status.endpoints else "`slinky preflight`; when it finds no problem, `pulumi up` makes the cluster",
        *(GUARDS[name].step for name in status.broken),
        f"`slinky docs on-call 'A daemon is down'`: {plain(down[0])} doesn't answer" if down else "",
        f"`slinky keys verify` says where {plain(differs[0])} differs" if differs else "",
        f"`{status.key_changes[0].command}` shows the step that is due" if status.key_changes else "",
        "`slinky preflight` says why not all could be asked" if status.unknown else "",
        "`slinky drain watch` shows what the running update waits for" if last == "in-progress" else "",
        "`pulumi up` continues what the last one did not end, or `slinky drain cancel` returns its nodes" if ours else "",
        "`pulumi preview` says what the last update, which failed, has left to do" if last == "failed" else "",
        f'`slinky docs troubleshooting "Pods don\'t become"`: {plain(late[0])} has fewer nodes than it asks for'
        if late
        else "",
    )


def _short(group: Group) -> bool:
    if group.kind != "nodeset" or group.states is None or group.wanted is None:
        return False
    return sum(count for state, count in group.states.items() if state != UNREGISTERED) < group.wanted
