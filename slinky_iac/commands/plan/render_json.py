"""For machines: the order and the verdict as JSON with a schema number."""

from __future__ import annotations

from dataclasses import asdict

from slinky_iac.commands import output
from slinky_iac.commands.plan.limits import Verdict
from slinky_iac.commands.plan.model import ChangeOrder
from slinky_iac.text import stamp

_TIMES = frozenset({"taken_at", "started", "ends_by", "free_at", "deadline_at"})


def as_json(order: ChangeOrder, verdict: Verdict) -> str:
    """One JSON object; times are ISO 8601 or null."""
    found = {
        "verdict": _verdict(verdict),
        **asdict(order, dict_factory=_plain),
        "undo": [{"what": what, "why": why} for what, why in order.undo],
    }
    return output.as_json(found) + "\n"


def _plain(pairs: list[tuple[str, object]]) -> dict[str, object]:
    return {key: stamp(value) if key in _TIMES and isinstance(value, int) else value for key, value in pairs}


def _verdict(verdict: Verdict) -> dict[str, object]:
    code = verdict.code
    return {"exit_code": int(code), "name": code.name.lower(), "limited": verdict.limited, "reasons": list(verdict.reasons)}
