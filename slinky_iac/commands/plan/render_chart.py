"""The timeline of one drain as HTML: lists with words in them, which CSS lays out as bars. No script, no image."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from datetime import tzinfo

from slinky_iac.commands.plan import words
from slinky_iac.commands.plan.model import Drain, Job
from slinky_iac.commands.plan.timeline import Axis, Bar, Chart, Row, chart, ticks
from slinky_iac.text import at, local, span, until
from slinky_iac.text import page as safe

HUES = 8


def hues(users: Iterable[str]) -> dict[str, int]:
    """A hue a user: the same on every page where it can be, and no two alike while there are hues left."""
    found: dict[str, int] = {}
    for user in sorted(set(users)):
        wanted = zlib.crc32(user.encode("utf-8", "replace")) % HUES
        free = [hue for hue in range(HUES) if hue not in found.values()]
        found[user] = wanted if wanted in free or not free else min(free, key=lambda hue: (hue - wanted) % HUES)
    return found


def timeline(drain: Drain, window: Axis, colours: dict[str, int]) -> str:
    """The chart, its legend, and how many nodes it leaves out."""
    drawn = chart(drain, window)
    marks = "".join(f'<li class="tick" style="--l:{tick.left}%">{safe(tick.text)}</li>' for tick in ticks(window))
    rows = "".join(_row(row, drain, window, colours) for row in drawn.rows)
    folded = _folded(drawn, drain, window, colours)
    left_out = f'<p class="soft small">and {drawn.hidden} nodes more, in the table below</p>' if drawn.hidden else ""
    return (
        f'<div class="chart" role="group" aria-label="{safe(f"Timeline of {drain.what}, times in UTC")}">'
        f'<div class="axis" aria-hidden="true"><ol>{marks}{_marks(drawn)}</ol></div>{_lines(drawn, window)}'
        f'<ul class="rows">{rows}</ul></div>{folded}{left_out}{_legend(drain, drawn, window, colours)}'
    )


def _folded(drawn: Chart, drain: Drain, window: Axis, colours: dict[str, int]) -> str:
    """Nodes of a large drain that are on time, with an axis of their own."""
    if not drawn.folded:
        return ""
    rows = "".join(_row(row, drain, window, colours) for row in drawn.folded)
    when = "free by the deadline" if drain.deadline_at is not None else "free sooner"
    return (
        f"<details><summary>{len(drawn.folded)} nodes more that are {when}</summary>"
        f'<div class="chart bare">{_lines(drawn, window)}<ul class="rows">{rows}</ul></div></details>'
    )


def _marks(drawn: Chart) -> str:
    """Words over the two lines; where they would cover each other the deadline's stays."""
    due = "" if drawn.deadline is None else f'<li class="mark due" style="--l:{min(drawn.deadline, 95)}%">deadline</li>'
    near = drawn.deadline is not None and abs(drawn.deadline - drawn.now) < 16
    now = "" if near else f'<li class="mark" style="--l:{max(drawn.now, 5)}%">preview</li>'
    return now + due


def _lines(drawn: Chart, window: Axis) -> str:
    grid = "".join(f'<i style="--l:{tick.left}%"></i>' for tick in ticks(window))
    due = f'<i class="due" style="--l:{drawn.deadline}%"></i>' if drawn.deadline is not None else ""
    return f'<div class="lines" aria-hidden="true">{grid}<i class="now" style="--l:{drawn.now}%"></i>{due}</div>'


def _row(row: Row, drain: Drain, window: Axis, colours: dict[str, int]) -> str:
    now = window.now
    bars = "".join(_bar(bar, drain, window, colours) for bar in row.bars)
    gem = (
        f'<li class="gem" style="--l:{row.free}%;--y:{row.last_lane}" aria-hidden="true"></li>'
        if row.free is not None
        else ""
    )
    unseen = row.node.jobs_total - len(row.bars)
    if row.bars:
        idle = ""
    else:
        text = f"{unseen} jobs" if unseen else "no job"
        side = row.free if row.free is not None else window.place(now)
        idle = f'<li class="idle" style="--l:{side}%">{text}</li>'
    more = f"<small>and {unseen} jobs more</small>" if unseen > 0 and row.bars else ""
    if row.node.free_at is None:
        when = "not known<small>no end is known</small>"
    elif row.node.free_at <= now:
        when = "free now"
    else:
        there = local(row.node.free_at, window.zone)
        hover = f' title="{safe(there)}"' if there else ""
        ahead = safe(span(row.node.free_at - now))
        when = f"<span{hover}>free {safe(at(row.node.free_at, now))}</span><small>in {ahead}</small>"
    pod = f"<small>{safe(row.node.kind)}</small>" if row.node.kind else ""
    return (
        f'<li class="row"><div class="who">{safe(row.node.name)}{pod}{more}</div>'
        f'<ul class="track" style="--n:{row.lanes}">{bars}{gem}{idle}</ul><div class="when">{when}</div></li>'
    )


def _bar(bar: Bar, drain: Drain, window: Axis, colours: dict[str, int]) -> str:
    job = bar.job
    sides = [f"c{colours.get(job.user, 0)}"]
    sides += ["cutl"] if bar.begun_before else []
    sides += ["open"] if job.ends_by is None else []
    sides += ["right"] if bar.left > 55 else []
    over = f'<span class="over" style="--o:{bar.over}%"></span>' if bar.over is not None else ""
    sides += [bar.label] if bar.label != "in" else []
    told = told_of(job, window.now, late=job in drain.late, zone=window.zone)
    # Of the bar's own width, for that is what the words' box counts in.
    room = f' style="--r:{round(bar.room / bar.width * 100)}%"' if bar.label != "in" else ""
    tip = "<br>".join(safe(line) for line in told)
    return (
        f'<li class="bar {" ".join(sides)}" style="--l:{bar.left}%;--w:{bar.width}%;--y:{bar.lane}" tabindex="0"'
        f' aria-label="{safe(". ".join(told))}">{over}<b aria-hidden="true"{room}>{safe(job.label)} {safe(job.user)}</b>'
        f'<span class="tip" aria-hidden="true">{tip}</span></li>'
    )


def told_of(job: Job, now: int, *, late: bool, zone: tzinfo | None = None) -> tuple[str, ...]:
    """What a bar says when it is pointed at, focused or read aloud."""
    began = (
        f"started {at(job.started, now)}, {span(now - job.started)} ago" if job.started is not None else "start not known"
    )
    end = f"ends by {until(job.ends_by, now)}" if job.ends_by is not None else "no end is known"
    found = [f"Job {job.label} of {job.user}", f"partition {job.partition or 'unknown'}, {job.state.lower()}", began, end]
    if job.ends_by is not None and (there := local(job.ends_by, zone)):
        found.append(f"that is {there}")
    return (*found, "may run on after the deadline") if late else tuple(found)


def _legend(drain: Drain, drawn: Chart, window: Axis, colours: dict[str, int]) -> str:
    people = sorted({job.user for job in drain.jobs})
    items = [
        f'<li><i class="c{colours.get(user, 0)}" style="background:var(--c)"></i>{safe(user)}</li>' for user in people[:8]
    ]
    items += [f"<li>and {len(people) - 8} more</li>"] if len(people) > 8 else []
    items.append('<li><i class="k-gem"></i>node is free</li>')
    items.append('<li><i class="k-now"></i>preview</li>')
    if drawn.deadline is not None:
        items.append('<li><i class="k-due"></i>deadline, if it begins at the preview</li>')
        items += ['<li><i class="k-over"></i>after the deadline</li>'] if drain.late else []
    elif drawn.deadline_beyond and drain.deadline_at is not None:
        items.append(f"<li>deadline {safe(until(drain.deadline_at, window.now))}, beyond the right edge →</li>")
    return f'<ul class="key" aria-label="Legend">{"".join(items)}</ul>'


def jobs_table(drain: Drain, now: int) -> str:
    """The same as a table, for who would rather read, and for assistive technology."""
    late = set(drain.late)
    body = []
    for node in words.by_wait(drain.nodes):
        head = f'<th scope="row">{safe(node.name)}</th><td class="t">{safe(until(node.free_at, now))}</td>'
        jobs = drain.jobs_on(node)
        for job in jobs:
            end = f"{safe(until(job.ends_by, now))}{' <span class=late>after the deadline</span>' if job in late else ''}"
            body.append(
                f"<tr>{head}<td>{safe(job.label)}</td><td>{safe(job.user)}</td><td>{safe(job.partition)}</td>"
                f'<td class="t">{safe(at(job.started, now))}</td><td>{end}</td></tr>'
            )
        if not jobs:
            none = f"{node.jobs_total} jobs" if node.jobs_total else "no job"
            body.append(f'<tr>{head}<td colspan="5" class="soft">{none}</td></tr>')
    return (
        '<details><summary>The same as a table</summary><div class="wide"><table>'
        f"<caption class=soft>{safe(words.drain_title(drain))}, times in UTC</caption><thead><tr>"
        + "".join(
            f'<th scope="col">{each}</th>' for each in ("Node", "Free", "Job", "User", "Partition", "Started", "Ends by")
        )
        + f"</tr></thead><tbody>{''.join(body)}</tbody></table></div></details>"
    )
