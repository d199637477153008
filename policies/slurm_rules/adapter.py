"""From rules to pulumi_policy: the only module that knows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi_policy as sdk
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError

from slurm_rules.model import REDACTED, REDACTED_TEXT, UNKNOWN, Resource, Stack
from slurm_rules.rule import Rule, Verdict

_SHOWN = 3
_DECLARED: dict[str, Mapping[str, Any]] = {}
"""Inputs of each resource, by URN. The engine shows them before a resource is touched, and outputs to rules of the stack:
there an API server has added its defaults, which no program declared. One process of the pack is one preview or update."""


class NotJudgedError(UnknownValueError):
    """Tells the engine, in its own way (an advisory that stops nothing), that a rule couldn't judge everything."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__(UNKNOWN_STRING_VALUE, [])
        more = f", and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
        self.message = f"not judged, since {'; '.join(reasons[:_SHOWN])}{more}. All else was judged"


def policies(rules: Sequence[Rule]) -> list[sdk.Policy]:
    """A policy for each rule."""
    return [_resource_policy(rule) if rule.scope == "resource" else _stack_policy(rule) for rule in rules]


def _manual(rule: Rule) -> dict[str, Any]:
    """What both kinds of policy take from a rule."""
    mandatory = rule.level == "mandatory"
    return {
        "description": f"{rule.summary} See docs/policies.md, {rule.name}.",
        "enforcement_level": sdk.EnforcementLevel.MANDATORY if mandatory else sdk.EnforcementLevel.ADVISORY,
        "config_schema": sdk.PolicyConfigSchema({name: option.full_schema for name, option in rule.options.items()}),
        "severity": sdk.Severity.HIGH if mandatory else sdk.Severity.LOW,
        "tags": [rule.module],
        "remediation_steps": rule.todo,
    }


def _resource_policy(rule: Rule) -> sdk.ResourceValidationPolicy:
    def validate(args: sdk.ResourceValidationArgs, report: sdk.ReportViolation) -> None:
        _report(rule.judge(Stack((_one(args),)), args.get_config()), report)

    return sdk.ResourceValidationPolicy(rule.name, validate=validate, **_manual(rule))


def _stack_policy(rule: Rule) -> sdk.StackValidationPolicy:
    def validate(args: sdk.StackValidationArgs, report: sdk.ReportViolation) -> None:
        _report(rule.judge(Stack(tuple(map(_of_stack, args.resources))), args.get_config()), report)

    return sdk.StackValidationPolicy(rule.name, validate=validate, **_manual(rule))


def _report(verdict: Verdict, report: sdk.ReportViolation) -> None:
    for urn, message in verdict.violations:
        report(message, urn)
    if verdict.not_judged:
        raise NotJudgedError(verdict.not_judged)


def _one(args: sdk.ResourceValidationArgs) -> Resource:
    _DECLARED[args.urn] = _plain(args.props)  # again each time: the update itself may change them
    return Resource(
        type=args.resource_type,
        name=args.name,
        urn=args.urn,
        props=_DECLARED[args.urn],
        protect=args.opts.protect,
        ignore_changes=tuple(args.opts.ignore_changes),
        delete_before_replace=args.opts.delete_before_replace,
        parent=args.opts.parent,
    )


def _of_stack(sdk_resource: sdk.PolicyResource) -> Resource:
    return Resource(
        type=sdk_resource.resource_type,
        name=sdk_resource.name,
        urn=sdk_resource.urn,
        props=_plain(sdk_resource.props),
        inputs=_DECLARED.get(sdk_resource.urn),
        protect=sdk_resource.opts.protect,
        ignore_changes=tuple(sdk_resource.opts.ignore_changes),
        delete_before_replace=sdk_resource.opts.delete_before_replace,
        provider=_plain(sdk_resource.provider.props) if sdk_resource.provider else None,
        parent=sdk_resource.parent.urn if sdk_resource.parent else None,
        component=sdk_resource.provider is None and not sdk_resource.resource_type.startswith("pulumi:"),
        dependencies=frozenset(other.urn for other in sdk_resource.dependencies),
        property_dependencies={
            name: frozenset(other.urn for other in others) for name, others in sdk_resource.property_dependencies.items()
        },
    )


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON in, JSON out
    """A copy without pulumi_policy's proxies, which raise when an unknown value is read."""
    if isinstance(value, Mapping):
        return {key: _read(value, key) for key in value}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_read(value, index) for index in range(len(value))]
    return REDACTED if value == REDACTED_TEXT else value


def _read(container: Any, key: Any) -> Any:  # noqa: ANN401
    try:
        return _plain(container[key])
    except UnknownValueError:
        return UNKNOWN
