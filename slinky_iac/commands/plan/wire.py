"""Both forms of `pulumi preview --json`: one document, or one event a line (PULUMI_ENABLE_STREAMING_JSON_PREVIEW=1).

Only the second says what policies found. Source: pulumi pkg/backend/display/json.go (PreviewDigest), sdk/go/common/
apitype/events.go (EngineEvent).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from slinky_iac.commands.plan.model import Message, Policies, Policy
from slinky_iac.errors import PreviewError

Json = Mapping[str, Any]
_LAST: Final = 253_402_300_800
"""The end of the year 9999, as far as calendars go."""
_HINT: Final = "Give the output of `pulumi preview --json`, whole and unchanged"


@dataclass(frozen=True)
class Step:
    """One step of a preview, as either form has it."""

    op: str
    urn: str
    old: Json
    new: Json


@dataclass(frozen=True)
class Preview:
    """What a preview said, not yet judged."""

    steps: tuple[Step, ...]
    messages: tuple[Message, ...]
    policies: Policies | None
    failed: bool
    taken_at: int | None
    """Only the event form says when."""


def read(text: str) -> Preview:
    """Read either form. Raises :class:`PreviewError` for anything else and for an event stream that was cut off."""
    lines = text.strip(" \t\r\n")
    if not lines:
        raise PreviewError(f"the preview is empty. {_HINT}; where `pulumi preview` failed, its stderr says why")
    try:
        whole = json.loads(lines)
    except (ValueError, RecursionError):
        # Not splitlines(): it also splits at U+0085 and U+2028, which Go's encoder leaves in texts as they are.
        return _events(lines.split("\n"))
    if isinstance(whole, dict) and ("steps" in whole or "changeSummary" in whole or "diagnostics" in whole):
        return _digest(whole)
    if isinstance(whole, dict) and "sequence" in whole:
        return _events([lines])
    raise PreviewError(f"this JSON is no preview: it has neither steps nor events. {_HINT}")


def _digest(whole: Json) -> Preview:
    steps = tuple(_step(dictionary(each), "oldState", "newState") for each in rows(whole.get("steps")))
    messages = tuple(_message(dictionary(each)) for each in rows(whole.get("diagnostics")))
    failed = any(each.severity == "error" for each in messages)
    if not failed and not isinstance(whole.get("changeSummary"), dict):
        raise PreviewError(f"the preview has no changeSummary, so it didn't come to its end. {_HINT}")
    return Preview(steps, messages, None, failed, None)


def _events(lines: Iterable[str]) -> Preview:
    events = [_event(line, number) for number, line in enumerate(lines, 1) if line.strip()]
    summary = next((dictionary(event["summaryEvent"]) for event in events if "summaryEvent" in event), None)
    said = [dictionary(event["diagnosticEvent"]) for event in events if "diagnosticEvent" in event]
    messages = tuple(_message(each) for each in said if not each.get("ephemeral") and each.get("severity") != "debug")
    failed = any(each.severity == "error" for each in messages)
    if summary is None and not failed:
        raise PreviewError(f"the preview has {len(events)} events and no summary, so it was cut off. {_HINT}")
    policies = _policies(events)
    failed = (
        failed or dictionary(summary).get("result") == "failed" or any(p.level == "mandatory" for p in policies.violations)
    )
    steps = [
        dictionary(dictionary(event["resourcePreEvent"]).get("metadata")) for event in events if "resourcePreEvent" in event
    ]
    moment = events[0].get("timestamp") if events else None
    taken_at = moment if isinstance(moment, int) and 0 < moment < _LAST else None
    return Preview(tuple(_step(each, "old", "new") for each in steps), messages, policies, failed, taken_at)


def _event(line: str, number: int) -> Json:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        raise PreviewError(f"line {number} of the preview is no JSON event. {_HINT}")
    return event


def _policies(events: Iterable[Json]) -> Policies:
    violations: dict[Policy, None] = {}
    passed: set[str] = set()
    failing: set[str] = set()
    for event in events:
        for key in ("policyAnalyzeSummaryEvent", "policyAnalyzeStackSummaryEvent"):
            passed |= {str(name) for name in rows(dictionary(event.get(key)).get("passed"))}
            failing |= {str(name) for name in rows(dictionary(event.get(key)).get("failed"))}
        if "policyEvent" in event:
            violations[_policy(dictionary(event["policyEvent"]), "")] = None
        if "policyRemediationEvent" in event:
            violations[_policy(dictionary(event["policyRemediationEvent"]), "remediate")] = None
    return Policies(tuple(violations), len(passed - failing - {each.name for each in violations}))


def _policy(raw: Json, level: str) -> Policy:
    return Policy(
        level=level or {"warning": "advisory"}.get(_text(raw, "enforcementLevel"), _text(raw, "enforcementLevel")),
        name=_text(raw, "policyName"),
        pack=_text(raw, "policyPackName"),
        resource=_text(raw, "resourceUrn").rpartition("::")[2],
        message=_text(raw, "message") or "changed the resource to what the rule asks for",
    )


def _message(raw: Json) -> Message:
    # The document form has the prefix in the message, the event form beside it.
    return Message(_text(raw, "severity"), _text(raw, "message").strip().removeprefix(f"{_text(raw, 'severity')}: "))


def _step(raw: Json, old: str, new: str) -> Step:
    urn = _text(raw, "urn")
    if not urn.startswith("urn:pulumi:") or urn.count("::") < 3:
        raise PreviewError(f"a step of the preview has no URN of a resource but {urn[:80]!r}. {_HINT}")
    return Step(_text(raw, "op"), urn, dictionary(raw.get(old)), dictionary(raw.get(new)))


def _text(raw: Json, key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def dictionary(value: object) -> Json:
    """The value where it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def rows(value: object) -> list[Any]:
    """The value where it is a JSON list, else an empty one."""
    return value if isinstance(value, list) else []


def texts(value: object) -> tuple[str, ...]:
    """The value's parts as texts where it is a JSON list."""
    return tuple(str(each) for each in rows(value))


def whole(value: object) -> int:
    """The value where it is a number, else 0: providers get their numbers as floats."""
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15 else 0
