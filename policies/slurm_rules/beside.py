"""What goes together: beside each part of a cluster, what this program makes with it. The rows are in ``beside.json``.

A row is ``of`` kinds. It asks for values (``want``), for an option (``protect``, ``first``, ``ignores``), or for resources
of a kind ``beside`` it: ``where`` these values are theirs, ``least`` to ``most`` of them, made ``after`` or ``before`` it,
within their ``bounds``, each with an ``entry``. ``when`` and ``unless`` say where it holds, and one that is ``strict`` only
where the site names it. ``~`` begins a pattern, ``<…>`` is a value of the resource, and what begins with ``@`` is no field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from slurm_rules.charts import HELM_RELEASE, chart_name
from slurm_rules.cluster import (
    JWT_FIELDS,
    OUTSIDE_CONF_OUTPUT,
    controller_of,
    is_external,
    jwt_field,
    key_secret,
    slurm_conf,
    slurm_name,
)
from slurm_rules.keys import generators
from slurm_rules.model import API_GROUP, HiddenValueError, Resource, Stack
from slurm_rules.rule import Options, rule, words
from slurm_rules.slurm_conf import settings
from slurm_rules.world import GATE_TYPES

ROWS: Final[list[dict[str, Any]]] = json.loads(Path(__file__).with_name("beside.json").read_text(encoding="utf-8"))
_STRICT: Final = tuple(dict.fromkeys(row["row"] for row in ROWS if "strict" in row))
_NAMES: Final = tuple(dict.fromkeys(row["row"] for row in ROWS if "strict" not in row))
_SHOWN: Final = 60
_GROUPS: Final = ("admissionregistration.k8s.io", "autoscaling", "keda.sh")


@rule(
    "cluster-complete",
    lambda resource: _called(resource) != "",
    options={
        "spared": words((), "Rows that this site doesn't ask for, as of a cluster to throw away.", *_NAMES),
        "strict": words((), "Rows that hold only where a site names them here.", *_STRICT),
    },
)
def cluster_complete(resource: Resource, stack: Stack, options: Options) -> Iterator[str]:
    """Beside each part of a cluster is what this program makes with it: gates, the fence, slurmrestd, protection of keys.

    Why: each part does no harm as it is, and without the others jobs are lost: a NodeSet without its gate, an operator
    without an answer of slurmrestd, a key that a destroy takes away. Each message says what follows.

    Source: that of each row, in beside.json.

    Do: what the message says. Declared by this program a cluster has all of it.

    Level: mandatory, since running jobs are lost.
    """
    unseen: list[HiddenValueError] = []
    for row in ROWS:
        left = row["row"] not in options["strict"] if "strict" in row else row["row"] in options["spared"]
        if left or not _is_of(resource, row["of"], stack):
            continue
        try:
            for fault in _faults(resource, row, stack):
                yield f"{resource.label}: {fault}; {row['say']} ({row['row']})"
        except HiddenValueError as missing:  # what other rows find counts
            unseen.append(missing)
    if unseen:
        raise unseen[0]


def _called(resource: Resource) -> str:
    """How rows name the kind of a resource; empty for one that no row is of, or beside."""
    if resource.is_patch:
        return ""
    if resource.type == HELM_RELEASE:
        return f"Release:{chart_name(resource)}"
    if resource.type.startswith(GATE_TYPES):
        return f"slurm:{resource.kind}"
    if resource.is_a("apiextensions.k8s.io", "CustomResourceDefinition"):
        return "CRD" if resource.in_cluster_name.endswith(f".{API_GROUP}") else ""
    known = resource.is_slinky or resource.is_a("", "Secret") or resource.group in _GROUPS
    return resource.kind if known else "random" if resource.type.startswith("random:") else ""


def _is_of(resource: Resource, kinds: str, stack: Stack) -> bool:
    if kinds != "@key":
        return _called(resource) in kinds.split("|")
    if _called(resource) not in ("Secret", "random"):
        return False
    controllers = stack.slinky("Controller")
    secrets = [key_secret(controller, stack, field) for controller in controllers for field in ("slurmKeyRef", *JWT_FIELDS)]
    return any(resource is secret or resource in generators(secret, stack) for secret in secrets if secret is not None)


def _faults(resource: Resource, row: Mapping[str, Any], stack: Stack) -> Iterator[str]:
    if _holds(resource, row.get("when", {}), stack) and not ("unless" in row and _holds(resource, row["unless"], stack)):
        yield from _asked(resource, row, stack)


def _asked(resource: Resource, row: Mapping[str, Any], stack: Stack) -> Iterator[str]:
    if row.get("protect") and not resource.protect:
        yield "isn't protected"
    if "first" in row and resource.delete_before_replace is False:
        yield "is made before the one that it replaces is deleted"
    if "ignores" in row and row["ignores"] not in resource.ignore_changes:
        yield f"has no {row['ignores']} in ignoreChanges"
    for path, allowed in row.get("want", {}).items():
        value = _at(resource, path, stack)
        if not _one_of(value, allowed, resource, stack):
            shown = "not set" if value is None else _text(value)[:_SHOWN]
            shown = "a text of several lines" if len(shown.splitlines()) > 1 else shown
            yield f"{_dotted(path.replace('@jwt', jwt_field(resource)))} is {shown}"
    if "beside" in row:
        yield from _beside(resource, row, stack)


def _beside(resource: Resource, row: Mapping[str, Any], stack: Stack) -> Iterator[str]:
    kind, where = row["beside"], {path: _filled(wanted, resource, stack) for path, wanted in row["where"].items()}
    others = [other for other in stack.resources if _called(other) == kind]
    partners = [other for other in others if all(_at(other, path, stack) == wanted for path, wanted in where.items())]
    named = f"{kind.rpartition(':')[2]} with {', '.join(f'{_dotted(path)} {value}' for path, value in where.items())}"
    if len(partners) < row.get("least", 1):
        yield f"has no {named}"
    elif len(partners) > row.get("most", len(partners)):
        yield f"has {len(partners)} {named}"
    elif "bounds" in row and (beyond := _beyond(resource, partners[0], *row["bounds"])):
        yield beyond
    elif "after" in row and not any(resource.urn in stack.needs(partner) for partner in partners):
        yield f"{partners[0].label} doesn't depend on it, so it may be removed first"
    elif "entry" in row:
        entry = _filled(row["entry"], resource, stack)
        lacking = [partner for partner in partners if entry not in (*partner.names("data"), *partner.names("stringData"))]
        yield from (f"{partner.label} has no entry {entry or '(none)'}" for partner in lacking)
    elif "before" in row:
        yield from (f"doesn't depend on {partner.label}" for partner in partners if partner.urn not in stack.needs(resource))


def _dotted(path: str) -> str:
    return path.lstrip("@").replace(" ", ".")


def _beyond(resource: Resource, other: Resource, asking: list[str], bound: str) -> str:
    asked = next((number for path in asking if (number := resource.number(*path.split(" ")))), 0)
    most = other.number(bound)
    return f"may ask for {asked:g}, and {other.label} allows {most:g}" if most is not None and asked > most else ""


def _holds(resource: Resource, conditions: Mapping[str, list[Any]], stack: Stack) -> bool:
    return all(_one_of(_at(resource, path, stack), allowed, resource, stack) for path, allowed in conditions.items())


def _at(resource: Resource, path: str, stack: Stack) -> Any:  # noqa: ANN401 - a JSON value
    match path:
        case "@name":
            return resource.in_cluster_name
        case "@namespace":
            return resource.namespace
        case "@about":
            parts = [resource.peek(field) for field in ("data", "stringData")]  # one hidden as a whole names nothing
            names = [key for part in parts if isinstance(part, Mapping) for key in part]
            return " ".join([resource.in_cluster_name, *names])
        case "@slurmName":
            return slurm_name(resource)
        case _ if path.startswith(f"@{OUTSIDE_CONF_OUTPUT}"):
            text = _outside(resource, stack)
            name = path.partition(" ")[2].lower()
            return settings(text).get(name) if text and name else text
        case _:
            return resource.get(*(jwt_field(resource) if part == "@jwt" else part for part in path.split(" ")))


def _outside(resource: Resource, stack: Stack) -> str | None:
    """Lines for an outside slurm.conf, of a Controller or of the one that a resource refers to."""
    controller = resource if resource.kind == "Controller" else controller_of(resource, stack)
    return slurm_conf(controller, stack) if controller is not None and is_external(controller) else None


def _one_of(value: object, allowed: list[Any], resource: Resource, stack: Stack) -> bool:
    for form in allowed:
        if isinstance(form, str) and form.startswith("~"):
            if value is not None and re.fullmatch(_filled(form[1:], resource, stack, re.escape), _text(value)):
                return True
        elif isinstance(form, str):
            if value == _filled(form, resource, stack):
                return True
        elif value == form and isinstance(value, bool) is isinstance(form, bool):
            return True
    return False


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _filled(text: str, resource: Resource, stack: Stack, written: Callable[[str], str] = str) -> str:
    """A text with values of the resource in the place of their names."""
    own = {"name": "@name", "namespace": "@namespace"}
    return re.sub(r"<([^<>]+)>", lambda match: written(_text(_at(resource, own.get(match[1], match[1]), stack) or "")), text)
