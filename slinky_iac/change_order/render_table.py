"""For a terminal: columns as wide as they must be, no more than 16-colour marks, none of them where it is piped."""

from __future__ import annotations

from collections.abc import Iterable

from slinky_iac.change_order import words
from slinky_iac.change_order.escape import plain
from slinky_iac.change_order.limits import Exit, Verdict
from slinky_iac.change_order.model import ChangeOrder, Drain
from slinky_iac.change_order.times import at, full, until
from slinky_iac.terminal import Paint, columns

_OPS = {"delete": "red", "replace": "yellow", "update": "yellow", "create": "green"}


def table(order: ChangeOrder, verdict: Verdict, *, colour: bool = False) -> str:
    """The whole order as text, ending with a line break."""
    paint = Paint(colour)
    shade = "green" if verdict.code is Exit.OK else "red"
    lines = [
        paint(f"{words.headline(order)}. All free: {words.last_free(order)}", "bold"),
        paint(f"{words.verdict_line(verdict)}{''.join(f'; {plain(each)}' for each in verdict.reasons)}", shade),
        f"{plain(order.project)}/{plain(order.stack)}, previewed {full(order.taken_at)}; {words.counts(order)}",
    ]
    for drain in order.drains:
        lines += ["", paint(plain(words.drain_title(drain)), "bold"), *_drain(drain, order.taken_at, paint)]
    if order.gives_back:
        lines += ["", f"Given back from an interrupted run: {', '.join(map(plain, order.gives_back))}"]
    lines += _undo(order, paint) + _changes(order, paint) + _policies(order, paint)
    lines += [f"  {plain(each.severity)}: {plain(each.text)}" for each in order.messages if each.severity != "info"]
    return "\n".join(lines) + "\n"


def _drain(drain: Drain, now: int, paint: Paint) -> Iterable[str]:
    yield f"  {words.deadline_line(drain, now)}"
    late = set(drain.late)
    rows: list[tuple[str, ...]] = [("NODE", "FREE", "JOB", "USER", "PARTITION", "STARTED", "ENDS BY", "")]
    for node in drain.nodes:
        first: tuple[str, str] = (plain(node.name), until(node.free_at, now))
        jobs = drain.jobs_on(node)
        if not jobs:
            rows.append((*first, "no job" if not node.jobs_total else f"{node.jobs_total} jobs", "", "", "", "", ""))
        for job in jobs:
            mark = "after the deadline" if job in late else ""
            started = at(job.started, now)
            rows.append((*first, *map(plain, (job.label, job.user, job.partition)), started, until(job.ends_by, now), mark))
            first = ("", "")
    if len(rows) > 1:
        yield from columns(rows, paint)
    if words.unlisted(drain):
        yield f"  and {words.unlisted(drain)} jobs more"
    for text in drain.blocks:
        yield paint(f"  ! {plain(text)}", "red")
    for text in drain.warnings:
        yield paint(f"  ! {plain(text)}", "yellow")
    if drain.returns:
        yield f"  back to work: {', '.join(map(plain, drain.returns))}"


def _undo(order: ChangeOrder, paint: Paint) -> list[str]:
    if not order.undo:
        return []
    return ["", paint("Can't be undone", "bold"), *(f"  {plain(what)}: {plain(why)}" for what, why in order.undo)]


def _changes(order: ChangeOrder, paint: Paint) -> list[str]:
    if not order.changes:
        return []
    lines = ["", paint("Changes", "bold")]
    for each in words.by_weight(order.changes):
        mark = paint(words.MARKS[each.op], _OPS.get(each.op, "dim"))
        lines.append(f"  {mark} {plain(each.kind)} {plain(each.name)}")
        lines += [f"      {plain(field)}" for field in each.fields[:12]]
        if len(each.fields) > 12:
            lines.append(f"      and {len(each.fields) - 12} more")
    return lines


def _policies(order: ChangeOrder, paint: Paint) -> list[str]:
    lines = ["", paint("Policies", "bold"), f"  {words.policy_line(order)}"]
    for each in order.policies.violations if order.policies else ():
        lines.append(
            f"  {plain(each.level)} {plain(each.name)} at {plain(each.resource) or 'the stack'}: {plain(each.message)}"
        )
    return lines
