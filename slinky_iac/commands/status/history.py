"""The last `pulumi up`, from `pulumi stack history --json`. Configuration stands there too, and is never looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slinky_iac.commands.status.model import LastUp
from slinky_iac.text import moment

NOBODY = "unknown: the backend records no user"


def last_up(entries: Sequence[Mapping[str, Any]]) -> LastUp | None:
    """The newest update among ``entries`` (newest first, as pulumi lists them); None where there is none."""
    for number, entry in enumerate(entries):
        if entry.get("kind") == "update":
            changes = entry.get("resourceChanges")
            return LastUp(
                result=str(entry.get("result") or "unknown"),
                started=moment(entry.get("startTime")),
                ended=moment(entry.get("endTime")),
                who=_who(entry.get("environment")),
                changes=_counts(changes),
                message=str(entry.get("message") or "").strip().partition("\n")[0],
                later=_later(entries[:number]),
            )
    return None


def _counts(changes: object) -> dict[str, int]:
    found = changes if isinstance(changes, dict) else {}
    return {str(op): count for op, count in sorted(found.items()) if isinstance(count, int)}


def _who(environment: object) -> str:
    """Who ran it, as far as pulumi wrote it down: the CI run, or the commit that was checked out and its author."""
    said = (
        {key: value for key, value in environment.items() if isinstance(value, str)} if isinstance(environment, dict) else {}
    )
    head, author = said.get("git.head", "")[:9], said.get("git.author") or said.get("git.committer", "")
    dirty = " with changes" if said.get("git.dirty") == "true" else ""
    commit = f"commit {head}{dirty}{f' by {author}' if author else ''}" if head else ""
    run = said.get("ci.build.url") or said.get("ci.build.id", "")
    ci = f"CI {said['ci.system']}{f' {run}' if run else ''}" if said.get("ci.system") else ""
    return "; ".join(part for part in (ci, commit) if part) or NOBODY


def _later(newer: Sequence[Mapping[str, Any]]) -> str:
    if not newer:
        return ""
    kinds = ", ".join(f"{each.get('kind')} {each.get('result')}" for each in reversed(newer))
    return f"since then: {kinds}"
