"""Rules as manifests: a Role for each namespace, a ClusterRole for what has none, bindings to one account. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import yaml

from slinky_iac.commands.output import Paint, columns
from slinky_iac.commands.rights.table import Right, Use
from slinky_iac.config.stack import StackConfig

API = "rbac.authorization.k8s.io"


@dataclass(frozen=True)
class Account:
    """The ServiceAccount that the rights are for."""

    namespace: str
    name: str


def manifests(config: StackConfig, use: Use, found: Sequence[Right], account: Account) -> tuple[dict[str, Any], ...]:
    """Roles and bindings, a namespace's beside each other."""
    return tuple(_manifests(config, use, found, account))


def _manifests(config: StackConfig, use: Use, found: Sequence[Right], account: Account) -> Iterator[dict[str, Any]]:
    by_place = sorted(found, key=lambda each: each.namespace or "")
    for place, rows in groupby(by_place, key=lambda each: each.namespace):
        name = f"slinky-{use}-{config.cluster.namespace}-{config.cluster.resource_name}"
        kind = "ClusterRole" if place is None else "Role"
        meta = {"name": name} if place is None else {"name": name, "namespace": place}
        yield {"apiVersion": f"{API}/v1", "kind": kind, "metadata": meta, "rules": list(_rules(rows))}
        yield {
            "apiVersion": f"{API}/v1",
            "kind": f"{kind}Binding",
            "metadata": meta,
            "roleRef": {"apiGroup": API, "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace}],
        }


def _rules(rows: Iterable[Right]) -> Iterator[dict[str, Any]]:
    for each in rows:
        named = {"resourceNames": list(each.names)} if each.names else {}
        yield {"apiGroups": [each.group], "resources": [each.resource], **named, "verbs": list(each.verbs)}


def as_yaml(found: Iterable[dict[str, Any]], notes: Iterable[str]) -> str:
    """All manifests as one file, with what to know at its head."""
    head = "".join(f"# {line}\n" for line in notes)
    return head + yaml.safe_dump_all(found, sort_keys=False, explicit_start=True)


def as_table(found: Iterable[Right], notes: Iterable[str]) -> str:
    """One line a rule, for people."""
    rows = [("WHERE", "WHAT", "NAMES", "VERBS", "WHY")]
    rows += [
        (each.namespace or "(cluster)", f"{each.resource}{'.' if each.group else ''}{each.group}", _some(each.names),
         ",".join(each.verbs), each.why)
        for each in found
    ]  # fmt: skip
    return "\n".join([*columns(rows, Paint(colour=False)), "", *notes]) + "\n"


def _some(names: Sequence[str]) -> str:
    return ",".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") if names else "*"
