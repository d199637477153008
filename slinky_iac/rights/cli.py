"""`python -m slinky_iac rights`: the Roles that an account needs for one use of this stack, and no more."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Final

from slinky_iac.config.stack import StackConfig
from slinky_iac.rights.render import Account, as_table, as_yaml, manifests
from slinky_iac.rights.table import Use, rights
from slinky_iac.stack_config import add_source, configured, configured_file

HELP = "print the Roles that an account needs in Kubernetes for review, apply or preflight of a stack, and no more"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.epilog = "exit codes: 0 printed; 1 the stack could not be read; 2 wrong arguments"
    add_source(parser)
    parser.add_argument(
        "--for", dest="use", required=True, choices=[str(use) for use in Use], help="what the account is for"
    )
    parser.add_argument(
        "--account",
        type=_account,
        metavar="NAMESPACE/NAME",
        help="ServiceAccount to bind them to; by default slinky-USE in namespace slinky-accounts",
    )
    parser.add_argument(
        "--pod-namespace",
        metavar="NAMESPACE",
        help="with --for preflight: where it may make its short-lived pods; a namespace without Secrets",
    )
    parser.add_argument("--format", choices=("yaml", "table"), default="yaml", help="manifests to apply, or a table to read")


def run(arguments: argparse.Namespace) -> int:
    """Read the stack's settings and print. Nothing is asked of Kubernetes."""
    values = configured_file(Path(arguments.config)) if arguments.config else configured(arguments.stack)
    config, use = values.config, Use(arguments.use)
    account = arguments.account or Account("slinky-accounts", f"slinky-{use}")
    found = rights(config, use, arguments.pod_namespace)
    told = notes(config, use, arguments.pod_namespace)
    if arguments.format == "table":
        sys.stdout.write(as_table(found, told))
    else:
        sys.stdout.write(as_yaml(manifests(config, use, found, account), told))
    return 0


def notes(config: StackConfig, use: Use, pod_namespace: str | None) -> tuple[str, ...]:
    """What to know of these rights, one sentence each."""
    namespace = config.cluster.namespace
    found = ["Discovery (/api, /apis, /openapi, /version) isn't in here: every account has it (system:discovery)."]
    if use is Use.APPLY and config.cluster.create_namespace:
        found.append(
            f"cluster.createNamespace: `pulumi destroy` removes namespace {namespace} with these Roles. Make the namespace"
            " beside the stack and set it to false, else apply them again before each first `pulumi up`."
        )
    if use is Use.APPLY and config.operator.install and config.keys.auth != "auth/munge":
        found.append(
            "operator.install: who installs an operator may write any ClusterRole (escalate, bind), so these are as good as"
            " cluster-admin. Install it from a stack of its own, and set operator.install: false here."
        )
    if use is Use.PREFLIGHT and pod_namespace is None:
        found.append(
            "Without --pod-namespace it may make no pod: run `preflight --no-pod`. The right to make pods in"
            f" {namespace} is the right to mount every Secret there, slurm.key too."
        )
    return tuple(found)


def _account(text: str) -> Account:
    namespace, _, name = text.partition("/")
    if not (_NAME.fullmatch(namespace) and _NAME.fullmatch(name)):
        raise argparse.ArgumentTypeError(f"{text[:80]!a} is no NAMESPACE/NAME of a ServiceAccount")
    return Account(namespace, name)
