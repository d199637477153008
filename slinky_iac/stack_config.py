"""What a stack's configuration says, read through `pulumi config`: for commands that work before the first `pulumi up`, too.

The same texts as the program gets, checked by the same code; secrets are asked for only by who needs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slinky_iac.config.stack import PROJECT
from slinky_iac.config.values import Values, values_of
from slinky_iac.pulumi_command import Runner, answer, run_pulumi


def configured(
    stack: str | None, run: Runner = run_pulumi, *, with_keys: bool = False, taken_for_set: frozenset[str] = frozenset()
) -> Values:
    """The configuration of a stack; of the selected one where ``stack`` is None.

    ``taken_for_set``: secrets that needn't be set yet, for who only looks at the settings. ``with_keys``: decrypt, so that
    imported keys are there too; needs the stack's passphrase. Raises :class:`StateError` where pulumi can't be run or
    doesn't answer with a configuration, and :class:`slinky_iac.errors.ConfigError` with every fault of it.
    """
    own, secret = texts(stack, run, with_keys=with_keys)
    return values_of(own, secret | taken_for_set, with_keys=with_keys)


def texts(stack: str | None, run: Runner = run_pulumi, *, with_keys: bool = False) -> tuple[dict[str, str], frozenset[str]]:
    """This project's texts by name, unchecked, and the names of those that are secret; a secret's text is empty unless
    ``with_keys``. Raises :class:`StateError`."""
    arguments = ["config", "--json", *(["--show-secrets"] if with_keys else [])]
    advice = (
        "Run it from the project's folder, logged in to its backend and with the stack's passphrase, or name the stack with"
        " --stack"
    )
    return answer(run, arguments, stack, _own, wanted="a stack's configuration", advice=advice)


def _own(entries: Mapping[str, Any]) -> tuple[dict[str, str], frozenset[str]]:
    own: dict[str, str] = {}
    secret: set[str] = set()
    for key, entry in entries.items():
        project, _, name = key.partition(":")
        if project != PROJECT:
            continue
        own[name] = str(entry.get("value") or "")
        if entry["secret"]:
            secret.add(name)
    return own, frozenset(secret)
