"""Scripts of a stack: what a script of Lua writes into a job, and what root does at the beginning and the end of one.

``harmless.json`` (``scripts``) has the fields that may be written, and the commands of a shell that do no harm: another one
needs an entry of the site. Rows of what no sound script does (what happens, pattern, a pattern that makes it sound) are the
settings' own, in ``made.json``; settings ask for no list, since who writes a stack writes its scripts too. A review is still
what judges a script.

Source: Slurm src/plugins/job_submit/lua/job_submit_lua.c (_set_job_req_field), sbatch(1), Prolog and Epilog Guide;
Lua 5.4 Reference Manual, 3.1 (lexical conventions).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_letters, digits
from typing import Any, Final

from slurm_rules.made import HARMLESS, MADE

_LISTS: Final[dict[str, Any]] = HARMLESS["scripts"]
_SHELL: Final[dict[str, Any]] = MADE["conf"]["scripts"]
_ROWS: Final = [
    [re.compile(pattern.replace("<shared>", _SHELL["shared"]).replace("<system>", _SHELL["system"])) for pattern in row[1:]]
    for row in _SHELL["rows"]
]
_UNQUOTED: Final = re.compile(rf"(?<!=)\$\{{?(?:{_SHELL['chosen']})")
_COMMANDS: Final[dict[str, Any]] = _LISTS["commands"]
_BARE, _WORDS = ([(re.compile(pattern), by) for pattern, by in _COMMANDS[part]] for part in ("bare", "words"))
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
_QUOTED: Final = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_WORD: Final = f"{ascii_letters}{digits}_"
_OPENS: Final = re.compile(r"--(?:\[=*\[)?|\[=*\[|[\"']")
_DOUBLE: Final = re.compile(r"(?s)[^\\\n\"]*+(?:\\.[^\\\n\"]*+)*+\"")
_SINGLE: Final = re.compile(r"(?s)[^\\\n']*+(?:\\.[^\\\n']*+)*+'")
_SPACED: Final = re.compile(r"(?<=[.\[=,{(]) | (?=[.\[\]=,{}()])")
_NAMED: Final = re.compile(r"\[\"([\w-]{1,60})\"\]")
_NAMES: Final = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_ASKS: Final = re.compile(r"\bif\b(?=([^=]{0,200}))")
_FIELD: Final = re.compile(r"\.(\w+)")
_WRITES: Final = re.compile(r"(?:\.([\w-]{1,60})|\[[^\[\]]{0,120}\]|\])(?:,[\w.\[\]\"]{1,80}){0,4}=(?!=)")
_TABLE: Final = re.compile(r"(?<![\w.:,])(\w{1,60})=\{")
_OTHER: Final = re.compile(
    r"(?<![\w.:])(\w{1,60}(?:,\w{1,60}){0,9})=(?![={])|function[^()]{0,80}\(([^()]{0,400})\)|\bfor (\w[\w, ]{0,200}) in\b"
)


def script_faults(name: str, text: str) -> Iterator[str]:
    """What is wrong with a script, of Lua by its name, else one that root runs on a node."""
    yield from lua_faults(text) if name.endswith(".lua") else shell_faults(text)


def shell_faults(text: str) -> Iterator[str]:
    """What a script that root runs does to the jobs and users of its node: by the rows, and commands that aren't listed."""
    first, *rest = text.splitlines()
    said = "\n".join(line for line in rest if not line.lstrip().startswith("#"))
    if not re.search(r"sh\b", first):
        yield "is in a language that isn't judged, and root runs it"
        return
    yield from row_faults(said)
    if match := _UNQUOTED.search(_QUOTED.sub('""', said)):
        yield f"has {match[0]} outside quotes: its user writes words of the command"
    plain = _plain(said)
    own = {name for match in _FUNCTION.finditer(plain) for name in match.groups() if name}
    split = (part.strip() for part in _ENDS.split(_FUNCTION.sub(";", plain)))
    parts = (" ".join(part[match.end() :].split()) for part in split if (match := _PREFIX.match(part)))
    yield from sorted({fault for part in parts if part and (fault := _of_command(*part.partition(" ")[::2], own))})


def row_faults(said: str) -> Iterator[str]:
    """What a text does of which a row says that no sound script does it."""
    for (harms, *sound), (what, *_) in zip(_ROWS, _SHELL["rows"], strict=True):
        if harms.search(said) and not any(pattern.search(said) for pattern in sound):
            yield what


def _of_command(word: str, rest: str, own: set[str]) -> str:
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
        inner = [next(filter(None, match.groups()), "") for match in _INNER.finditer(said)]
        said = "\n".join((_INNER.sub("_", said), *inner))
        if not inner:
            break
    said = _STRINGS.sub(lambda match: _WITHIN.sub("_", match[0][1:-1]) or "_", said)
    for pattern, by in _WORDS:
        said = pattern.sub(by, said)
    return said


def lua_faults(text: str) -> Iterator[str]:
    """What a script runs, and fields of a job that it may not write; into tables of its own it writes what it likes."""
    said = _NAMED.sub(r".\1", _SPACED.sub("", re.sub(r"\s+", " ", _bare(text))))
    names = {f".{word}." for word in _NAMES.findall(said)}
    yield from (f"runs {call}" for call in MADE["conf"]["lua"] if any(f".{call}." in name for name in names))
    yield from (
        f"has {call}, which writes by no name" for call in _LISTS["luaRound"] if any(f".{call}." in name for name in names)
    )
    others = {word for match in _OTHER.finditer(said) for part in match.groups() for word in re.findall(r"\w+", part or "")}
    own = set(_TABLE.findall(said)) - others
    asked: dict[str, int] = {}
    for question in _ASKS.finditer(said):
        for field in _FIELD.finditer(question[1]):
            asked.setdefault(field[1], question.start(1) + field.end())
    for match in _WRITES.finditer(said):
        before, key = said[max(0, match.start() - 200) : match.start()], match[1]
        base = before[len(before.rstrip(_WORD)) :] if match[0][0] != "]" else ""
        plain = bool(base) and before.removesuffix(base)[-1:] not in (".", ":", "]", ")", '"')
        if not before.endswith(("{", ",")) and not (plain and (base in own or key in _LISTS["luaFields"])):
            yield f"writes {f'{base}.{key}' if key else 'a field whose name it computes'}, which is the user's to say"
        elif base not in own and key in _LISTS["luaLimits"] and asked.get(key, len(said)) > match.start():
            yield f"writes {base}.{key} of every job, whatever its user said; ask first whether it is set"


def _bare(text: str) -> str:
    """A script of Lua without comments, and of its texts only those that are a name."""
    kept, here = [], 0
    while opened := _OPENS.search(text, here):
        kept.append(text[here : opened.start()])
        mark, begun = opened[0], opened.end()
        if mark == "--":
            here = text.find("\n", begun)
        elif mark in ("'", '"'):
            closed = _DOUBLE.match(text, begun) if mark == '"' else _SINGLE.match(text, begun)
            here = closed.end() if closed else -1
        else:
            end = mark.lstrip("-").replace("[", "]")
            here = text.find(end, begun)
            here += len(end) if here >= 0 else 0
        if here < 0:  # what is never closed is no script of Lua
            return "".join(kept)
        name = text[begun : here - 1]
        kept.append(" " if mark.startswith("--") else f'"{name}"' if re.fullmatch(r"[\w-]{1,60}", name) else '"?"')
    return "".join((*kept, text[here:]))
