"""`python -m slinky_iac diagram`: arguments, reading a configuration, writing a picture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from slinky_iac import safe_yaml, stack_config
from slinky_iac.config.load import load
from slinky_iac.config.rules import findings, require_sound
from slinky_iac.config.stack import FIRST_SECRETS, PROJECT, SECRET_KEYS, StackConfig
from slinky_iac.diagram.build import picture
from slinky_iac.diagram.mermaid import mermaid
from slinky_iac.diagram.svg import svg
from slinky_iac.errors import DiagramError

HELP = "draw the hybrid cluster: what is inside Kubernetes and what outside, ports, arrows, keys by name"
CODES = (
    "exit codes: 0 drawn; 1 the configuration can't be read or has faults, or the file can't be written; 2 wrong arguments."
    " No cluster is asked"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.epilog = CODES
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--stack", help="stack; by default the selected one")
    source.add_argument("--config", metavar="FILE", help="a Pulumi.<stack>.yaml, where there is no stack yet")
    parser.add_argument("--format", choices=("svg", "mermaid"), default="svg")
    parser.add_argument("--title", default="", help="by default the cluster's name")
    parser.add_argument("--out", metavar="FILE", help="write there instead of to stdout")


def run(arguments: argparse.Namespace) -> int:
    """Read and draw. Raises ConfigError, DiagramError and StateError; returns the exit code."""
    config = read_file(Path(arguments.config)) if arguments.config else _of_stack(arguments.stack)
    shown = picture(config, arguments.title)
    text = svg(shown) if arguments.format == "svg" else mermaid(shown)
    if arguments.out and arguments.out != "-":
        try:
            Path(arguments.out).write_text(text, encoding="utf-8")
        except OSError as error:
            raise DiagramError(f"--out {arguments.out}: can't be written ({error.strerror}); nothing was drawn") from None
    else:
        sys.stdout.write(text)
    return 0


def _of_stack(stack: str | None) -> StackConfig:
    return stack_config.configured(stack, taken_for_set=FIRST_SECRETS).config


def read_file(file: Path) -> StackConfig:
    """The configuration of a stack file. Secrets needn't be set for a picture. Raises :class:`ConfigError`, and
    :class:`DiagramError` where it is none."""
    try:
        whole: Any = safe_yaml.read(file.read_text(encoding="utf-8"))
        config = whole["config"]
        own = {str(key).partition(":")[2]: value for key, value in config.items() if str(key).startswith(f"{PROJECT}:")}
    except OSError as error:
        raise DiagramError(f"--config {file}: can't be read ({error.strerror}); name a Pulumi.<stack>.yaml") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DiagramError(
            f"--config {file}: is no stack file, which is YAML with a mapping `config:`; name a Pulumi.<stack>.yaml, or one"
            " of examples/"
        ) from None
    secret = {name for name, value in own.items() if name in SECRET_KEYS and _encrypted(value)}
    found = load({name: value for name, value in own.items() if name not in secret})
    require_sound(findings(found, frozenset(secret | FIRST_SECRETS)))
    return found


def _encrypted(value: object) -> bool:
    return isinstance(value, dict) and set(value) == {"secure"}
