"""Every value of a file of the chart's has a word: a setting, so in any case, named by a note, or left out.
What none of these names is left out here, so that nothing goes without a word. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from slinky_iac.config.chart.translation import NO_MAPPING, Path, Taken, is_empty, masked
from slinky_iac.config.chart.unread import SETS
from slinky_iac.config.paths import value_at
from slinky_iac.config.shown import SHORT, name_of, place
from slinky_iac.text import some

UNSAID: Final = "isn't carried over, and what it is here isn't known: look it up in `slinky docs configuration`"
"""What is said of a key that no rule names. No key of the chart should come to this."""
_NO_SWITCH: Final = "must be true or false, and these values have something else: write one of the two"
_NO_LIST: Final = "is a list of mappings in the chart, and isn't one here"
_LISTS: Final = ("volumes", "volumeMounts")
"""Keys whose values are read before, in :mod:`.volumes`."""
_NO_SECRET: Final = "is the `name` and the `key` of a Secret in the chart, and nothing else"
_MADE: Final = (
    "is of a Secret that the chart makes (`create`, true by default), and here the stack makes the key itself. If the Secret"
    " is yours, write `create: false` beside `secretRef`"
)
_SECRETS: Final = frozenset({("slurmKey", "secretRef"), ("jwtKey", "secretRef")})
_MOST: Final = 4
"""Keys that one note names."""


@dataclass
class Read:
    """A file of values, in settings."""

    taken: Taken
    notes: list[str] = field(default_factory=list)
    """What was switched off, or is implied."""
    same: list[str] = field(default_factory=list)
    """Keys that say what is so here in any case, or that only say whether others are read."""


def account(values: Mapping[str, Any], reading: Read) -> Read:
    """The same with a word for each value that has none yet."""
    left, same, unused = list(reading.taken.left), list(reading.taken.same), dict[str, list[str]]()
    named = _Names(_named(reading))
    for path, value in leaves(values):
        key, common = ".".join(path), _of_each_set(path)
        if named.says(path) or named.says(common, any_set=True):
            continue
        if "enabled" in path or (len(path) == 2 and path[-1] == "external"):
            same += [key] if isinstance(value, bool) else []
            left += [] if isinstance(value, bool) else [(key, _NO_SWITCH)]
        elif path[0] == "nameOverride":
            reading.notes.append("nameOverride: it is in `cluster.resourceName`, as the chart makes the name")
        elif path[:2] in _SECRETS:
            is_right = len(path) == 3 and path[-1] in ("name", "key") and isinstance(value, str)
            left.append((key, _MADE if is_right else _NO_SECRET))
        elif not {*path}.isdisjoint(_LISTS):
            left.append((key, _NO_LIST))
        elif path[0] in SETS.values() and len(path) > 1:
            unused.setdefault(path[0], []).append(key)
        elif path[0] in {*SETS, *SETS.values()} and len(path) < 3:
            left.append((key, NO_MAPPING))
        else:
            left.append((key, UNSAID))
    notes = [*reading.notes, *(_unused(kind, keys) for kind, keys in unused.items())]
    needless = [key for key in same if not (key.endswith(".external") and value_at(values, key.split(".")))]
    notes += [_needless(needless)] if needless else []  # an outside daemon has its line: its host
    veil = veiled(values)
    used = [(veil(key), veil(setting)) for key, setting in reading.taken.used]
    taken = replace(reading.taken, left=[(veil(key), veil(why)) for key, why in left], used=used)
    return Read(taken, [veil(note) for note in notes], [veil(key) for key in same])


def veiled(values: Mapping[str, Any]) -> Callable[[str], str]:
    """For a message about values: their keys and texts in it as messages show them, whatever rule made it."""
    given = {text for text in _texts(values) if len(text) > SHORT and masked(text, "image") != text}

    def veil(said: str) -> str:
        for text in sorted(given, key=len, reverse=True):
            said = said.replace(text, name_of(text))
        return said

    return veil


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value


def leaves(value: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Values that say something, by their places. A list is one value."""
    if is_empty(value):
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, (*path, str(key)))
    else:
        yield path, value


def _named(reading: Read) -> Iterator[str]:
    """Places that are named by now."""
    for key, _ in reading.taken.used:
        yield key
        kind, _, rest = key.partition(".")
        if rest.endswith(".volumes") and kind in SETS:  # a volume and its mount are one entry of it
            at = key.removesuffix(".volumes")
            yield from (f"{at}.podSpec.volumes", f"{at}.{'slurmd' if kind == 'nodesets' else 'login'}.volumeMounts")
    yield from (key.partition(" (")[0] for key, _ in reading.taken.left)
    yield from reading.taken.same
    for note in reading.notes:
        yield from note.partition(": ")[0].partition(" and ")[0].split(", ")


class _Names:
    """Places that have a word, asked by those above and below them."""

    def __init__(self, keys: Iterable[str]) -> None:
        self.keys: set[str] = set()
        self.above: set[str] = set()
        self.of_sets: set[str] = set()
        for key in keys:
            parts = tuple(key.split("."))
            self.keys.add(key)
            self.above |= {".".join(parts[:end]) for end in range(1, len(parts))}
            if parts[0] in SETS:
                self.of_sets.add(".".join((parts[0], "*", *parts[2:])))

    def says(self, path: Path, *, any_set: bool = False) -> bool:
        """Whether the place, one above it or one below it is named; ``any_set``: of one set of its kind."""
        keys = self.of_sets if any_set else self.keys
        below = {key for key in (".".join(path),) if key in self.above}
        return bool(below) or any(".".join(path[:end]) in keys for end in range(1, len(path) + 1))


def _of_each_set(path: Path) -> Path:
    """A key for all sets of a kind as that of any one."""
    kind = next((sets for sets, common in SETS.items() if common == path[0]), "")
    return (kind, "*", *path[1:]) if kind else path


def _unused(kind: str, keys: list[str]) -> str:
    sets = "NodeSet" if kind == "nodesetDefaults" else "login set"
    below = ", ".join(place(key.removeprefix(f"{kind}.")) for key in keys)
    return f"{kind}: no {sets} of these values takes {below} from it, so {_it(keys)} carried over"


def _it(keys: list[str]) -> str:
    return "it isn't" if len(keys) == 1 else "they aren't"


def _needless(keys: list[str]) -> str:
    one = len(keys) == 1
    said = "needs no line in this file: what it says is so" if one else "need no line in this file: what they say is so"
    return f"{_list(keys)}: {said} without one"


def _list(keys: list[str]) -> str:
    return some(map(place, keys), _MOST)
