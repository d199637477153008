"""A stack's file with what `check` can put right: words of the chart at the settings that they are, misspelt and unquoted
ones. Sections that need nothing stay as they are, comments included. Pure; what only a person can say stays too."""

from __future__ import annotations

import copy
import difflib
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

from slinky_iac.config.chart.translation import as_yaml, masked
from slinky_iac.config.findings import Finding
from slinky_iac.config.reading.stack_file import Place, parse
from slinky_iac.config.shown import hidden, name_of
from slinky_iac.config.stack import PROJECT

ROUNDS: Final = 5
"""A setting at its place can show what else is wrong with it."""
_SCALAR: Final = re.compile(r"^([ +-]\s*(?:- )?)(?:([^\s#].*?)(:\s+))?(\S.*)$")
_WORD: Final = re.compile(r"[a-z0-9]+")
Judge = Callable[[str, str], Sequence[Place]]


@dataclass(frozen=True)
class LeftOut:
    """A value that the mended text doesn't have."""

    path: str
    """Where it was."""
    value: object
    """What it was; :func:`shown_value` is what may be shown of it."""


@dataclass(frozen=True)
class Mended:
    """A file's text with all that can be put right, and what that leaves out."""

    text: str
    left: tuple[LeftOut, ...] = ()


def mended(text: str, project: str, judge: Judge) -> Mended:
    """The text of a file with all that can be put right; the same text where nothing can."""
    left: list[LeftOut] = []
    for _ in range(ROUNDS):
        file = parse(text, project)
        new, gone_values = applied(file.sections, (place.finding for place in judge(text, project)))
        changed = {name: value for name, value in new.items() if value != file.sections.get(name)}
        gone = [name for name in file.sections if name not in new]
        if not changed and not gone:
            break
        renamed = {old: name for old in gone for name in changed if _is_renamed(file.sections, old, name, changed[name])}
        for name in renamed.values():
            changed.pop(name)
        written = _written(_renamed(text, renamed), changed, [name for name in gone if name not in renamed])
        if written == text:
            break
        left += gone_values
        text = written
    return Mended(text, tuple(left))


def sections(now: Mapping[str, object], findings: Iterable[Finding]) -> dict[str, Any]:
    """Sections with what takes the place of what was found. Where a setting has another value already, both stay."""
    return applied(now, findings)[0]


def applied(now: Mapping[str, object], findings: Iterable[Finding]) -> tuple[dict[str, Any], list[LeftOut]]:
    """The same, and the values that what takes their place doesn't carry."""
    settings: dict[str, Any] = copy.deepcopy(dict(now))
    put: set[str] = set()
    left: list[LeftOut] = []
    for finding in findings:
        parts = finding.path.split(".")
        if finding.instead is None or (before := _at(settings, parts)) is _ABSENT:
            continue
        trial = copy.deepcopy(settings)
        _taken(trial, parts)
        if _is_other(trial, finding.instead):
            continue
        settings = _ordered(settings, _with(trial, finding.instead))
        put |= finding.instead.keys()
        carried = _words(finding.instead)
        left += [
            LeftOut(path, value)
            for path, value in leaves(before, finding.path)
            if value is not None and (not carried or not _words(value) <= carried)
        ]
    kept = {
        name: value for name, value in settings.items() if value not in ({}, None) or name in put or value == now.get(name)
    }
    return kept, left


_ABSENT: Final = object()


def _at(tree: object, parts: Sequence[str]) -> object:
    """What is at a path; :data:`_ABSENT` where nothing is."""
    while parts:
        key, parts = _key(tree, parts)
        if key is None or not isinstance(tree, dict):
            return _ABSENT
        tree = tree[key]
    return tree


def _is_free(there: object, more: object) -> bool:
    """Whether a setting may be put where ``there`` is: nothing, or a switch in the place of what it switches on."""
    return there is None or (there is True and isinstance(more, Mapping))


def _is_other(there: Mapping[str, Any], more: Mapping[str, Any]) -> bool:
    """Whether a setting of ``more`` is there with another value, which a person has to decide."""
    for name, value in more.items():
        have = there.get(name)
        if _is_free(have, value):
            continue
        if isinstance(have, Mapping) and isinstance(value, Mapping):
            if _is_other(have, value):
                return True
        elif have != value and (isinstance(have, Mapping | list) or str(have) != str(value)):
            return True
    return False


def leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    """Values that aren't mappings or lists, each with its path."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from leaves(inner, f"{path}.{number}")
    else:
        yield path, value


def _words(value: object) -> set[str]:
    """Words and numbers of a value, keys of mappings among them."""
    if isinstance(value, Mapping):
        return {word for pair in value.items() for part in pair for word in _words(part)}
    if isinstance(value, list | tuple):
        return {word for child in value for word in _words(child)}
    text = {"yes": "true", "no": "false"}.get(str(value).lower(), str(value).lower())
    return set(_WORD.findall(text))


def shown_value(left: LeftOut) -> str:
    """A value that was left out, without what may not be shown."""
    key = left.path.rpartition(".")[2]
    value = str(left.value).lower() if isinstance(left.value, bool) else str(masked(left.value, key))
    return value or "empty"


def _with(there: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """What is there, in its order, and behind it what it doesn't have."""
    mapping = {**there, **{name: value for name, value in more.items() if _is_free(there.get(name), value)}}
    both = (name for name in more if isinstance(there.get(name), Mapping) and isinstance(more[name], Mapping))
    return mapping | {name: _with(there[name], more[name]) for name in both}


def _ordered(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What is there after a change, in the order from before: what takes the place of another setting is where that was."""
    new = [key for key in after if key not in before]
    mapping: dict[str, Any] = {}
    for key, value in before.items():
        if key in after:
            both = isinstance(value, Mapping) and isinstance(after[key], Mapping)
            mapping[key] = _ordered(value, after[key]) if both else after[key]
        else:
            mapping |= {name: after[name] for name in new}
    return mapping | {name: after[name] for name in new if name not in mapping}


def difference(old: str, new: str, names: tuple[str, str]) -> Iterator[str]:
    """Lines that differ, as diff writes them; a value that may be a secret isn't shown."""
    for line in difflib.unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="", n=1):
        yield line if line.startswith(("---", "+++", "@@")) else _harmless(line)


def _harmless(line: str) -> str:
    match = _SCALAR.match(line)
    if match is None:
        return line
    head, key, colon, value = match[1], match[2] or "", match[3] or "", match[4]
    plain = value.strip("\"' ")
    return f"{head}{key}{colon}…" if (key and hidden(key)) or name_of(plain) != plain else line


def _taken(tree: Any, parts: Sequence[str]) -> bool:  # noqa: ANN401 - a place in plain data
    """Take away what is at a path, in whatever is empty then too; False where it isn't there."""
    key, rest = _key(tree, parts)
    if key is None:
        return False
    if not rest:
        tree.pop(key)
        return True
    inner = tree[key]
    if not _taken(inner, rest):
        return False
    if inner == {}:
        tree.pop(key)
    return True


def _key(tree: object, parts: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """The key of a mapping that a path begins with, and the rest of the path: a key may have dots, as nvidia.com/gpu."""
    for count in range(1, len(parts) + 1):
        if isinstance(tree, dict) and (key := ".".join(parts[:count])) in tree:
            return key, parts[count:]
    return None, parts


def _is_renamed(now: Mapping[str, object], old: str, new: str, value: object) -> bool:
    """Whether a section is another one's, as it was, under a new name."""
    return new not in now and now[old] == value


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """The text with sections under other names; nothing else of them changes, comments included."""
    for old, new in names.items():
        text = re.sub(rf"(?m)^(\s*[\"']?{PROJECT}:){re.escape(old)}(?=[\"']?:)", rf"\g<1>{new}", text, count=1)
    return text


def _written(text: str, changed: Mapping[str, Any], gone: Sequence[str]) -> str:
    """The text with these sections written again in their places, and new ones at the end of ``config:``."""
    root = yaml.compose(text, yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    body = next(value for key, value in root.value if key.value == "config")
    lines = text.splitlines()
    places = {str(key.value).rpartition(":")[2]: (key, value) for key, value in body.value}
    if body.flow_style:
        return text  # in braces no section has lines of its own
    indent = " " * body.start_mark.column
    starts = sorted(key.start_mark.line for key, _ in body.value)
    edits: list[tuple[int, int, list[str]]] = []
    for name in {**dict.fromkeys(changed), **dict.fromkeys(gone)}:
        new = [] if name in gone else textwrap.indent(as_yaml({name: changed[name]}), indent).splitlines()
        if name in places:
            begin = places[name][0].start_mark.line
            edits.append((begin, _end(lines, begin, starts, places[name][1]), new))
        else:
            last = max(places.values(), key=lambda pair: pair[0].start_mark.line)
            at = _end(lines, last[0].start_mark.line, starts, last[1])
            edits.append((at, at, new))
    for begin, end, new in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        lines[begin:end] = new
    return "\n".join(lines) + "\n"


def _end(lines: Sequence[str], begin: int, starts: Sequence[int], value: yaml.Node) -> int:
    """The line after a section's last one; comments before the next section are that one's."""
    end = next((start for start in starts if start > begin), None)
    if end is None:
        mark = value.end_mark
        end = mark.line + (1 if mark.column else 0)
    while end > begin + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return max(end, begin + 1)
