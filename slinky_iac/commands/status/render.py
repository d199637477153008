"""The screen as text, and as JSON. Names, reasons and users are anybody's words: made harmless for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Final

from slinky_iac.commands import output
from slinky_iac.commands.output import Paint, clipped, columns
from slinky_iac.commands.status.model import Drained, Endpoint, Group, Guarded, KeyChange, LastUp, Status, Version
from slinky_iac.commands.status.next_step import next_step
from slinky_iac.commands.status.nodes import UNREGISTERED
from slinky_iac.parts.registry import GUARDS
from slinky_iac.text import full, plain, span

WIDTH: Final = 100
_SHADES: Final = {"up": "green", "down": "red", "unknown": "yellow", "same": "green", "differs": "red"}
_DRAIN_SHADES: Final = {"draining": "yellow", "drained": "yellow", "this stack": "cyan", "slurm-operator": "blue"}
_BAR: Final = {"idle": "green", "allocated": "green", "mixed": "green", "completing": "green", "reserved": "blue"}
_BAR_BAD: Final = frozenset({"down", "not responding", "not registered", "failing", "unknown"})
BAR_CELLS: Final = 24
_GUARD_SHADES: Final = {"stands": "green", "off": "yellow", "broken": "red", "unknown": "yellow"}


def as_json(status: Status) -> str:
    """The screen for machines, with the number of its shape."""
    document = asdict(status)
    guards = document.pop("guards")
    return output.as_json({**document, **guards, "next": next_step(status)})


def screen(status: Status, *, colour: bool = False, width: int = WIDTH) -> str:
    """The screen for people, ending with a line break; without ``colour`` it is plain text."""
    paint = Paint(colour)
    head = f"{plain(status.stack) or 'the selected stack'}: cluster {plain(status.cluster) or 'unknown'}"
    lines = [paint(f"{head}, {full(status.taken_at)}", "bold"), *_summary(status, width)]
    sections: dict[str, Iterable[str]] = {}
    if not status.endpoints:
        what = "holds no Slurm to ask" if status.holds else "holds nothing: `pulumi up` has not run, or all was destroyed"
        lines.append(f"  the stack {what}")
    else:
        sections["Endpoints"] = _endpoints(status.endpoints, paint, width)
        sections["Versions"] = _versions(status.versions, paint, width)
        sections["Nodes"] = _groups(status.groups, paint, width)
        for name, guard in status.guards.items():
            if guard is not None:
                sections[name.capitalize()] = _guard(name, guard, paint, width)
        sections["Drains"] = _drains(status.drains, paint, width)
        sections["Keys"] = _keys(status, paint, width)
    if status.key_changes != ():
        sections["Keys being replaced"] = _changes(status.key_changes, paint, width)
    sections["Last up"] = _last(status.last, status, paint)
    if status.unknown:
        sections["Not known"] = (paint(f"  ! {plain(trouble, 600)}", "yellow") for trouble in status.unknown)
    for title, body in sections.items():
        lines += ["", paint(title, "bold"), *body]
    step = textwrap.wrap(f"Next: {next_step(status)}", width, subsequent_indent="  ", break_on_hyphens=False)
    lines += ["", *(paint(line, "bold") for line in step)]
    return "\n".join(lines) + "\n"


def _summary(status: Status, width: int) -> list[str]:
    if not status.endpoints:
        return []
    up = sum(endpoint.state == "up" for endpoint in status.endpoints)
    words = [f"{up} of {len(status.endpoints)} endpoints up"]
    if any(group.states is None for group in status.groups):
        words.append("nodes unknown")
    else:
        states = [item for group in status.groups for item in (group.states or {}).items()]
        words.append(f"{sum(count for state, count in states if state != UNREGISTERED)} nodes")
    if status.drains:
        words.append(f"{sum(bool(drain.owner) for drain in status.drains)} drained")
    words += [GUARDS[name].broken for name in status.broken]
    if any(key.cluster == "differs" for key in status.keys):
        words.append("a key differs")
    if status.key_changes:
        words.append(f"{' and '.join(change.key for change in status.key_changes)} being replaced")
    return textwrap.wrap(f"{', '.join(words)}{'; not all could be asked' if status.unknown else ''}", width)


def _fitted(rows: list[list[str]], width: int) -> list[list[str]]:
    """The last column cut to what the others leave, never below 20 characters."""
    left = width - 2 - sum(max(len(row[at]) for row in rows) + 2 for at in range(len(rows[0]) - 1))
    return [[*row[:-1], clipped(row[-1], max(left, 20))] for row in rows]


def _endpoints(endpoints: tuple[Endpoint, ...], paint: Paint, width: int) -> Iterable[str]:
    rows = [["", "STATE", "TIME", "WHERE", ""]]
    for endpoint in endpoints:
        took = "" if endpoint.latency_ms is None else f"{endpoint.latency_ms} ms"
        where = clipped(plain(endpoint.where), 46 if width >= WIDTH else 20)
        rows.append([endpoint.name, endpoint.state, took, where, plain(endpoint.text)])
    return columns(_fitted(rows, width), paint, _SHADES)


def _versions(versions: tuple[Version, ...], paint: Paint, width: int) -> Iterable[str]:
    rows = [["", "RELEASE", ""], *([version.daemon, plain(version.release), plain(version.text)] for version in versions)]
    return columns(_fitted(rows, width), paint, _SHADES)


def _groups(groups: tuple[Group, ...], paint: Paint, width: int) -> Iterable[str]:
    if not groups:
        yield "  none"
        return
    rows = [["", "WANTED", "PODS", "READY", "STATES"]]
    for group in groups:
        counts = (group.wanted, *((group.pods, group.ready) if group.kind == "nodeset" else (None, None)))
        states = (
            "unknown" if group.states is None else ", ".join(f"{n} {state}" for state, n in group.states.items()) or "none"
        )
        shown = ["" if count is None else str(count) for count in counts]
        rows.append([group.name, *shown, states + (f" ({plain(group.text)})" if group.text else "")])
    bars = paint.on and width >= WIDTH
    lines = list(columns(_fitted(rows, width - (BAR_CELLS + 2 if bars else 0)), paint, _SHADES))
    most = max((sum(group.states.values()) for group in groups if group.states), default=0)
    yield (" " * (BAR_CELLS + 2) if bars else "") + lines[0]
    for group, line in zip(groups, lines[1:], strict=True):
        yield (f"  {_bar(group.states or {}, most, paint)}" if bars else "") + line


def _guard(name: str, guard: Guarded, paint: Paint, width: int) -> Iterable[str]:
    """One line, and one paragraph for each fault: what to do stands at its end."""
    yield f"  {paint(guard.state, _GUARD_SHADES[guard.state])}{GUARDS[name].states[guard.state]}"
    for fault in guard.faults:
        yield from textwrap.wrap(plain(fault, 600), width, initial_indent="    ", subsequent_indent="    ")


def _bar(states: Mapping[str, int], most: int, paint: Paint) -> str:
    """A bar of the node states, as long as the group is large beside the largest one; every state has a cell."""
    worst_first = sorted(states.items(), key=lambda item: item[0] not in _BAR_BAD)[:BAR_CELLS]
    cells = {state: max(1, round(count * BAR_CELLS / most)) for state, count in worst_first if count}
    while sum(cells.values()) > BAR_CELLS:
        cells[max(cells, key=lambda state: cells[state])] -= 1
    shades = {state: "red" if state in _BAR_BAD else _BAR.get(state, "yellow") for state in cells}
    shown = "".join(paint("█" * cells[state], shades[state]) for state in states if state in cells)
    return shown + " " * (BAR_CELLS - sum(cells.values()))


def _drains(drains: tuple[Drained, ...] | None, paint: Paint, width: int) -> Iterable[str]:
    if drains is None:
        yield "  " + paint("unknown", "yellow")
    elif not drains:
        yield "  none"
    else:
        rows = [["NODE", "STATE", "WHOSE", "JOBS", "REASON"]]
        for drain in drains:
            jobs = f"{len(drain.jobs)}" if drain.jobs else ""
            reason = plain(drain.reason) + (f" (returns {drain.returns})" if drain.returns else "")
            rows.append([plain(drain.node), drain.state, clipped(plain(drain.owner) or "unknown", 24), jobs, reason])
        yield from columns(_fitted(rows, width), paint, _DRAIN_SHADES)


def _keys(status: Status, paint: Paint, width: int) -> Iterable[str]:
    keys = status.keys
    rows = [["", "AGE", "SECRET", "SIGNS", "FINGERPRINT", "CLUSTER"]]
    for key in keys:
        age = "unknown" if key.made is None else span(status.taken_at - key.made)
        rows.append([key.name, age, plain(key.secret), ", ".join(key.signs), plain(key.fingerprint), key.cluster])
    said = (f"{key.name}: {plain(key.text)}" for key in keys if key.text)
    notes = [
        line for sentence in said for line in textwrap.wrap(sentence, width, initial_indent="  ", subsequent_indent="    ")
    ]
    if sum(max(len(row[at]) for row in rows) + 2 for at in range(5)) + 10 > width:  # the fingerprint is there to be compared
        wide = [f"  {row[0]}: {row[4]}" for row in rows[1:]]
        narrow = [[*row[:4], row[5]] for row in rows]
        return [*columns(_fitted(narrow, width), paint, _SHADES), *wide, *notes]
    return [*columns(_fitted(rows, width), paint, _SHADES), *notes]


def _changes(changes: tuple[KeyChange, ...] | None, paint: Paint, width: int) -> Iterable[str]:
    if changes is None:
        yield "  " + paint("unknown", "yellow")
        return
    for change in changes:
        how = {"planned stop": ", in a planned stop", "unknown": ""}.get(change.how, f", {change.how}")
        yield f"  {paint(change.key, 'yellow')}{how}"
        yield from textwrap.wrap("; ".join(change.signs), width, initial_indent="    ", subsequent_indent="    ")
        yield from (f"    besides: {plain(other)}" for other in change.besides)
        yield f"    where it stands: {change.command}"


def _last(last: LastUp | None, status: Status, paint: Paint) -> Iterable[str]:
    if last is None:
        missing = any(trouble.startswith("history:") for trouble in status.unknown)
        yield "  " + (paint("unknown", "yellow") if missing else "none yet")
        return
    shade = {"succeeded": "green", "failed": "red"}.get(last.result, "yellow")
    when = "at an unknown time" if last.started is None else f"{span(status.taken_at - last.started)} ago"
    began = "" if last.started is None else f" ({full(last.started)})"
    took = f", took {span(last.ended - last.started)}" if last.started is not None and last.ended is not None else ""
    changes = ", ".join(f"{count} {op}" for op, count in last.changes.items())
    yield f"  {paint(plain(last.result), shade)} {when}{began}{took}{f': {changes}' if changes else ''}"
    yield f"  by {plain(last.who)}" if not last.who.startswith("unknown") else f"  who: {plain(last.who)}"
    for more in (last.message, last.later):
        if more:
            yield f"  {plain(more, 200)}"
