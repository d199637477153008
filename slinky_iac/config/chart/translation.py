"""From values of Slinky's Helm chart to settings: of a whole file (`slinky import-chart`), or of one word that somebody has
typed into a stack's file (`slinky check`). Pure; both by the table of :mod:`.table`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import yaml

from slinky_iac.config.chart.table import ANY, ROWS, Row
from slinky_iac.config.chart.values import NAME, SAME, VALUE, Left, Several, named
from slinky_iac.config.paths import value_at
from slinky_iac.config.shown import hidden, may_be_secret, name_of
from slinky_iac.config.stack import PROJECT

Path = tuple[str, ...]
_IMAGE: Final = re.compile(r"[a-z0-9.-]+(?::[0-9]{1,5})?(?:/[a-z0-9._-]+)+(?::[A-Za-z0-9._-]+)?(?:@sha256:[0-9a-f]{64})?")
UNKNOWN: Final = "isn't a key of Slinky's chart 1.0 to 1.3, so it has no effect with Helm"
NO_MAPPING: Final = "is a mapping in the chart, and isn't one here"
_THERE: Final = "with cluster.createNamespace false, since the Secret's namespace is there already"
MASK: Final = "…"
"""In the place of a value that a message doesn't show."""
MARKS: Final = frozenset(
    {
        "nodesetDefaults",
        "loginsetDefaults",
        "loginsets",
        "nodesets",
        "controller",
        "accounting",
        "restapi",
        "slurmKey",
        "jwtKey",
    }
    | {"slurmKeyRef", "jwtHs256KeyRef", "clusterName", "partitions", "configFiles", "imagePullPolicy", "vendor"}
)
"""Keys on top of a file of the chart's values."""


@dataclass
class Taken:
    """What became of values."""

    settings: dict[str, Any] = field(default_factory=dict)
    """Sections by name."""
    left: list[tuple[str, str]] = field(default_factory=list)
    """What has no setting, by its path, and why."""
    used: list[tuple[str, str]] = field(default_factory=list)
    """What has one: its path, and the setting's."""
    notes: list[str] = field(default_factory=list)
    """What has another value here than in the chart."""
    same: list[str] = field(default_factory=list)
    """Places that say what is so here in any case."""


@dataclass(frozen=True)
class Advice:
    """What stands for a word here."""

    words: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The settings that it is, with what was typed."""
    is_whole: bool = False
    """Whether that is all of what was typed, so that it can take its place: also nothing, where the line has to go."""

    @property
    def instead(self) -> Mapping[str, Any] | None:
        """What takes the place of what was typed; None where only a person can say."""
        return self.settings if self.settings or self.is_whole else None

    @property
    def paste(self) -> str:
        """They as YAML, to paste below ``config:``; without what may not be shown."""
        return as_yaml(masked(self.settings)) if self.settings else ""


def looks_like_values(data: object) -> bool:
    """Whether a file is the chart's values and not a stack's."""
    return isinstance(data, Mapping) and "config" not in data and len(MARKS & data.keys()) >= 3


def translate(values: Mapping[str, Any]) -> Taken:
    """All of a file's values."""
    translation = Taken()
    for key, value in values.items():
        _walk(value, (str(key),), translation)
    return translation


def advice(path: str, typed: object = None) -> Advice | None:
    """What stands here for ``path`` with the value ``typed``, which isn't a setting; None for a word that no chart has."""
    parts = tuple(path.split("."))
    row = row_of(parts)
    translation = Taken()
    if row is not None and is_empty(typed):
        return Advice(words_of(row, parts))
    if row is None and not any(True for _ in rows_below(parts)):
        return None
    _walk(typed, parts, translation)
    if typed is not None and value_at(translation.settings, parts) == typed:
        return None  # it is this setting: its own type says what is wrong with the value
    level = row is None or (row.at.endswith(ANY) and bool(translation.settings))
    words = _level(parts, translation) if row is None or level else words_of(row, parts)
    notes = [note.removeprefix(f"{path}: ") for note in translation.notes]
    reasons = dict.fromkeys(why for why in (*(why for _, why in translation.left), *notes) if why not in words)
    if value_at(translation.settings, ("cluster", "createNamespace")) is False:
        reasons[_THERE] = None
    for sets in ("nodesets", "logins"):
        translation.settings.get(sets, {}).pop("*", None)
    return Advice("; ".join([words, *reasons]), translation.settings, is_whole=not translation.left)


def switched(path: str, *, on: bool) -> Advice | None:
    """What a switch of the chart means where this program has a mapping; None where no chart has one."""
    if path not in {"controller.external", "accounting.external"}:
        return None
    if on:
        return Advice(f"`external` holds the outside host itself: {path}.host and .port")
    return Advice("a daemon in Kubernetes has no `external`; remove the line", is_whole=True)


def as_yaml(settings: Mapping[str, Any]) -> str:
    """Sections as a stack's file has them, to stand below ``config:``."""
    prefixed = {f"{PROJECT}:{name}": value for name, value in settings.items()}
    return yaml.dump(prefixed, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=110)


def in_one_line(value: object) -> str:
    """A value in braces and brackets; a text of several lines has escapes."""
    text = yaml.dump(value, Dumper=_Line, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10_000)
    return text.strip().removesuffix("\n...")


def masked(value: Any, key: str = "") -> Any:  # noqa: ANN401
    """A value without what a message must not show: it may be a key that stands where it shouldn't."""
    if isinstance(value, Mapping):
        # Of a toleration or an expression: its key is a label's name.
        label = "operator" in value or "effect" in value or key in ("tolerations", "matchExpressions", "matchFields")
        return {
            name if name_of(str(name)) == str(name) else MASK: masked(
                inner, "image" if key == "images" else "label" if label and name == "key" else str(name)
            )
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [masked(inner, key) for inner in value]
    if key == "image" and isinstance(value, str) and _IMAGE.fullmatch(value) and not any(map(may_be_secret, _named(value))):
        return value
    if isinstance(value, str) and (hidden(key) or name_of(value) != value):
        return "NAME" if hidden(key) else MASK
    return value


def _named(image: str) -> list[str]:
    """Parts of an image's name, without its digest, which is public."""
    return re.split("[/:]", image.partition("@")[0])


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``over`` laid over ``base``, mapping by mapping, as Helm does it; None takes a key away."""
    both = dict(base)
    for key, value in over.items():
        if value is None:
            both.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(both.get(key), Mapping):
            both[key] = merged(both[key], value)
        else:
            both[key] = value
    return both


def laid_over(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """One file of values over another, as Helm lays several: a null stays one, since it takes the chart's default away."""
    both = {
        key: laid_over(base[key], upper)
        for key, upper in over.items()
        if isinstance(upper, Mapping) and isinstance(base.get(key), Mapping)
    }
    return {**base, **over, **both}


class _Dumper(yaml.SafeDumper):
    """Lists below their key are indented, and no anchors: a stack's file is read by people."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, _data: Any) -> bool:  # noqa: ANN401
        return True


class _Line(yaml.SafeDumper):
    """All in one line."""


def _text(style: str) -> Callable[[yaml.SafeDumper, str], yaml.Node]:
    def text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
        if "\n" in value:
            return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)
        # 26.05 is a number without quotes.
        plain = dumper.resolve(yaml.ScalarNode, value, (True, False)) == "tag:yaml.org,2002:str"  # type: ignore[no-untyped-call]
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if plain else '"')

    return text


_Dumper.add_representer(str, _text("|"))
_Line.add_representer(str, _text('"'))

_TABLE: Final = tuple((tuple(row.at.lower().split(".")), row) for row in ROWS)


def fits(pattern: Path, path: Path) -> bool:
    """Whether a row's pattern is that of a place: ``*`` is any name, ``*/word`` one that ends so, and ``**`` at the end all
    that is below."""
    if pattern[-1] == ANY:
        pattern, path = pattern[:-1], path[: len(pattern) - 1]
    return len(pattern) == len(path) and all(
        want in ("*", got) or (want.startswith("*/") and got.endswith(want[1:]))
        for want, got in zip(pattern, path, strict=True)
    )


@lru_cache(maxsize=4096)
def row_of(path: Path) -> Row | None:
    """The row of a place, in whatever spelling of small and capital letters. A row for all below a place isn't its own, nor
    that of what is below another row's place."""
    low = tuple(part.lower() for part in path)
    whole = (row for row, _ in _TABLE if row[-1] != ANY and len(row) < len(low) and fits(row, low[: len(row)]))
    above = max(map(len, whole), default=0)
    return next(
        (row for pattern, row in _TABLE if fits(pattern, low) and (pattern[-1] != ANY or above < len(pattern) <= len(low))),
        None,
    )


def rows_below(path: Path) -> Iterator[Row]:
    """Rows of what stands below a place."""
    low = tuple(part.lower() for part in path)
    return (row for pattern, row in _TABLE if len(pattern) > len(low) and fits(pattern[: len(low)], low))


def _walk(value: Any, path: Path, translation: Taken) -> None:  # noqa: ANN401
    if is_empty({path[-1]: value}):
        return
    row = row_of(path)
    deeper = isinstance(value, Mapping) and any(True for _ in rows_below(path))
    if row is None or (deeper and (row.at.endswith(ANY) or row.take is named)):
        if deeper:
            for key, inner in value.items():
                _walk(inner, (*path, str(key)), translation)
        else:
            known = any(True for _ in rows_below(path))
            translation.left.append((".".join(path), row.why if row is not None else NO_MAPPING if known else UNKNOWN))
        return
    if row.why:
        translation.left.append((".".join(path), row.why.replace(VALUE, name_of(str(value)))))
        return
    try:
        taken = row.take(value)
    except Left as why:
        translation.left.append((".".join(path), _of_set(str(why), path)))
        return
    several = taken if isinstance(taken, Several) else Several({SAME: taken})
    whole = ".".join(path)
    translation.left += [(f"{whole}{below}", why) for below, why in several.left]
    translation.notes += [f"{whole}: {note}" for note in several.notes]
    translation.same += [whole] if not (several.settings or several.left) else []
    name = path[1] if len(path) > 1 else ""
    for setting, content in several.settings.items():
        place = setting or row.setting
        given = value_at(translation.settings, place.split(".")) if place.startswith("cluster.") else None
        if isinstance(given, list) and isinstance(content, list):
            content = [*given, *(one for one in content if one not in given)]  # noqa: PLW2901 - one list for all: a pod may need any
        elif given not in (None, content):
            first = next(key for key, setting in translation.used if setting == place or setting.startswith(f"{place}."))
            value = f" {name_of(given)}" if isinstance(given, str) else " another value"
            translation.left.append((whole, f"`{place}` is one for all, and {first} has given it{value}"))
            continue
        at = place.removesuffix(f".{ANY}").split(".")
        at += list(path[row.at.count(".") :]) if place.endswith(ANY) else []
        translation.used.append((whole, ".".join(at).replace("{}", name)))
        for key in _put(translation.settings, at, name, content):
            translation.left.append((f"{whole} ({key})", f"`{place}` has it already, by another key"))


def _put(settings: dict[str, Any], place: list[str], name: str, value: object) -> list[str]:
    """Put a value in its place. Returns the keys of a mapping that is there already, with other values, which stay."""
    *above, last = [part.replace("{}", name) for part in place]
    inner = settings
    for part in above:
        inner = inner.setdefault(part, {})
    here = inner.get(last)
    if not (isinstance(here, dict) and isinstance(value, Mapping)):
        inner[last] = value
        return []
    inner[last] = {**here, **{key: child for key, child in value.items() if key not in here}}
    return [str(key) for key, child in value.items() if key in here and here[key] != child]


def is_empty(value: object) -> bool:
    """Whether a value says nothing: none, an empty text or list, or a mapping of such alone, but for labels of a
    nodeSelector, whose value may be empty."""
    if isinstance(value, Mapping):
        return all(is_empty(child) and not (child and key == "nodeSelector") for key, child in value.items())
    return value is None or value in ("", [])


def words_of(row: Row, path: Path) -> str:
    """What a message says of a key that has a row."""
    if row.words or row.why:
        return _of_set(row.words or row.why, path)
    return f"it is `{row.setting.removesuffix(f'.{ANY}').replace('{}', path[1] if len(path) > 1 else 'NAME')}`"


def _of_set(words: str, path: Path) -> str:
    return words.replace(NAME, path[1] if len(path) > 1 else "NAME").replace(VALUE, "NUMBER")


_LEVELS: Final = {
    "slurmd": "there is no level `slurmd`: image, resources and env are settings of the NodeSet",
    "login": "there is no level `login`: image and volumes are settings of the login set",
    "storageconfig": "the database is `accounting.database`",
    "loginsets": "login pods are `logins`",
}


def _level(path: Path, translation: Taken) -> str:
    known = _LEVELS.get(path[-1].lower())
    if known:
        return known
    if path[-1] in {"podSpec", "metadata"}:
        return f"placement, labels and annotations are settings of `{'.'.join([*path[:-1], 'pod'])}`"
    here = dict.fromkeys(setting for _, setting in translation.used)
    return f"it is {' and '.join(f'`{setting}`' for setting in here)}" if here else f"there is no level `{path[-1]}` here"
