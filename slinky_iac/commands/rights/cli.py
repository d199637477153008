"""`slinky rights`: the Roles that an account needs for one use of this stack, and no more.

What left the settings is removed by the next `pulumi up`, with the rights to do so. An update that failed, or that left
something out, has made some of its objects and removed some of the earlier ones: so earlier updates count, too.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import yaml

from slinky_iac import names
from slinky_iac.cluster import pulumi_state
from slinky_iac.commands.output import terminal
from slinky_iac.commands.rights.table import rights_over
from slinky_iac.commands.stack_config import add_source, given, own_texts
from slinky_iac.config.reading.values import settings_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import ConfigError
from slinky_iac.parts.registry import PARTS, parts_of
from slinky_iac.specs.rights import Right, Use
from slinky_iac.text import some

API = "rbac.authorization.k8s.io"


@dataclass(frozen=True)
class Account:
    """The ServiceAccount that the rights are for."""

    namespace: str
    name: str


def manifests(config: StackConfig, use: Use, permissions: Sequence[Right], account: Account) -> Iterator[dict[str, Any]]:
    """Roles and bindings, a namespace's beside each other."""
    by_place = sorted(permissions, key=lambda right: right.namespace or "")
    for place, rows in groupby(by_place, key=lambda right: right.namespace):
        name = f"slinky-{use}-{config.cluster.namespace}-{config.cluster.resource_name}"
        kind = "ClusterRole" if place is None else "Role"
        meta = {"name": name} if place is None else {"name": name, "namespace": place}
        yield {"apiVersion": f"{API}/v1", "kind": kind, "metadata": meta, "rules": list(map(_rule, rows))}
        yield {
            "apiVersion": f"{API}/v1",
            "kind": f"{kind}Binding",
            "metadata": meta,
            "roleRef": {"apiGroup": API, "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace}],
        }


WIDTH: Final = 100


def _rule(right: Right) -> dict[str, Any]:
    named = {"resourceNames": list(right.names)} if right.names else {}
    return {"apiGroups": [right.group], "resources": [right.resource], **named, "verbs": list(right.verbs)}


def as_yaml(documents: Iterable[dict[str, Any]], notes: Iterable[str]) -> str:
    """All manifests as one file, with what to know at its head."""
    head = "".join(f"# {line}\n" for line in notes)
    return head + yaml.safe_dump_all(documents, sort_keys=False, explicit_start=True)


def as_table(permissions: Iterable[Right], notes: Iterable[str]) -> str:
    """The rules of each namespace, for people: what and which verbs, then why, no wider than the terminal."""
    width = terminal(WIDTH)[1]
    lines: list[str] = []
    by_place: dict[str, list[Right]] = {}
    for right in permissions:
        by_place.setdefault(right.namespace or "(the whole cluster)", []).append(right)
    for place, rights in by_place.items():
        lines += [f"{place}:"]
        for right in rights:
            which = f" {some(right.names, 3)}" if right.names else ""
            what = f"{right.resource}{'.' if right.group else ''}{right.group}{which}: {', '.join(right.verbs)}"
            lines += [*_wrapped(what, width, "  "), *_wrapped(right.why, width, "      ")]
        lines.append("")
    return "\n".join([*lines, *(line for note in notes for line in _wrapped(note, width, ""))]) + "\n"


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False, break_long_words=False
    )


_PARTS: Final = tuple(
    f"pulumi.flag.{name}" for name in ("target", "target-replace", "target-dependents", "exclude", "exclude-protected")
)
"""What pulumi writes down of a command that leaves something out."""


def unfinished(entries: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """The entries (newest first, as pulumi lists them) back to the last `up` that succeeded and left nothing out; without
    those before a `destroy` that did."""
    updates = []
    for entry in entries:
        environment = entry.get("environment")
        left_out = not isinstance(environment, dict) or any(name in environment for name in _PARTS)
        whole = entry.get("result") == "succeeded" and not left_out
        if whole and entry.get("kind") == "destroy":
            break
        if entry.get("kind") in ("update", "destroy"):
            updates.append(entry)
        if whole and entry.get("kind") == "update":
            break
    return tuple(updates)


HISTORY: Final = 100
"""Updates that are looked through for the last one that succeeded."""
ALONE: Final = (
    "Read from a file alone: what earlier settings of the stack have made is not in here. Keep the Roles that are there"
    " until the next `pulumi up` has ended, or use --stack."
)
CODES = "exit codes: 0 printed; 1 the stack could not be read; 2 wrong arguments"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_source(parser)
    parser.add_argument(
        "--for", dest="use", required=True, choices=[str(use) for use in Use], help="what the account is for"
    )
    parser.add_argument(
        "--account",
        type=_account,
        metavar="NAMESPACE/NAME",
        help="ServiceAccount to bind them to (default: slinky-accounts/slinky-apply, slinky-accounts/slinky-review, …; for"
        " status the one of monitoring.status)",
    )
    parser.add_argument(
        "--pod-namespace",
        metavar="NAMESPACE",
        help="with --for preflight: where it may make its short-lived pods; a namespace without Secrets",
    )
    parser.add_argument("--format", choices=("yaml", "table"), default="yaml", help="manifests to apply, or a table to read")


def run(arguments: argparse.Namespace) -> int:
    """Read the stack's settings and print. Nothing is asked of Kubernetes."""
    values = given(arguments)
    config, use = values.config, Use(arguments.use)
    account = arguments.account or _default(config, use)
    alone = bool(arguments.config)
    entries = () if alone or use in (Use.PREFLIGHT, Use.STATUS) else pulumi_state.history(arguments.stack, HISTORY)
    table, own = arguments.format == "table", arguments.pod_namespace
    sys.stdout.write(printed(config, use, account, entries, pod_namespace=own, table=table, alone=alone))
    return 0


def _default(config: StackConfig, use: Use) -> Account:
    own = next(filter(None, (part.status_account(config) for part in PARTS)), "")
    if use is Use.STATUS and own:
        return Account(config.cluster.namespace, own)
    return Account("slinky-accounts", f"slinky-{use}")


def printed(
    config: StackConfig,
    use: Use,
    account: Account,
    entries: Sequence[Mapping[str, Any]] = (),
    *,
    pod_namespace: str | None = None,
    table: bool = False,
    alone: bool = False,
) -> str:
    """The text: rights for these settings, and for objects that the stack may still have by ``entries``
    (:func:`slinky_iac.cluster.pulumi_state.history`). ``alone``: these were not looked up."""
    own = rights_over((config,), use, pod_namespace)
    earlier, unread = _settings(unfinished(entries))
    permissions = rights_over((config, *earlier), use, pod_namespace)
    remarks = tuple(notes(config, use, pod_namespace, earlier=permissions != own, unread=unread))
    if alone and use not in (Use.PREFLIGHT, Use.STATUS):
        remarks = (*remarks, ALONE)
    return as_table(permissions, remarks) if table else as_yaml(manifests(config, use, permissions, account), remarks)


def _settings(entries: Iterable[Mapping[str, Any]]) -> tuple[list[StackConfig], list[str]]:
    """Settings of these updates, and when those began whose settings can't be read."""
    settings, unread = [], []
    for entry in entries:
        try:
            texts, _ = own_texts(entry["config"])
            settings.append(settings_of(texts))
        except (ConfigError, KeyError, TypeError, AttributeError):
            unread.append(str(entry.get("startTime")))
    return settings, unread


def notes(
    config: StackConfig, use: Use, pod_namespace: str | None, *, earlier: bool = False, unread: Sequence[str] = ()
) -> Iterator[str]:
    """What to know of these rights, one sentence each. ``earlier``: they hold more than these settings need."""
    yield "Discovery (/api, /apis, /openapi, /version) isn't in here: every account has it (system:discovery)."
    if earlier:
        yield (
            "These include what the stack may still have by its earlier settings, so that the next `pulumi up` can remove"
            " it. Print and apply them again after that `pulumi up`."
        )
    if unread:
        yield (
            f"This release can't read the settings of the updates that began {', '.join(unread)}: keep the Roles that are"
            " there until the next `pulumi up` has ended, else it can't remove what these updates made."
        )
    if made := made_namespaces(config):
        commands = "; ".join(
            f"kubectl create namespace {namespace}; kubectl annotate namespace {namespace} {names.ANNOTATION_STACK}=STACK"
            for namespace in made
        )
        yield (
            "createNamespace: a Role needs its namespace before the stack is there, and `pulumi destroy` removes the"
            " namespace with its Roles. Make namespaces beside the stack and set createNamespace: false. Else, before each"
            f" first `pulumi up`, run `{commands}` with the stack's name, then apply these: `pulumi up` takes over a"
            " namespace that has this annotation."
        )
    if use is Use.APPLY and config.installs_operator:
        yield (
            "operator.install: who installs an operator may write any ClusterRole (escalate, bind), so these are as good as"
            " cluster-admin. Install it from a stack of its own, and set operator.install: false here."
        )
    if use is Use.REVIEW and config.slurmctld.tries_files and config.slurmctld.trial_namespace is None:
        yield (
            "controller.trial: previews with these rights make no trial, and say so; `pulumi up` makes it. The right to make"
            f" pods in {config.cluster.namespace} is the right to mount every Secret there, slurm.key too. For trials in"
            " previews, name a namespace without Secrets by controller.trial.namespace."
        )
    for part in parts_of(config):
        yield from part.right_notes(config, use)
    if use is Use.REVIEW and config.auth.makes_daemons:
        yield (
            "Previews with these rights don't try writes in the API server, and don't look for Secrets and Helm releases"
            " that are in the way of the stack's. Such an object makes `pulumi up` stop, and stays as it is."
        )
    if use is Use.PREFLIGHT and pod_namespace is None:
        yield (
            "Without --pod-namespace it may make no pod: run `preflight --no-pod`. The right to make pods in"
            f" {config.cluster.namespace} is the right to mount every Secret there, slurm.key too."
        )


def made_namespaces(config: StackConfig) -> tuple[str, ...]:
    """Namespaces that Roles are in and that the stack itself makes."""
    namespaces = [config.cluster.namespace] if config.cluster.create_namespace else []
    if config.installs_operator and config.operator.create_namespace:
        namespaces.append(config.operator.namespace)
    namespaces += [client.namespace for client in config.clients.values() if client.create_namespace]
    return tuple(dict.fromkeys(namespaces))


def _account(text: str) -> Account:
    namespace, _, name = text.partition("/")
    if not (_NAME.fullmatch(namespace) and _NAME.fullmatch(name)):
        raise argparse.ArgumentTypeError(f"{text[:80]!a} isn't NAMESPACE/NAME of a ServiceAccount")
    return Account(namespace, name)
