"""Scripts of a stack: what a script of Lua writes into a job, and what root does at the beginning and the end of one.

``harmless.json`` (``scripts``) has the fields that may be written. Rows of what no sound script does (what happens, pattern,
a pattern that makes it sound) are the settings' own, in ``made.json``. A review is still what judges a script.

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
    [re.compile(each.replace("<shared>", _SHELL["shared"]).replace("<system>", _SHELL["system"])) for each in row[1:]]
    for row in _SHELL["rows"]
]
_CHOSEN: Final = re.compile(_SHELL["chosen"])
_UNQUOTED: Final = re.compile(rf"(?<!=)\$\{{?(?:{_SHELL['chosen']})")
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
    """What a script that root runs does to the jobs and users of its node."""
    first, *rest = text.splitlines()
    said = "\n".join(line for line in rest if not line.lstrip().startswith("#"))
    if not re.search(r"sh\b", first) and _CHOSEN.search(said):
        yield "reads a text that users choose, in a language that isn't judged"
    for (harms, *sound), (what, *_) in zip(_ROWS, _SHELL["rows"], strict=True):
        if harms.search(said) and not any(each.search(said) for each in sound):
            yield what
    if match := _UNQUOTED.search(_QUOTED.sub('""', said)):
        yield f"has {match[0]} outside quotes: its user writes words of the command"


def lua_faults(text: str) -> Iterator[str]:
    """What a script runs, and fields of a job that it may not write; into tables of its own it writes what it likes."""
    said = _NAMED.sub(r".\1", _SPACED.sub("", re.sub(r"\s+", " ", _bare(text))))
    names = {f".{each}." for each in _NAMES.findall(said)}
    yield from (f"runs {each}" for each in MADE["conf"]["lua"] if any(f".{each}." in name for name in names))
    yield from (
        f"has {each}, which writes by no name" for each in _LISTS["luaRound"] if any(f".{each}." in name for name in names)
    )
    others = {each for match in _OTHER.finditer(said) for part in match.groups() for each in re.findall(r"\w+", part or "")}
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
