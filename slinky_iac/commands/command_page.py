"""docs/cli.md, made from the command line's own parser: every command with what it does and what its exit codes mean."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Final

HEAD: Final = """# The commands

`pulumi` brings clusters up and down. Beside it, from the project's folder and with the project's Python:

```sh
venv/bin/python -m slinky_iac --help
venv/bin/python -m slinky_iac status
```

This page is made by `venv/bin/python -m slinky_iac reference cli`.

"""
TAIL: Final = """
Any of them ends with 130 after Ctrl-C. `venv/bin/python -m slinky_iac keys rotate --help` and its kin list all options.

## JSON

`--json` prints one object with `"schema": 1`; the number changes when a field goes or changes its meaning. Messages go to
stderr, answers to stdout.

## Completion

```sh
source <(venv/bin/python -m slinky_iac completion bash)
eval "$(venv/bin/python -m slinky_iac completion zsh)"    # after: autoload -Uz compinit && compinit
venv/bin/python -m slinky_iac completion fish | source
```

Each defines a shell function `slinky-iac` for `python -m slinky_iac` and completes its commands, options, choices and files.
Put the line into your shell's start file; the function works wherever the project's folder is current.
"""
_CODE: Final = re.compile(r"(?:^|; ?)(\d+) ")


def page(parser: argparse.ArgumentParser) -> str:
    """The whole page, ending with a line break."""
    return HEAD + "\n".join(_tables(parser)) + "\n" + TAIL


def commands(parser: argparse.ArgumentParser) -> dict[str, tuple[str, argparse.ArgumentParser]]:
    """Help text and parser of every command by name, in the order of `--help`."""
    found: dict[str, tuple[str, argparse.ArgumentParser]] = {}
    for action in parser._actions:  # argparse has no public way to look at a parser
        if isinstance(action, argparse._SubParsersAction):
            texts = {choice.dest: choice.help or "" for choice in action._choices_actions}
            found |= {name: (texts.get(name, ""), below) for name, below in action.choices.items()}
    return found


def exit_codes(parser: argparse.ArgumentParser) -> dict[int, str]:
    """What an epilog says about exit codes, by code: ``exit codes: 0 done; 1 a fault; …``; empty where it says nothing."""
    _, _, text = (parser.epilog or "").replace("%%", "%").partition("exit codes:")
    parts = _CODE.split(text.strip())[1:]
    return {int(code): said.strip().rstrip(";") for code, said in zip(parts[::2], parts[1::2], strict=True)}


def _tables(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield "| Command | Does |"
    yield "|---|---|"
    for name, (text, below) in commands(parser).items():
        acts = ", ".join(f"`{act}`" for act in commands(below))
        yield f"| `{name}` | {_cell(text)}{f' ({acts})' if acts else ''} |"
    yield "\n## Exit codes\n"
    yield "| Command | Code | Means |"
    yield "|---|---|---|"
    for name, (_, below) in commands(parser).items():
        for code, said in exit_codes(below).items():
            yield f"| `{name}` | {code} | {_cell(said)} |"


def _cell(text: str) -> str:
    return text.replace("%%", "%").replace("|", "\\|")
