"""One self-contained page: inline style, nothing fetched, no script. Its policy says so to the browser, too."""

from __future__ import annotations

from datetime import tzinfo
from pathlib import Path

from slinky_iac.commands.plan import words
from slinky_iac.commands.plan.limits import Verdict
from slinky_iac.commands.plan.model import Change, ChangeOrder, Drain
from slinky_iac.commands.plan.render_chart import hues, jobs_table, timeline
from slinky_iac.commands.plan.timeline import Axis, axis
from slinky_iac.text import full, stamp, until
from slinky_iac.text import page as safe

_STYLE = Path(__file__).with_name("page.css")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(order: ChangeOrder, verdict: Verdict, *, zone: tzinfo | None = None) -> str:
    """The whole order as an HTML document; ``zone``: of the times that stand beside UTC where a bar is pointed at."""
    colours = hues(job.user for drain in order.drains for job in drain.jobs)
    window = axis(order, zone)
    parts = [
        _notices(order),
        _people(order),
        *(_drain(drain, window, colours) for drain in order.drains),
        _gives_back(order),
        _undo(order),
        _policies(order),
        _changes(order),
        _messages(order),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f"<title>{safe(words.headline(order))} · {safe(order.stack)}</title><style>{_STYLE.read_text()}</style></head>"
        f"<body><main>{_head(order, verdict)}{''.join(parts)}"
        f"<footer>Previewed <time datetime={stamp(order.taken_at)}>{full(order.taken_at)}</time> · all times in UTC ·"
        " made by slinky-iac</footer></main></body></html>\n"
    )


def _head(order: ChangeOrder, verdict: Verdict) -> str:
    face = words.face(order, verdict)
    reasons = "".join(f"<li>{safe(each)}</li>" for each in verdict.reasons)
    facts = {
        "All nodes free": words.last_free(order),
        "Users waited for": words.users(order),
        "Resources": words.size(order),
        "Can't be undone": str(len(order.undo)) if order.undo else "nothing",
    }
    cards = "".join(f"<div><dt>{safe(name)}</dt><dd>{safe(value)}</dd></div>" for name, value in facts.items())
    return (
        f'<header><div class="top"><span class="verdict {face}"><span aria-hidden="true">{words.SIGNS[face]}</span>'
        f"{safe(words.verdict_line(order, verdict))}</span><span>{safe(words.where(order))}</span></div>"
        f"<h1>{safe(words.headline(order))}</h1>{f'<ul class=reasons>{reasons}</ul>' if reasons else ''}"
        f'<dl class="facts">{cards}</dl></header>'
    )


def _notices(order: ChangeOrder) -> str:
    kinds = {"error": "block", "warning": "warn"}
    return "".join(
        f'<p class="note {kinds[each.severity]}"><strong>{safe(each.severity)}</strong> {safe(each.text, 1200)}</p>'
        for each in words.notices(order)
    )


def _section(title: str, body: str, *, kind: str = "") -> str:
    return f'<section class="{kind}"><h2>{safe(title)}</h2>{body}</section>'


def _drain(drain: Drain, window: Axis, colours: dict[str, int]) -> str:
    notes = "".join(f'<p class="note block">{safe(text)}</p>' for text in drain.blocks)
    notes += "".join(f'<p class="note warn">{safe(text)}</p>' for text in drain.warnings)
    summed = f'<p class="strip">{safe(words.strip(drain))}</p>' if len(drain.nodes) > words.MANY else ""
    drawn = summed + timeline(drain, window, colours) + jobs_table(drain, window.now) if drain.nodes else ""
    if words.unlisted(drain):
        drawn += f'<p class="soft small">{words.unlisted(drain)} jobs more are not listed one by one</p>'
    if drain.returns:
        drawn += f"<p>Back to work: {safe(', '.join(drain.returns))}</p>"
    line = safe(words.deadline_line(drain, window.now))
    kind = f'<span class="op">{safe(words.KINDS[drain.kind])}</span>'
    body = f'<p class="soft">{kind}{line[:1].upper()}{line[1:]}.</p>{notes}{drawn}'
    return _section(words.drain_title(drain), body)


def _gives_back(order: ChangeOrder) -> str:
    if not order.gives_back:
        return ""
    return _section("Given back", f"<p>Left of an interrupted run: {safe(', '.join(order.gives_back))}</p>")


def _people(order: ChangeOrder) -> str:
    rows = "".join(
        f'<tr><th scope="row">{safe(each.user)}</th><td>{each.jobs}</td><td class="t">{_end(each, order.taken_at)}</td></tr>'
        for each in words.affected(order)
    )
    if not rows:
        return ""
    head = '<thead><tr><th scope="col">User</th><th scope="col">Jobs</th><th scope="col">Last one ends by</th></tr></thead>'
    return _section("Who is waited for", f'<div class="wide"><table>{head}<tbody>{rows}</tbody></table></div>')


def _end(person: words.Affected, now: int) -> str:
    return "no end is known" if person.last_end is None else safe(until(person.last_end, now))


def _undo(order: ChangeOrder) -> str:
    if not order.undo:
        return ""
    rows = "".join(f"<li><strong>{safe(what)}</strong><br>{safe(why)}</li>" for what, why in order.undo)
    return _section("Can't be undone", f'<ul class="list">{rows}</ul>', kind="undo")


def _policies(order: ChangeOrder) -> str:
    rows = "".join(
        f'<li><span class="op {safe(each.level)}">{safe(each.level)}</span><strong>{safe(each.name)}</strong> at '
        f"{safe(each.resource) or 'the stack'}<br>{safe(each.message)}</li>"
        for each in (order.policies.violations if order.policies else ())
    )
    return _section("Policies", f'<p class="soft">{safe(words.policy_line(order))}</p><ul class="list">{rows}</ul>')


def _changes(order: ChangeOrder) -> str:
    if not order.changes:
        return ""
    rows = "".join(_change(each) for each in words.by_weight(order.changes))
    return _section("Changes", f'<p class="soft">{safe(words.counts(order))}</p><ul class="list">{rows}</ul>')


def _change(change: Change) -> str:
    fields = "".join(f"<span>{safe(field)}</span>" for field in change.fields[:12])
    fields += f"<span>and {len(change.fields) - 12} more</span>" if len(change.fields) > 12 else ""
    shown = f'<div class="fields">{fields}</div>' if fields else ""
    what = f"{safe(change.kind)} <strong>{safe(change.name)}</strong>"
    return f'<li><span class="op {change.op}">{change.op}</span>{what}{shown}</li>'


def _messages(order: ChangeOrder) -> str:
    said = [each for each in order.messages if each not in words.notices(order)]
    if not said:
        return ""
    rows = "".join(f'<li><span class="op">{safe(each.severity)}</span>{safe(each.text)}</li>' for each in said)
    return _section("Messages", f'<ul class="list small">{rows}</ul>')
