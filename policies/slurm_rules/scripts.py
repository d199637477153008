"""Scripts of a stack: what a script of Lua writes into a job, and what root does at the beginning and the end of one.

``harmless.json`` (``scripts``) has the fields that may be written, and a row for each thing that harms: pattern, what
happens, and a pattern that makes it sound. A review is still what judges a script; these rows are what no sound one has.

Source: Slurm src/plugins/job_submit/lua/job_submit_lua.c (_set_job_req_field), sbatch(1); slurm.schedmd.com/prolog_epilog.html;
Lua 5.4 Reference Manual, 3.1 (lexical conventions).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_letters, digits
from typing import Any, Final

from slurm_rules.made import HARMLESS

_LISTS: Final[dict[str, Any]] = HARMLESS["scripts"]
_FIELDS: Final = frozenset(_LISTS["luaFields"])
_ROUND: Final = frozenset(_LISTS["luaRound"])
_ROWS: Final = [[re.compile(row[0].replace("<shared>", _LISTS["shared"])), *map(re.compile, row[2:])] for row in _LISTS["rows"]]
_UNQUOTED: Final = re.compile(rf"(?<!=)\$\{{?(?:{_LISTS['chosen']})")
_CHOSEN: Final = re.compile(_LISTS["chosen"])
_QUOTED: Final = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_WORD: Final = f"{ascii_letters}{digits}_"
_OPENS: Final = re.compile(r"--(?:\[=*\[)?|\[=*\[|[\"']")
_DOUBLE: Final = re.compile(r"(?s)[^\\\n\"]*+(?:\\.[^\\\n\"]*+)*+\"")
_SINGLE: Final = re.compile(r"(?s)[^\\\n']*+(?:\\.[^\\\n']*+)*+'")
_SPACED: Final = re.compile(r"(?<=[.\[=,{(]) | (?=[.\[\]=,{}()])")
_WRITES: Final = re.compile(r"(?:\.(\w{1,60})|(?:\[\"([\w-]{1,60})\")?\])(?:,[\w.\[\]\"]{1,80}){0,4}=(?!=)")
_TABLE: Final = re.compile(r"(?<![\w.:,])(\w{1,60})=\{")
_OTHER: Final = re.compile(
    r"(?<![\w.:])(\w{1,60}(?:,\w{1,60}){0,9})=(?![={])|function[^()]{0,80}\(([^()]{0,400})\)|\bfor (\w[\w, ]{0,200}) in\b"
)


def shell_faults(text: str) -> Iterator[str]:
    """What a script that root runs does to the jobs and users of its node."""
    first, *rest = text.splitlines()
    said = "\n".join(line for line in rest if not line.lstrip().startswith("#"))
    if not re.search(r"\bsh\b|[a-z]sh\b", first) and _CHOSEN.search(said):
        yield "reads a text that users choose, in a language that isn't judged"
    for (harms, *sound), row in zip(_ROWS, _LISTS["rows"], strict=True):
        if harms.search(said) and not any(each.search(said) for each in sound):
            yield row[1]
    if match := _UNQUOTED.search(_QUOTED.sub('""', said)):
        yield f"has {match[0]} outside quotes: its user writes words of the command"


def lua_faults(text: str) -> Iterator[str]:
    """Fields of a job that a script writes beside those that it may; into tables of its own it writes what it likes."""
    said = _SPACED.sub("", re.sub(r"\s+", " ", _bare(text)))
    names = set(re.findall(r"\w+", said)) & _ROUND
    yield from (f"has {each}, by which a field is written without its name" for each in sorted(names))
    others = {name for match in _OTHER.finditer(said) for name in re.findall(r"\w+", match[1] or match[2] or match[3] or "")}
    own = set(_TABLE.findall(said)) - others
    for match in _WRITES.finditer(said):
        before, key = said[max(0, match.start() - 200) : match.start()], match[1] or match[2]
        before = before if key else _opened(before)
        base = before[len(before.rstrip(_WORD)) :]
        plain = bool(base) and before.removesuffix(base)[-1:] not in (".", ":", "]", ")", '"')
        if (not before.endswith(("{", ",")) or match[1]) and not (plain and (base in own or key in _FIELDS)):
            yield f"writes {f'{base}.{key}' if key else f'a field of {base} whose name it computes'}; a job's {_MAY}"


def _opened(text: str) -> str:
    """What stands before the bracket in which a text ends."""
    depth = 1
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] == "]") - (text[place] == "[")
        if not depth:
            return text[:place]
    return ""


_MAY: Final = "account, partition, QOS, limits and what it asks for may be written"


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
