"""A plain stack as the rules see it, without an engine: references resolved, what an update makes left unknown."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slurm_rules.catalogue import RULES
from slurm_rules.model import UNKNOWN, Resource, Stack
from slurm_rules.rule import Rule, Verdict

_REFERENCE = re.compile(r"\$\{([a-z-]+)\.([A-Za-z]+)\}")
_ROOT = "urn:pulumi:test::plain::pulumi:pulumi:Stack::plain-test"


def urn(name: str, type_: str) -> str:
    """The URN of a resource of a plain stack."""
    return f"urn:pulumi:test::plain::{type_}::{name}"


def in_memory(declared: Mapping[str, Any]) -> Stack:
    """The stack that the engine would hand to the rules at the end of a preview."""
    bodies = declared["resources"]
    urns = {name: urn(name, body["type"]) for name, body in bodies.items()}
    resources = [_resource(name, body, bodies, urns) for name, body in bodies.items()]
    resources += [each for body in bodies.values() for each in _fetched(body)]
    outputs, _ = _resolved(declared.get("outputs", {}), bodies)
    root = Resource(type="pulumi:pulumi:Stack", name="plain-test", urn=_ROOT, props=outputs)
    return Stack((root, *resources))


def _resource(name: str, body: Mapping[str, Any], bodies: Mapping[str, Any], urns: Mapping[str, str]) -> Resource:
    props, flows = {}, {}
    for key, value in body.get("properties", {}).items():
        props[key], sources = _resolved(value, bodies)
        if sources:
            flows[key] = frozenset(urns[source] for source in sources)
    return Resource(
        type=body["type"],
        name=name,
        urn=urns[name],
        props=props,
        protect=body.get("protect", False),
        ignore_changes=tuple(body.get("ignoreChanges", ())),
        delete_before_replace=body.get("deleteBeforeReplace"),
        provider=bodies[body["provider"]]["properties"] if "provider" in body else None,
        parent=_ROOT,
        component=body.get("component", False),
        dependencies=frozenset(urns[other] for other in body.get("dependsOn", ()) if other in urns),
        property_dependencies=flows,
    )


def _fetched(body: Mapping[str, Any]) -> list[Resource]:
    """The default provider by which the engine shows a resource's option pluginDownloadURL."""
    if "pluginDownloadURL" not in body:
        return []
    type_ = f"pulumi:providers:{body['type'].split(':')[0]}"
    version = body.get("version", "")
    name = f"default_{version.replace('.', '_')}_{body['pluginDownloadURL'].replace('://', '_/')}"
    return [Resource(type=type_, name=name, urn=urn(name, type_), props={"version": version})]


def _resolved(value: Any, bodies: Mapping[str, Any]) -> tuple[Any, set[str]]:
    """A value with its references filled in, and the resources that these name."""
    if isinstance(value, Mapping):
        parts = {key: _resolved(part, bodies) for key, part in value.items()}
        return {key: part for key, (part, _) in parts.items()}, {s for _, found in parts.values() for s in found}
    if isinstance(value, list):
        items = [_resolved(part, bodies) for part in value]
        return [part for part, _ in items], {source for _, found in items for source in found}
    match = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value, set()
    known = bodies[match[1]].get("properties", {}).get(match[2], UNKNOWN)
    return _resolved(known, bodies)[0] if known is not UNKNOWN else UNKNOWN, {match[1]}


@dataclass(frozen=True, eq=False)
class _Alone:
    """A rule's question about one resource. A variant of a stack has the very resources that it leaves as they are."""

    rule: Rule
    resource: Resource
    options: str

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, _Alone)
        return self.rule is other.rule and self.resource is other.resource and self.options == other.options

    def __hash__(self) -> int:
        return hash((self.rule.name, id(self.resource), self.options))


@functools.lru_cache(maxsize=8192)  # it holds the resources too, so no id comes again while its verdict is kept
def _verdict(asked: _Alone) -> Verdict:
    return asked.rule.judge(Stack((asked.resource,)), json.loads(asked.options))


def one(rule: Rule, stack: Stack, options: Mapping[str, Any] | None = None) -> Verdict:
    """The verdict of a rule; one that sees a single resource is asked about each alone, as the engine does."""
    if rule.scope == "stack":
        return rule.judge(stack, options)
    text = json.dumps(options or {}, sort_keys=True)
    verdicts = [_verdict(_Alone(rule, resource, text)) for resource in stack.resources]
    return Verdict(
        tuple(v for each in verdicts for v in each.violations), tuple(n for each in verdicts for n in each.not_judged)
    )


def speaking(stack: Stack, site: Mapping[str, Mapping[str, Any]] | None = None) -> set[str]:
    """Names of the rules that find a violation; ``site`` has bounds by rule."""
    return {rule.name for rule in RULES if one(rule, stack, (site or {}).get(rule.name)).violations}
