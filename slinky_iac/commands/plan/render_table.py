"""For a terminal: columns as wide as they must be, no more than 16-colour marks, none of them where it is piped."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from slinky_iac.commands.output import Paint, columns
from slinky_iac.commands.plan import words
from slinky_iac.commands.plan.limits import Verdict
from slinky_iac.commands.plan.model import ChangeOrder, Drain
from slinky_iac.text import LONGEST, at, full, plain, until

_SHADES = {"ok": "green", "none": "dim", "ask": "yellow", "no": "red"}
_NOTICES = {"error": "red", "warning": "yellow"}
_LATE = "after the deadline"
_LATE_SHORT = "late"
_OPS = {"delete": "red", "replace": "yellow", "update": "yellow", "create": "green"}


def table(order: ChangeOrder, verdict: Verdict, *, colour: bool = False, width: int | None = None) -> str:
    """The whole order as text, ending with a line break; no line is longer than ``width`` where that can be."""
    paint = Paint(colour)
    shade = _SHADES[words.face(order, verdict)]
    lines = [
        *_said(f"{words.headline(order)}. All free: {words.last_free(order)}", width, paint, "bold", indent=""),
        *_said("; ".join((words.verdict_line(order, verdict), *verdict.reasons)), width, paint, shade, indent=""),
        *_said(f"{words.where(order)}, previewed {full(order.taken_at)}; {words.counts(order)}", width, indent=""),
    ]
    for notice in words.notices(order):
        lines += _said(f"{notice.severity}: {plain(notice.text)}", width, paint, _NOTICES[notice.severity], indent="")
    for drain in order.drains:
        title = paint(plain(words.drain_title(drain)), "bold")
        lines += ["", title, *_drain(drain, order.taken_at, paint, width)]
    if order.gives_back:
        lines += ["", *_said(f"Given back from an interrupted run: {', '.join(order.gives_back)}", width, indent="")]
    if order.undo:
        lines += ["", paint("Can't be undone", "bold")]
        lines += [line for row in order.undo for line in _said(": ".join(row), width)]
    lines += _changes(order, paint, width) + _policies(order, paint, width)
    return "\n".join(lines) + "\n"


def _said(text: str, width: int | None, paint: Paint | None = None, shade: str = "", *, indent: str = "  ") -> list[str]:
    """A sentence as lines of the width, harmless for a terminal."""
    shown = plain(text, 4 * LONGEST)
    if width is None:
        lines = [indent + shown]
    else:
        lines = textwrap.wrap(shown, width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False)
    return [paint(line, shade) if paint and shade else line for line in lines]


def _drain(drain: Drain, now: int, paint: Paint, width: int | None) -> Iterable[str]:
    yield from _said(words.deadline_line(drain, now), width)
    for text in drain.blocks:
        yield from _said(f"! {text}", width, paint, "red")
    for text in drain.warnings:
        yield from _said(f"! {text}", width, paint, "yellow")
    if len(drain.nodes) > words.MANY:
        yield f"  {words.strip(drain)}"
    late = set(drain.late)
    rows: list[tuple[str, ...]] = [("NODE", "FREE", "JOB", "USER", "PARTITION", "STARTED", "ENDS BY", "")]
    for node in words.by_wait(drain.nodes):
        first: tuple[str, str] = (plain(node.name), until(node.free_at, now))
        jobs = drain.jobs_on(node)
        if not jobs:
            rows.append((*first, "no job" if not node.jobs_total else f"{node.jobs_total} jobs", "", "", "", "", ""))
        for job in jobs:
            mark = _LATE if job in late else ""
            started = at(job.started, now)
            rows.append((*first, *map(plain, (job.label, job.user, job.partition)), started, until(job.ends_by, now), mark))
            first = ("", "")
    if len(rows) > 1:
        yield from columns(_fitting(rows, width), paint, {_LATE: "red", _LATE_SHORT: "red"})
    if drain.unlisted:
        yield f"  and {drain.unlisted} jobs more"
    if drain.returns:
        yield from _said(f"back to work: {', '.join(drain.returns)}", width)


def _fitting(rows: list[tuple[str, ...]], width: int | None) -> list[tuple[str, ...]]:
    """The rows without the columns that say least, and with a shorter mark, as long as they are too wide."""
    for least in ("STARTED", "PARTITION", ""):
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        if width is None or sum(widths) + 2 * len(widths) <= width:
            break
        number = rows[0].index(least)
        instead = [(_LATE_SHORT if row[number] else "",) if not least else () for row in rows]
        rows = [(*row[:number], *mark, *row[number + 1 :]) for row, mark in zip(rows, instead, strict=True)]
    return rows


def _changes(order: ChangeOrder, paint: Paint, width: int | None) -> list[str]:
    if not order.changes:
        return []
    lines = ["", paint("Changes", "bold")]
    for change in words.by_weight(order.changes):
        mark = paint(words.MARKS[change.op], _OPS.get(change.op, "dim"))
        lines.append(f"  {mark} {plain(change.kind)} {plain(change.name)}")
        lines += [line for field in change.fields[:12] for line in _said(field, width, indent="      ")]
        if len(change.fields) > 12:
            lines.append(f"      and {len(change.fields) - 12} more")
    return lines


def _policies(order: ChangeOrder, paint: Paint, width: int | None) -> list[str]:
    lines = ["", paint("Policies", "bold"), *_said(words.policy_line(order), width)]
    for violation in order.policies.violations if order.policies else ():
        lines += _said(
            f"{violation.level} {violation.name} at {violation.resource or 'the stack'}: {plain(violation.message)}", width
        )
    return lines
