"""What prologs and epilogs, which root runs on each node, and commands of a daemon's pod must not do to jobs and users.

The rows are ``scripts.json``: pattern, what it finds, and a pattern that makes it sound. The policies judge by the same
rows (:mod:`.reach` writes them into ``made.json``). Source: slurm.conf(5), Prolog and Epilog Guide.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

TABLE: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("scripts.json").read_text(encoding="utf-8"))
"""``rows``, and the parts that these and the rules of quotes are made of."""
_CHOSEN: Final = re.compile(TABLE["chosen"])
_UNQUOTED: Final = re.compile(rf"(?<!=)\$\{{?(?:{TABLE['chosen']})")
_QUOTED: Final = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")


@cache
def _rows() -> list[tuple[str, re.Pattern[str], re.Pattern[str] | None]]:
    def pattern(text: str) -> re.Pattern[str]:
        return re.compile(text.replace("<shared>", TABLE["shared"]).replace("<system>", TABLE["system"]))

    return [(what, pattern(harm), pattern(sound[0]) if sound else None) for what, harm, *sound in TABLE["rows"]]


_HOOKS: Final = ("postStart", "preStop")
_BEFORE: Final = re.compile(r"-\S*|(?:/\S*/)?(?:(?:ba|da|z|k)?sh|env)")
"""Words before a shell's -c: the shell, env, options."""
_INLINE: Final = re.compile(r"-[a-z]*c")


def of_lifecycle(value: object) -> Iterator[tuple[str, str]]:
    """What the hooks of a container's lifecycle do, each fault with the name of its hook. Source: Kubernetes'
    LifecycleHandler, of which exec runs a command in the container."""
    for hook in _HOOKS:
        handler = value.get(hook) if isinstance(value, Mapping) else None
        exec_ = handler.get("exec") if isinstance(handler, Mapping) else None
        if isinstance(exec_, Mapping):
            yield from ((hook, what) for what in of_command(exec_.get("command")))


def of_command(command: object) -> Iterator[str]:
    """What is wrong with a command of a container: a list of words, of which a shell reads the one behind its -c."""
    words = [str(word) for word in command] if isinstance(command, list) else []
    inline = next((at for at, word in enumerate(words) if _INLINE.fullmatch(word)), 0)
    if inline and all(map(_BEFORE.fullmatch, words[:inline])):
        words = words[inline + 1 :]
    yield from of_script("#!/bin/sh\n" + " ".join(words))


def of_script(text: str) -> Iterator[str]:
    """What is wrong with a script that begins with ``#!``; each fault once, as what the script does."""
    interpreter, *lines = text.splitlines()
    body = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    if _CHOSEN.search(body) and not re.search(r"sh\b", interpreter):
        yield "is in a language that isn't judged, and root runs it"
    for what, harm, sound in _rows():
        if harm.search(body) and (sound is None or not sound.search(body)):
            yield what
    if match := _UNQUOTED.search(_QUOTED.sub('""', body)):
        yield f"has {match[0]} outside quotes: its user writes words of the command"
