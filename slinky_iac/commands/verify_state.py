"""`slinky verify-state`: whether the stack's state holds code, before an engine is let near it."""

from __future__ import annotations

import argparse
import json

from slinky_iac.cluster import pulumi_state
from slinky_iac.cluster.pulumi_command import Runner, answer, run_pulumi
from slinky_iac.commands import state_code
from slinky_iac.commands.output import FOUND, add_json, add_stack, as_json
from slinky_iac.commands.stack_config import own_texts
from slinky_iac.config.values import settings_of
from slinky_iac.errors import ConfigError
from slinky_iac.reach import reach

HELP = "check the stack's state for code that isn't this program's, before an engine loads a state that others can write"
NEXT = (
    "Somebody who can write to the backend may have put it there, to run it with your rights. Don't run `pulumi` on this"
    " stack. Compare with an earlier version of the state in the backend, import a good one (`pulumi stack import`), and"
    " find out who can write there. Where it is your own program's: --allow PACKAGE, MODULE.CLASS or PATH"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.epilog = "exit codes: 0 none; 1 the state could not be read; 2 wrong arguments; 6 foreign code, or what may be"
    add_stack(parser)
    add_json(parser)
    allow = "package, dotted name of a dynamic provider, path of a kubeconfig or address, that is your own; may be repeated"
    parser.add_argument("--allow", action="append", default=[], metavar="NAME", help=allow)
    encrypted = "decrypt nothing: needs no passphrase, and trusts what is encrypted, with whichever key"
    parser.add_argument("--encrypted", action="store_true", help=encrypted)


def run(arguments: argparse.Namespace, pulumi: Runner = run_pulumi) -> int:
    """Look and tell. Raises StateError; returns the exit code."""
    found = look(arguments.stack, decrypted=not arguments.encrypted, allow=arguments.allow, pulumi=pulumi)
    if arguments.json:
        print(as_json({"foreign": list(found)}))
    else:
        print("\n".join([*found, NEXT]) if found else "the state holds no foreign code")
    return FOUND if found else 0


def look(
    stack: str | None, *, decrypted: bool, allow: list[str] | None = None, pulumi: Runner = run_pulumi
) -> tuple[str, ...]:
    """What :func:`slinky_iac.commands.state_code.foreign` finds in a stack's state. Raises StateError."""
    more = frozenset(allow or ())
    resources = pulumi_state.everything(stack, pulumi, decrypted=decrypted)

    def known() -> frozenset[str]:
        return more | answer(pulumi, ["config", "--json"], stack, known_of, wanted="a stack's settings")

    return state_code.foreign(resources, state_code.project_classes() | more, state_code.PACKAGES | more, known)


def known_of(settings: object) -> frozenset[str]:
    """Texts of the settings, and what they give: namespace and Service of slurmrestd have defaults. Raises ValueError."""
    found = _texts(settings)
    own = settings if isinstance(settings, dict) else {}
    entries = {name: {"secret": False, **each} for name, each in own.items() if isinstance(each, dict)}
    try:
        way = reach(settings_of(own_texts(entries)[0]))
    except ConfigError:
        return found  # and then each of these is named
    return found | {way.namespace, way.restapi_service}


def _texts(settings: object) -> frozenset[str]:
    """Every text that a stack's settings hold in the clear; structured ones are JSON in a text. Raises ValueError."""
    if isinstance(settings, str):
        found = {settings}
        if settings[:1] in ("{", "["):
            found |= _texts(json.loads(settings))
        return frozenset(found)
    parts = settings.values() if isinstance(settings, dict) else settings if isinstance(settings, list) else ()
    return frozenset().union(*map(_texts, parts))
