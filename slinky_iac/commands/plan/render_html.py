"""One self-contained page: inline style, nothing fetched, no script; its policy says so to the browser, too.

What it says is in ``page.html``. The environment makes every value harmless: control characters go, then HTML is escaped.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from datetime import tzinfo
from pathlib import Path
from typing import Final

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from slinky_iac.commands.plan import words
from slinky_iac.commands.plan.limits import Verdict
from slinky_iac.commands.plan.model import ChangeOrder, Job
from slinky_iac.commands.plan.timeline import axis, chart, ticks
from slinky_iac.text import at, full, local, plain, span, stamp, until

HUES: Final = 8
LONG: Final = 1200
"""Characters of a message on top of the page."""
_FOLDER: Final = Path(__file__).parent


def page(order: ChangeOrder, verdict: Verdict, *, zone: tzinfo | None = None) -> str:
    """The whole order as an HTML document; ``zone``: of the times that stand beside UTC where a bar is pointed at."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_harmless, trim_blocks=True, keep_trailing_newline=True
    )
    environment.filters["long"] = lambda text: escape(plain(text, LONG))
    template = environment.from_string((_FOLDER / "page.html").read_text(), globals=_FUNCTIONS)
    return template.render(
        order=order,
        verdict=verdict,
        window=axis(order, zone),
        colours=hues(job.user for drain in order.drains for job in drain.jobs),
        style=Markup((_FOLDER / "page.css").read_text()),
    )


def _harmless(value: object) -> object:
    """A text as it may be shown; what is markup already, and numbers, stay."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def hues(users: Iterable[str]) -> dict[str, int]:
    """A hue a user: the same on every page where it can be, and no two alike while there are hues left."""
    found: dict[str, int] = {}
    for user in sorted(set(users)):
        wanted = zlib.crc32(user.encode("utf-8", "replace")) % HUES
        free = [hue for hue in range(HUES) if hue not in found.values()]
        found[user] = wanted if wanted in free or not free else min(free, key=lambda hue: (hue - wanted) % HUES)
    return found


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


_FUNCTIONS: Final = {
    "words": words,
    "frozenset": frozenset,
    "chart": chart,
    "ticks": ticks,
    "told_of": told_of,
    **{each.__name__: each for each in (at, full, local, span, stamp, until)},
}
