"""The first line of a script: the program that Linux runs it with, and why it runs none. One reader for all scripts. Pure.

Source: execve(2); env(1).
"""

from __future__ import annotations

import re
from typing import Final

from slinky_iac.config.shown import name_of

_BEGINNING: Final = re.compile(r"#![^\r\n]*(\n|\Z)")
_ONE_ARGUMENT: Final = re.compile(r"(?:.*/)?(?:env|(?:ba|da|z|k)?sh|python[0-9.]*)")
"""Programs that end over two options in one argument, as Linux gives them what is behind ``#!`` (run)."""
_SPLITS: Final = re.compile(r"-[iv]*S|--split-string\b")
"""What has env part that argument."""
_PLAIN_OPTION: Final = re.compile(r"-[0iv]*S?|--split-string|--ignore-environment|--debug|[A-Za-z_]\w*=\S*")
"""Words before the program of env that say nothing of the next."""


def is_script(text: str) -> bool:
    """Whether a file is run by the program of its first line."""
    return text.startswith("#!")


def fault(text: str) -> str:
    """Why Linux can't run a text as a script; empty where it can."""
    if not _BEGINNING.match(text):
        what = "has a carriage return behind" if is_script(text) else "doesn't begin with"
        return f"{what} #! (begin with #!/bin/sh and a line feed)"
    program, argument = _parts(text)
    if not program.startswith("/"):
        named = f"{name_of(program)} behind #!, which isn't the path of a program" if program else "nothing behind #!"
        return f"has {named} (write #!/bin/bash, say)"
    env = _is_env(program)
    if " " not in argument or not _ONE_ARGUMENT.fullmatch(program) or (env and _SPLITS.match(argument)):
        return ""
    way = f"#!{program} -S {argument}" if env else f"#!{program}, and the options in a line of their own"
    return f"has two words behind {program} in its first line, which Linux passes as one argument; write {way}"


def interpreter(text: str) -> str:
    """The program that runs a script: its path, or of env the name that it looks for in PATH; empty where it isn't known."""
    if fault(text):
        return ""
    program, argument = _parts(text)
    if not _is_env(program):
        return program
    words = re.sub(r"^(-[iv]*S|--split-string=)(?=[^\s=])", "", argument).split()
    while words and _PLAIN_OPTION.fullmatch(words[0]):
        words.pop(0)
    return words[0] if words and not words[0].startswith("-") else ""


def _parts(text: str) -> tuple[str, str]:
    """The program and its one argument."""
    line = text.partition("\n")[0].removeprefix("#!").strip().replace("\t", " ")
    program, _, argument = line.partition(" ")
    return program, argument.strip()


def _is_env(program: str) -> bool:
    return program.rpartition("/")[2] == "env"
