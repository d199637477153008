"""What prologs and epilogs, which root runs on each node, and commands of a daemon's pod must not do to jobs and users.

The rows are ``script_table.json``: pattern, what it finds, and a pattern that makes it sound. The policies judge by the same
rows (:mod:`.slurm_reach` writes them into ``made.json``). Source: slurm.conf(5), Prolog and Epilog Guide.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

TABLE: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("script_table.json").read_text(encoding="utf-8"))
"""``rows``, and the parts that these and the rules of quotes are made of."""
_UNQUOTED: Final = re.compile(rf"(?<!=)\$\{{?(?:{TABLE['chosen']})")
_QUOTED: Final = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")


@cache
def _rows() -> list[tuple[str, re.Pattern[str], re.Pattern[str] | None]]:
    def pattern(text: str) -> re.Pattern[str]:
        return re.compile(text.replace("<shared>", TABLE["shared"]).replace("<system>", TABLE["system"]))

    return [(what, pattern(harm), pattern(sound[0]) if sound else None) for what, harm, *sound in TABLE["rows"]]


_COMMANDS: Final[dict[str, Any]] = TABLE["commands"]
_BARE, _WORDS = ([(re.compile(each), by) for each, by in _COMMANDS[part]] for part in ("bare", "words"))
_INNER, _STRINGS, _WITHIN, _FUNCTION, _PREFIX = (
    re.compile(_COMMANDS[part]) for part in ("inner", "quoted", "within", "function", "before")
)
_FREE: Final = frozenset(" ".join(_COMMANDS["free"]).split())
_FORMS: Final = {name: form for names, form in _COMMANDS["forms"].items() for name in names.split("|")}
_ENDS: Final = re.compile(r"[;\n|&(){}]+")
_OF_SYSTEM: Final = re.compile(r"^(?:/usr)?/s?bin/")
_OF_IMAGE: Final = re.compile(r"/(?:etc/slurm|usr|opt)/(?!.*\.\.)\S+")
_DEPTH, _LONGEST = 8, 1000
"""Of commands in commands, and letters of a command's arguments."""
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
    words = [str(each) for each in command] if isinstance(command, list) else []
    inline = next((at for at, word in enumerate(words) if _INLINE.fullmatch(word)), 0)
    if inline and all(map(_BEFORE.fullmatch, words[:inline])):
        words = words[inline + 1 :]
    yield from _by_rows(_body(" ".join(words).splitlines()))


def of_script(text: str) -> Iterator[str]:
    """What is wrong with a script that begins with ``#!``; each fault once, as what the script does: by the rows, and beyond
    them each command that isn't on the list of those that do no harm to jobs and users."""
    interpreter, *lines = text.splitlines()
    body = _body(lines)
    if not re.search(r"sh\b", interpreter):
        yield "is in a language that isn't judged, and root runs it"
        return
    yield from _by_rows(body)
    yield from _by_list(body)


def _body(lines: list[str]) -> str:
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


def _by_list(body: str) -> Iterator[str]:
    """What the list of commands lacks."""
    plain = _plain(body)
    own = {name for match in _FUNCTION.finditer(plain) for name in match.groups() if name}
    split = (part.strip() for part in _ENDS.split(_FUNCTION.sub(";", plain)))
    parts = (" ".join(part[match.end() :].split()) for part in split if (match := _PREFIX.match(part)))
    yield from sorted({fault for part in parts if part and (fault := _of_word(*part.partition(" ")[::2], own))})


def _of_word(word: str, rest: str, own: set[str]) -> str:
    """What is wrong with one command. A program of the image by its path is the image's."""
    name = _OF_SYSTEM.sub("", word)
    if name in _FREE or name in own or (name == word and _OF_IMAGE.fullmatch(word)):
        return ""
    if name not in _FORMS:
        return f"runs {name[:40]}, which is not on the list of programs that do no harm to jobs and users"
    harmless = len(rest) <= _LONGEST and re.fullmatch(_FORMS[name], rest)
    return "" if harmless else f"runs {name} in a way that may reach jobs or files of others"


def _plain(said: str) -> str:
    """A script's commands without quotation marks, redirections and patterns, those inside others on lines of their own."""
    for pattern, by in _BARE:
        said = pattern.sub(by, said)
    for _ in range(_DEPTH):
        found = [next(filter(None, match.groups()), "") for match in _INNER.finditer(said)]
        said = "\n".join((_INNER.sub("_", said), *found))
        if not found:
            break
    said = _STRINGS.sub(lambda match: _WITHIN.sub("_", match[0][1:-1]) or "_", said)
    for pattern, by in _WORDS:
        said = pattern.sub(by, said)
    return said


def _by_rows(body: str) -> Iterator[str]:
    for what, harm, sound in _rows():
        if harm.search(body) and (sound is None or not sound.search(body)):
            yield what
    if match := _UNQUOTED.search(_QUOTED.sub('""', body)):
        yield f"has {match[0]} outside quotes: its user writes words of the command"
