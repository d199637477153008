"""What a stack's configuration says, read through `pulumi config`: for commands that work before the first `pulumi up`, too.

The same texts as the program gets, checked by the same code; secrets are asked for only by who needs them. Or read from a
stack's file, without pulumi, where no secret is needed (`--config FILE`).
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slinky_iac.cluster.pulumi_command import Runner, answer, run_pulumi
from slinky_iac.commands.check import judged
from slinky_iac.commands.output import STACK
from slinky_iac.config.findings import Level
from slinky_iac.config.reading.stack_file import described_elsewhere, parse, project_of, settings_elsewhere, text_of
from slinky_iac.config.reading.values import Values, own_names, values_of
from slinky_iac.errors import ConfigError, StateError
from slinky_iac.keys.catalogue import ROTATION_SECRETS


def configured(
    stack: str | None, run: Runner = run_pulumi, *, with_keys: bool = False, taken_for_set: frozenset[str] = frozenset()
) -> Values:
    """The configuration of a stack; of the selected one where ``stack`` is None.

    ``taken_for_set``: secrets that needn't be set yet, for who only looks at the settings. ``with_keys``: decrypt, so that
    imported keys are there too; needs the stack's passphrase. Raises :class:`StateError` where pulumi can't be run or
    doesn't answer with a configuration, and :class:`slinky_iac.errors.ConfigError` with every fault of it.
    """
    own, secret = texts(stack, run, with_keys=with_keys)
    require_here(settings_elsewhere(own, Path()))
    return values_of(own, secret | taken_for_set, with_keys=with_keys)


def texts(stack: str | None, run: Runner = run_pulumi, *, with_keys: bool = False) -> tuple[dict[str, str], frozenset[str]]:
    """This project's texts by name, unchecked, and the names of those that are secret; a secret's text is empty unless
    ``with_keys``. Raises :class:`StateError`."""
    arguments = ["config", "--json", *(["--show-secrets"] if with_keys else [])]
    return answer(run, arguments, stack, own_texts, wanted="a stack's configuration")


def add_source(parser: argparse.ArgumentParser, stack_help: str = STACK) -> None:
    """`--stack` and, in its place, `--config FILE`: for commands that need the settings and no secret."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--stack", help=stack_help)
    source.add_argument("--config", metavar="FILE", help="a Pulumi.<stack>.yaml instead of a stack; needs no pulumi")


def given(
    arguments: argparse.Namespace,
    run: Runner = run_pulumi,
    *,
    with_keys: bool = False,
    taken_for_set: frozenset[str] = frozenset(),
) -> Values:
    """The configuration of what :func:`add_source` took."""
    if arguments.config:
        return configured_file(Path(arguments.config))
    return configured(arguments.stack, run, with_keys=with_keys, taken_for_set=taken_for_set)


def configured_file(file: Path) -> Values:
    """The configuration in a stack's file, without any key. Secrets that aren't set yet are taken for set.

    Raises :class:`StateError` where the file can't be read, and :class:`ConfigError` with every fault and its line.
    """
    read = parse(text_of(file), project_of(file))
    require_here(described_elsewhere(read, file.parent))
    config, places = judged(read)
    if config is None:
        errors = (place for place in places if place.finding.level is Level.ERROR)
        raise ConfigError(tuple(f"{file}:{place.line}: {place.finding}" for place in errors))
    rotating = read.secret & frozenset(ROTATION_SECRETS)
    return Values(config, tuple(place.finding for place in places), rotation_secrets=rotating)


def require_here(elsewhere: str) -> None:
    """Raises :class:`StateError` with what says that the settings are in the project's program."""
    if elsewhere:
        raise StateError(elsewhere)


def own_texts(entries: Mapping[str, Any]) -> tuple[dict[str, str], frozenset[str]]:
    """The same of entries as `pulumi config --json` prints them, and `pulumi stack history --json` for each update."""
    ours = own_names(entries.keys())  # a list has none, and isn't a configuration
    own = {name: str(entries[key].get("value") or "") for name, key in ours.items()}
    return own, frozenset(name for name, key in ours.items() if entries[key]["secret"])
