"""For a comment on a pull request: what a reviewer asks first comes first, the long lists are folded."""

from __future__ import annotations

from collections.abc import Iterable

from slinky_iac.commands.plan import words
from slinky_iac.commands.plan.limits import Verdict
from slinky_iac.commands.plan.model import ChangeOrder, Drain
from slinky_iac.text import full, until
from slinky_iac.text import markdown as safe

MARKER = "<!-- slinky-iac: change order -->"
"""First line, so that CI finds its own earlier comment and replaces it."""
LONGEST = 60_000
"""GitHub refuses a comment of more than 65,536 characters."""


def markdown(order: ChangeOrder, verdict: Verdict) -> str:
    """The whole order, ending with a line break and short enough for a comment."""
    sign = {"ok": "✅", "none": "⚪", "ask": "⚠️", "no": "⛔"}[words.face(order, verdict)]
    lines = [
        MARKER,
        f"## {safe(words.headline(order))}",
        "",
        " ".join([f"{sign} **{words.verdict_line(order, verdict)}.**", *(f"{safe(reason)}." for reason in verdict.reasons)]),
        "",
        f"All free: {words.last_free(order)} · {words.counts(order)} · {safe(words.where(order))},"
        f" previewed {full(order.taken_at)}",
    ]
    for notice in words.notices(order):
        lines += ["", f"> {notice.severity}: {safe(notice.text)}"]
    for drain in order.drains:
        lines += ["", f"### {safe(words.drain_title(drain))}", "", *_drain(drain, order.taken_at)]
    if order.gives_back:
        lines += ["", f"Given back from an interrupted run: {', '.join(map(safe, order.gives_back))}"]
    if order.undo:
        lines += ["", "### Can't be undone", "", *(f"- **{safe(what)}**: {safe(why)}" for what, why in order.undo)]
    lines += _policies(order) + _changes(order) + _messages(order)
    return _cut("\n".join(lines) + "\n")


def _drain(drain: Drain, now: int) -> Iterable[str]:
    yield safe(words.deadline_line(drain, now)) + "."
    for text in (*drain.blocks, *drain.warnings):
        yield f"\n> {safe(text)}"
    yield ""
    if len(drain.nodes) > words.MANY:
        yield f"{words.strip(drain)}."
        yield ""
    if drain.nodes:
        yield "| Node | Free | Job | User | Partition | Ends by (UTC) |"
        yield "|---|---|---|---|---|---|"
    late = set(drain.late)
    for node in words.by_wait(drain.nodes):
        head = f"| {safe(node.name)} | {until(node.free_at, now)} |"
        jobs = drain.jobs_on(node)
        if not jobs:
            yield f"{head} {'no job' if not node.jobs_total else f'{node.jobs_total} jobs'} | | | |"
        for job in jobs:
            end = until(job.ends_by, now) + (" ⚠️ after the deadline" if job in late else "")
            yield f"{head} {safe(job.label)} | {safe(job.user)} | {safe(job.partition)} | {end} |"
            head = "| | |"
    if drain.unlisted:
        yield f"\nand {drain.unlisted} jobs more"
    if drain.returns:
        yield f"\nBack to work: {', '.join(map(safe, drain.returns))}"


def _policies(order: ChangeOrder) -> list[str]:
    lines = ["", f"**Policies.** {safe(words.policy_line(order))}"]
    for violation in order.policies.violations if order.policies else ():
        where = safe(violation.resource) or "the stack"
        lines.append(f"- {safe(violation.level)} **{safe(violation.name)}** at {where}: {safe(violation.message)}")
    return lines


def _changes(order: ChangeOrder) -> list[str]:
    if not order.changes:
        return []
    lines = ["", f"<details><summary>{len(order.changes)} changes</summary>", ""]
    for change in words.by_weight(order.changes):
        fields = "".join(f"<br>{safe(field)}" for field in change.fields[:12])
        more = f"<br>and {len(change.fields) - 12} more" if len(change.fields) > 12 else ""
        lines.append(f"- {change.op} {safe(change.kind)} **{safe(change.name)}**{fields}{more}")
    return [*lines, "", "</details>"]


def _messages(order: ChangeOrder) -> list[str]:
    shown = [
        f"- {safe(message.severity)}: {safe(message.text)}"
        for message in order.messages
        if message not in words.notices(order)
    ]
    return ["", "<details><summary>Messages</summary>", "", *shown, "", "</details>"] if shown else []


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    kept = text[:LONGEST].rpartition("\n")[0]
    closing = "\n</details>" if kept.count("<details>") > kept.count("</details>") else ""
    return f"{kept}\n{closing}\n\nCut here: the whole order is in the page that CI keeps.\n"
