"""One self-contained page: inline style, nothing fetched, no script; its policy says so to the browser, too.

What it says is in ``page.html``. The environment makes every value harmless: control characters go, then HTML is escaped.
Where things stand on the timeline is pure geometry, in percent of its width. All drains of an order share one axis, so that
their charts can be compared. It runs from a while before the preview, so that a job shows that it has begun, to a while
after the last end. A deadline far behind the last end would squeeze all jobs to the left, so it is said in words at the edge
instead.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Final, Literal

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup, escape

from slinky_iac.commands.plan import words
from slinky_iac.commands.plan.limits import Verdict
from slinky_iac.commands.plan.model import ChangeOrder, Drain, Job, Node
from slinky_iac.commands.plan.words import MANY, by_wait
from slinky_iac.text import at, full, local, plain, span, stamp, until

MOST_ROWS: Final = 60
"""Nodes of one chart; the table under it has all."""
_PAST: Final = 0.3
"""Part of the axis that shows the past, at the most."""
_MINUTE: Final = 60
_STEPS: Final = tuple(
    _MINUTE * minutes for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080, 20160, 43200, 86400)
)
_MOST_TICKS: Final = 7
_LETTER: Final = 1.2
"""Percent of the axis that a letter takes on a page of usual width; words that still don't fit are cut by the page."""
_GAP: Final = 2.4
"""Percent on both sides of words in a bar, and between a bar and words beside it, where a diamond may stand."""
FEW: Final = 6
"""Nodes that stand open even where none is late."""
_LEAST_WIDTH: Final = 1.2
"""Percent: a bar of a job that ends at once can still be seen and focused."""


@dataclass(frozen=True)
class Axis:
    """The shared window, in seconds since the epoch."""

    begin: int
    end: int
    now: int
    zone: tzinfo | None = None
    """Zone that is shown beside UTC on hover; None: UTC only."""

    def place(self, moment: int) -> float:
        """Percent of the width, kept inside."""
        return round(min(max((moment - self.begin) / (self.end - self.begin), 0.0), 1.0) * 100, 2)


@dataclass(frozen=True)
class Bar:
    """One job on one node."""

    job: Job
    left: float
    width: float
    lane: int
    """Line within the row, from 0: jobs on one node at one time don't cover each other."""
    over: float | None
    """Percent of the bar's own width where the deadline cuts it; None where it ends before."""
    begun_before: bool
    """It began before the axis does."""
    label: Literal["in", "after", "before"] = "in"
    """Where its words stand: a bar that is too short for them has them beside it, where there is room."""
    room: float = 100.0
    """Percent of the axis that words beside it may take."""


@dataclass(frozen=True)
class Row:
    """One node."""

    node: Node
    bars: tuple[Bar, ...]
    lanes: int
    free: float | None
    """Percent where it is free; None: not known."""
    last_lane: int = 0
    """Lane of the job that ends last."""


@dataclass(frozen=True)
class Tick:
    """One mark of the axis."""

    left: float
    text: str


@dataclass(frozen=True)
class Chart:
    """One drain on the axis."""

    rows: tuple[Row, ...]
    folded: tuple[Row, ...]
    """Nodes that are on time, of a drain of many: drawn where somebody opens them."""
    hidden: int
    """Nodes that aren't drawn."""
    now: float
    deadline: float | None
    """Percent of the deadline; None where there is none or it is beyond the edge."""
    deadline_beyond: bool


def axis(order: ChangeOrder, zone: tzinfo | None = None) -> Axis:
    """The window of all drains."""
    now = order.taken_at
    jobs = [job for drain in order.drains for job in drain.jobs]
    ends = [moment for job in jobs if (moment := job.ends_by) is not None]
    ends += [node.free_at for drain in order.drains for node in drain.nodes if node.free_at is not None]
    ahead = max(max(ends, default=now) - now, 5 * _MINUTE)
    deadlines = [drain.deadline_at - now for drain in order.drains if drain.deadline_at is not None]
    near = [deadline for deadline in deadlines if deadline <= 3 * ahead]
    if any(job.ends_by is None for job in jobs):
        ahead = max(ahead, *deadlines, 0) if deadlines else 2 * ahead
        near = deadlines
    ahead = int(max([ahead, *near]) * 1.08)
    began = min((job.started for job in jobs if job.started is not None), default=now)
    longest = int(ahead * _PAST / (1 - _PAST))
    past = min(max(int((now - began) * 1.05), ahead // 20), longest)
    return Axis(now - past, now + ahead, now, zone)


def ticks(window: Axis) -> tuple[Tick, ...]:
    """Round times, at most seven."""
    length = window.end - window.begin
    step = next((seconds for seconds in _STEPS if length / seconds <= _MOST_TICKS), _STEPS[-1])
    first = -(-window.begin // step) * step
    moments = [moment for moment in range(first, window.end, step) if 1.5 < window.place(moment) < 98]
    return tuple(Tick(window.place(moment), _name(moment, step)) for moment in moments)


def _name(moment: int, step: int) -> str:
    when = datetime.fromtimestamp(moment, tz=UTC)
    midnight = when.hour == 0 and when.minute == 0
    return when.strftime("%-d %b") if step >= 1440 * _MINUTE or midnight else when.strftime("%H:%M")


def chart(drain: Drain, window: Axis) -> Chart:
    """Lay out one drain; nodes that are free last come first. Of many nodes the late ones stand open: at least as many as
    make a chart, and no more than can be drawn."""
    order = by_wait(drain.nodes)[:MOST_ROWS]
    late = set(drain.late_nodes)
    open_ = len(order) if len(drain.nodes) <= MANY else max(sum(node in late for node in order), FEW)
    # Late nodes have the latest ends, so they are the first of the order.
    rows = tuple(_row(drain, node, window) for node in order)
    deadline = drain.deadline_at
    inside = deadline is not None and deadline <= window.end
    return Chart(
        rows=rows[:open_],
        folded=rows[open_:],
        hidden=len(drain.nodes) - len(order),
        now=window.place(window.now),
        deadline=window.place(deadline) if deadline is not None and inside else None,
        deadline_beyond=deadline is not None and not inside,
    )


def _row(drain: Drain, node: Node, window: Axis) -> Row:
    jobs = sorted(drain.jobs_on(node), key=lambda job: (job.started or 0, job.ends_by or 1 << 62))
    bars = tuple(_labelled(tuple(_bars(jobs, drain.deadline_at, window))))
    lanes = max((bar.lane for bar in bars), default=0) + 1
    last = max(bars, key=lambda bar: bar.left + bar.width, default=None)
    free = None if node.free_at is None else window.place(node.free_at)
    return Row(node, bars, lanes, free, last.lane if last is not None else 0)


def _labelled(bars: Sequence[Bar]) -> Iterable[Bar]:
    """The bars of one node with their words where there is room for them."""
    for bar in bars:
        right = bar.left + bar.width
        others = [other for other in bars if other.lane == bar.lane and other is not bar]
        after = min([other.left for other in others if other.left >= right], default=100.0) - right - _GAP
        before = bar.left - max([other.left + other.width for other in others if other.left <= bar.left], default=0.0) - _GAP
        need = _LETTER * len(f"{bar.job.label} {bar.job.user}") + _GAP
        if bar.width >= need:
            yield bar
        elif after >= need:
            yield replace(bar, label="after", room=round(after, 2))
        elif before >= need:
            yield replace(bar, label="before", room=round(before, 2))
        else:
            yield bar


def _bars(jobs: Sequence[Job], deadline: int | None, window: Axis) -> Iterable[Bar]:
    busy_until: list[float] = []
    for job in jobs:
        left = window.place(window.begin if job.started is None else job.started)
        right = max(100.0 if job.ends_by is None else window.place(job.ends_by), min(left + _LEAST_WIDTH, 100.0))
        left = min(left, right - _LEAST_WIDTH)
        lane = next((at for at, end in enumerate(busy_until) if end <= left), len(busy_until))
        busy_until[lane : lane + 1] = [right]
        late = deadline is not None and (job.ends_by is None or job.ends_by > deadline)
        cut = window.place(deadline) if deadline is not None and late and deadline <= window.end else None
        over = None if cut is None else round(max(cut - left, 0) / (right - left) * 100, 2)
        began = job.started is None or job.started < window.begin
        yield Bar(job, left, round(right - left, 2), lane, over, began)


HUES: Final = 8
LONG: Final = 1200
"""Characters of a message on top of the page."""
_FOLDER: Final = Path(__file__).parent


def page(order: ChangeOrder, verdict: Verdict, *, zone: tzinfo | None = None) -> str:
    """The whole order as an HTML document; ``zone``: of the times that stand beside UTC where a bar is pointed at."""
    return _template().render(
        order=order,
        verdict=verdict,
        window=axis(order, zone),
        colours=hues(job.user for drain in order.drains for job in drain.jobs),
        style=Markup((_FOLDER / "page.css").read_text()),
    )


@functools.cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_harmless, trim_blocks=True, keep_trailing_newline=True
    )
    environment.filters["long"] = lambda text: escape(plain(text, LONG))
    return environment.from_string((_FOLDER / "page.html").read_text(), globals=_FUNCTIONS)


def _harmless(value: object) -> object:
    """A text as it may be shown; what is markup already, and numbers, stay."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def hues(users: Iterable[str]) -> dict[str, int]:
    """A hue a user: the same on every page where it can be, and no two alike while there are hues left."""
    by_user: dict[str, int] = {}
    for user in sorted(set(users)):
        wanted = zlib.crc32(user.encode("utf-8", "replace")) % HUES
        free = [hue for hue in range(HUES) if hue not in by_user.values()]
        by_user[user] = wanted if wanted in free or not free else min(free, key=lambda hue: (hue - wanted) % HUES)
    return by_user


def told_of(job: Job, now: int, *, late: bool, zone: tzinfo | None = None) -> tuple[str, ...]:
    """What a bar says when it is pointed at, focused or read aloud."""
    began = (
        f"started {at(job.started, now)}, {span(now - job.started)} ago" if job.started is not None else "start not known"
    )
    end = f"ends by {until(job.ends_by, now)}" if job.ends_by is not None else "no end is known"
    phrases = [f"Job {job.label} of {job.user}", f"partition {job.partition or 'unknown'}, {job.state.lower()}", began, end]
    if job.ends_by is not None and (there := local(job.ends_by, zone)):
        phrases.append(f"that is {there}")
    return (*phrases, "may run on after the deadline") if late else tuple(phrases)


_FUNCTIONS: Final = {
    "words": words,
    "frozenset": frozenset,
    "chart": chart,
    "ticks": ticks,
    "told_of": told_of,
    **{function.__name__: function for function in (at, full, local, span, stamp, until)},
}
