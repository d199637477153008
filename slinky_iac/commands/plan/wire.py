"""What is read of a preview: both forms of `pulumi preview --json`, and the inputs of gates in it.

One form is one document, the other one event a line (PULUMI_ENABLE_STREAMING_JSON_PREVIEW=1); only the second says what
policies found. Source: pulumi pkg/backend/display/json.go (PreviewDigest), sdk/go/common/apitype/events.go (EngineEvent); Go
writes what is empty as null. A preview has a placeholder where a value isn't known yet, so an input of another shape counts
as absent. A gate's plan (:mod:`slinky_iac.drain.written_plan`) is taken whole or not at all: of one that can't be read
nothing is known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar, get_args

from msgspec import Struct, ValidationError, convert, field
from msgspec.structs import fields

from slinky_iac import causes
from slinky_iac.commands.plan.model import Message, Op, Policies, Policy
from slinky_iac.drain.written_plan import Plan, Whole
from slinky_iac.errors import PreviewError

Json = Mapping[str, Any]
Kind = TypeVar("Kind")
_LAST: Final = 253_402_300_800
"""The end of the year 9999, as far as calendars go."""
_HINT: Final = "Give the output of `pulumi preview --json`, whole and unchanged"


class Wire(Struct, frozen=True, rename="camel", kw_only=True):
    """Base of what is read: types are never bent to fit, and unknown fields are ignored."""


class State(Wire, frozen=True):
    """A resource before or after a step."""

    inputs: dict[str, Any] | None = None
    protect: bool = False
    retain_on_delete: bool = False


class Step(Wire, frozen=True):
    """One step of a preview, as the event form has it."""

    op: str = ""
    urn: str = ""
    old: State | None = None
    new: State | None = None

    @property
    def does(self) -> Op | None:
        """What it does in a person's word; None where it does nothing."""
        if self.op.endswith(("-replacement", "-replaced", "-replace")):
            return "replace"
        return None if self.op == "same" else next((op for op in get_args(Op) if op == self.op), "other")

    @property
    def before(self) -> Json:
        """Inputs of the state before; empty where there is none."""
        return (self.old and self.old.inputs) or {}

    @property
    def after(self) -> Json:
        """Inputs of the state after."""
        return (self.new and self.new.inputs) or {}


class _DocumentStep(Step, frozen=True):
    old: State | None = field(default=None, name="oldState")
    new: State | None = field(default=None, name="newState")


class _Said(Wire, frozen=True):
    severity: str = ""
    message: str = ""
    ephemeral: bool = False

    def read(self) -> Message:
        # The document form has the prefix in the message, the event form beside it.
        return Message(self.severity, self.message.strip().removeprefix(f"{self.severity}: "))


class _Document(Wire, frozen=True):
    steps: tuple[_DocumentStep, ...] | None = None
    diagnostics: tuple[_Said, ...] | None = None
    change_summary: dict[str, Any] | None = None


class _Summary(Wire, frozen=True):
    result: str = ""


class _Planned(Wire, frozen=True):
    metadata: Step = Step()


class _Objection(Wire, frozen=True):
    enforcement_level: str = ""
    policy_name: str = ""
    policy_pack_name: str = ""
    resource_urn: str = ""
    message: str = ""

    def read(self, level: str) -> Policy:
        return Policy(
            level=level,
            name=self.policy_name,
            pack=self.policy_pack_name,
            resource=self.resource_urn.rpartition("::")[2],
            message=self.message or "changed the resource to what the rule asks for",
        )


class _Analyzed(Wire, frozen=True):
    passed: tuple[str, ...] | None = None
    failed: tuple[str, ...] | None = None


class _Event(Wire, frozen=True):
    timestamp: Any = None
    summary_event: _Summary | None = None
    diagnostic_event: _Said | None = None
    resource_pre_event: _Planned | None = None
    policy_event: _Objection | None = None
    policy_remediation_event: _Objection | None = None
    policy_analyze_summary_event: _Analyzed | None = None
    policy_analyze_stack_summary_event: _Analyzed | None = None


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
        return _digest(_typed(whole, _Document, "the preview"))
    if isinstance(whole, dict) and "sequence" in whole:
        return _events([lines])
    raise PreviewError(f"this JSON isn't a preview: it has neither steps nor events. {_HINT}")


def _digest(whole: _Document) -> Preview:
    messages = tuple(diagnostic.read() for diagnostic in whole.diagnostics or ())
    failed = any(message.severity == "error" for message in messages)
    if not failed and whole.change_summary is None:
        raise PreviewError(f"the preview has no changeSummary, so it didn't come to its end. {_HINT}")
    return Preview(_named(whole.steps or ()), messages, None, failed, None)


def _events(lines: Iterable[str]) -> Preview:
    events = [_event(line, number) for number, line in enumerate(lines, 1) if line.strip()]
    end = next((at for at, event in enumerate(events) if event.summary_event), len(events))
    summary = events[end].summary_event if end < len(events) else None
    messages = _messages(events)
    # After a summary of success the engine ends its plugins, and an "error" there is of one that took over 5 s.
    whole = summary is not None and summary.result == "succeeded"
    failed = any(message.severity == "error" for message in (_messages(events[:end]) if whole else messages))
    if summary is None and not failed:
        raise PreviewError(f"the preview has {len(events)} events and no summary, so it was cut off. {_HINT}")
    policies = _policies(events)
    failed = failed or (summary is not None and summary.result == "failed")
    failed = failed or any(p.level == "mandatory" for p in policies.violations)
    moment = events[0].timestamp if events else None
    taken_at = moment if isinstance(moment, int) and 0 < moment < _LAST else None
    steps = _named(event.resource_pre_event.metadata for event in events if event.resource_pre_event)
    return Preview(steps, messages, policies, failed, taken_at)


def _messages(events: Iterable[_Event]) -> tuple[Message, ...]:
    diagnostics = (event.diagnostic_event for event in events)
    return tuple(
        diagnostic.read()
        for diagnostic in diagnostics
        if diagnostic and not diagnostic.ephemeral and diagnostic.severity != "debug"
    )


def _event(line: str, number: int) -> _Event:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        raise PreviewError(f"line {number} of the preview isn't a JSON event. {_HINT}")
    return _typed(event, _Event, f"line {number} of the preview")


def _typed(raw: Json, kind: type[Kind], where: str) -> Kind:
    try:
        return convert(raw, kind)
    except ValueError as error:  # a lone surrogate is one, which Go doesn't write
        said = str(error) if isinstance(error, ValidationError) else causes.of_shape(error)
        raise PreviewError(f"{where} isn't as Pulumi writes it ({said}). {_HINT}") from None


def _policies(events: Iterable[_Event]) -> Policies:
    violations: dict[Policy, None] = {}
    passed: set[str] = set()
    failing: set[str] = set()
    for event in events:
        for analyzed in (event.policy_analyze_summary_event, event.policy_analyze_stack_summary_event):
            if analyzed:
                passed |= {*(analyzed.passed or ())}
                failing |= {*(analyzed.failed or ())}
        if policy_event := event.policy_event:
            violations[
                policy_event.read(
                    {"warning": "advisory"}.get(policy_event.enforcement_level, policy_event.enforcement_level)
                )
            ] = None
        if event.policy_remediation_event:
            violations[event.policy_remediation_event.read("remediate")] = None
    return Policies(tuple(violations), len(passed - failing - {violation.name for violation in violations}))


def _named(steps: Iterable[Step]) -> tuple[Step, ...]:
    named_steps = tuple(steps)
    for step in named_steps:
        if not step.urn.startswith("urn:pulumi:") or step.urn.count("::") < 3:
            raise PreviewError(f"a step of the preview has no URN of a resource but {step.urn[:80]!r}. {_HINT}")
    return named_steps


class Waiting(Struct, frozen=True):
    """How long a gate waits, and what it does then."""

    deadline_s: Whole | None = None
    on_deadline: str = "keep"


class Metadata(Struct, frozen=True):
    """A Kubernetes object's."""

    name: str = ""


class Inputs(Struct, frozen=True, rename="camel"):
    """Inputs of the resources that drains are read from."""

    nodeset: str = ""
    resource: str = ""
    replicas: Whole = 0
    max_replicas: Whole = 0
    owner: str = ""
    template: str = ""
    due: Any = None
    policy: Waiting = Waiting()
    plan: Plan = Plan()
    hosts: dict[str, Any] = {}
    partitions: dict[str, Any] = {}
    outside: bool = False
    host: str = ""
    interrupts: bool = False
    metadata: Metadata = Metadata()

    @classmethod
    def of(cls, raw: Json) -> Inputs:
        """Each as far as it has its shape."""
        inputs = {}
        for input_field in fields(cls):
            if input_field.encode_name in raw:
                with suppress(ValueError):
                    inputs[input_field.name] = convert(raw[input_field.encode_name], input_field.type, strict=False)
        return cls(**inputs)

    @property
    def target(self) -> int:
        """Most nodes that the NodeSet may have."""
        return self.replicas if self.owner == "stack" else self.max_replicas

    def deadline_at(self, now: int) -> int | None:
        """End of a wait that begins now; None where there is none."""
        wait = self.policy.deadline_s or 0
        return now + wait if wait > 0 else None


def fresh(old: Json, new: Json) -> bool:
    """Whether there is a plan that is another one than before, in whatever part."""
    return bool(new.get("plan")) and new.get("plan") != old.get("plan")
