"""The resources of this program, as ``made.json`` lists them: of each kind its names, its fields and their values.

``PYTHONPATH=policies venv/bin/python -m tests.policies.making`` writes that file from what the components render.

A text may hold marks: ⟨base⟩, ⟨ns⟩, ⟨ops⟩ and ⟨cluster⟩ are names of the stack, ⟨any⟩ is one name, ⟨number⟩ a number,
⟨scaled⟩ a list of NodeSets that an autoscaler owns, ⟨folder⟩ a folder and ⟨image⟩ an image. A path has its keys with blanks
between them, ``[]`` for each item of a list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from slurm_rules.model import Hidden, Resource, everything
from slurm_rules.world import World

FILE: Final = Path(__file__).with_name("made.json")
MADE: Final[Mapping[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
HARMLESS: Final[Mapping[str, Any]] = json.loads(FILE.with_name("harmless.json").read_text(encoding="utf-8"))
"""Lists made by hand: checks of fields, rights, API groups, annotations and names that can do no harm."""
KINDS: Final[Mapping[str, Any]] = MADE["kinds"]
"""By API group and kind, or the type of a resource that isn't Kubernetes': names, ignoreChanges and fields."""
Path_ = tuple[str, ...]
_MARK = re.compile(r"⟨(\w+)⟩")
_NAME = r"[A-Za-z0-9_.-]{1,63}"


@dataclass(frozen=True)
class Fault:
    """What isn't as the program makes it: its path in the resource, and what about it."""

    path: str
    text: str


@dataclass
class Judging:
    """One resource on its way through the lists: its faults, its images, and the places that can't be read."""

    world: World
    faults: list[Fault] = field(default_factory=list)
    images: list[tuple[str, str]] = field(default_factory=list)
    hidden: list[tuple[str, Hidden]] = field(default_factory=list)

    def add(self, path: str, text: str) -> None:
        """Note a fault."""
        self.faults.append(Fault(path, text))

    def add_all(self, path: str, texts: Iterable[str]) -> None:
        """Note several faults of one place."""
        self.faults.extend(Fault(path, text) for text in texts)


@dataclass(frozen=True)
class Asked:
    """One value of a resource, with its last key and the site's options."""

    value: Any
    key: str
    judging: Judging
    options: Mapping[str, Any]
    kind: str = ""
    resource: Resource | None = None


Said = Callable[[Asked], str | None]
"""From a value to what is wrong with it."""


@cache
def _tree(kind: str) -> Mapping[str, Any]:
    """The known paths of a kind as a tree; the values of a path are under the empty key."""
    root: dict[str, Any] = {}
    for path, values in KINDS[kind]["fields"].items():
        here = root
        for part in path.split(" "):
            here = here.setdefault(part, {})
        here[""] = values
    return root


def known_below(kind: str, path: Path_) -> Mapping[str, Any] | None:
    """What the program has at and below a path of a kind; None for nothing."""
    here = _tree(kind) if kind in KINDS else {}
    for part in path:
        if part not in here:
            return None
        here = here[part]
    return here


def like(value: object, template: object, world: World) -> bool:
    """Whether a value is what a template says."""
    if isinstance(template, str):
        return isinstance(value, str) and _text_like(value, template, world)
    if isinstance(template, Mapping):
        if not isinstance(value, Mapping) or value.keys() != template.keys():
            return False
        return all(like(value[key], part, world) for key, part in template.items())
    if isinstance(template, list):
        if not isinstance(value, list | tuple) or len(value) != len(template):
            several = len(template) == 1 and "⟨any⟩" in str(template[0])  # as many names as there are
            return several and isinstance(value, list | tuple) and all(like(one, template[0], world) for one in value)
        return all(like(one, other, world) for one, other in zip(value, template, strict=True))
    return type(value) is not bool and value == template if type(template) is not bool else value is template


def like_any(value: object, templates: Iterable[object], world: World) -> bool:
    """Whether a value is what one of several templates says."""
    return any(like(value, template, world) for template in templates)


def _text_like(value: str, template: str, world: World) -> bool:
    if "⟨" not in template:
        return value == template
    parts = []
    for index, part in enumerate(_MARK.split(template)):
        parts.append(_pattern(part, world) if index % 2 else re.escape(part))
    match = re.fullmatch("".join(parts), value)
    lists = [] if match is None else [match[0]] if "⟨scaled⟩" in template else []
    for text in lists:
        named = {name for listing in re.findall(r"in \[('[^\]]*')?\]", text) for name in re.findall(r"'([^']*)'", listing)}
        if not {name for name in named if "-worker-" in name} <= world.scaled:
            return False
    return match is not None


def _pattern(mark: str, world: World) -> str:
    if mark == "any":
        return _NAME
    if mark == "number":
        return r"\d{1,9}"
    if mark == "image":
        return r"\S+"
    if mark == "folder":
        return r"/\S*"
    if mark == "scaled":
        return rf"\[(?:'{_NAME}'(?:, '{_NAME}')*)?\]"
    texts = sorted(map(re.escape, world.texts(mark)))
    return f"(?:{'|'.join(texts)})" if texts else r"(?!)"


def images_in(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Images of the containers in a value that is like one of the program's."""
    return ((here, part) for here, key, part in everything(value, path) if key == "image" and isinstance(part, str))
