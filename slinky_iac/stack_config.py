"""What a stack's configuration says, read through `pulumi config`: for commands that work before the first `pulumi up`, too.

The same texts as the program gets, checked by the same code; secrets are asked for only by who needs them.
"""

from __future__ import annotations

import json
import subprocess

from slinky_iac.config.stack import PROJECT
from slinky_iac.config.values import Values, values_of
from slinky_iac.errors import StateError
from slinky_iac.stack_state import Runner, run_pulumi


def configured(
    stack: str | None, run: Runner = run_pulumi, *, with_keys: bool = False, taken_for_set: frozenset[str] = frozenset()
) -> Values:
    """The configuration of a stack; of the selected one where ``stack`` is None.

    ``taken_for_set``: secrets that needn't be set yet, for who only looks at the settings. ``with_keys``: decrypt, so that
    imported keys are there too; needs the stack's passphrase. Raises :class:`StateError` where pulumi can't be run or
    doesn't answer with a configuration, and :class:`slinky_iac.errors.ConfigError` with every fault of it.
    """
    secrets = ["--show-secrets"] if with_keys else []
    arguments = ["config", "--json", "--non-interactive", *secrets, *(["--stack", stack] if stack else [])]
    try:
        done = run(arguments)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StateError(f"`pulumi config` could not be run ({type(error).__name__}); is pulumi on PATH?") from None
    if done.returncode != 0:
        raise StateError(
            f"`pulumi config` ended with {done.returncode}: {done.stderr.strip()[-300:]} Run it from the project's folder,"
            " logged in to its backend and with the stack's passphrase, or name the stack with --stack"
        )
    own: dict[str, str] = {}
    secret: set[str] = set()
    try:
        for key, entry in json.loads(done.stdout).items():
            project, _, name = key.partition(":")
            if project != PROJECT:
                continue
            own[name] = str(entry.get("value") or "")
            if entry["secret"]:
                secret.add(name)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StateError("`pulumi config --json` printed something else than a stack's configuration") from None
    return values_of(own, frozenset(secret) | taken_for_set, with_keys=with_keys)
