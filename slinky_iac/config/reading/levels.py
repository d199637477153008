"""Where a place is among the settings: the section around it, its neighbours, and which setting a strange word is meant for.
Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from slinky_iac.config.reading.such_as import such_as
from slinky_iac.config.shown import place
from slinky_iac.config.stack import PROJECT, StackConfig
from slinky_iac.text import closest

MARKERS = frozenset({"[key]", "function-before", "function-after"})
"""What pydantic has in a location that isn't a part of the path."""
_SHORTEST: Final = 3
_SNAKE: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")


def meant_by(location: tuple[int | str, ...]) -> str:
    """The setting that an unknown word is very like; empty where it would be a guess."""
    return closest(str(location[-1]), siblings(location))


def begun_by(word: str, settings: Iterable[str]) -> str:
    """The one setting whose name begins with a word; empty where several do, or the word is short."""
    longer = [setting for setting in settings if len(word) >= _SHORTEST and setting.lower().startswith(word.lower())]
    return longer[0] if len(longer) == 1 else ""


def elsewhere(location: tuple[int | str, ...], value: object) -> str:
    """Where a word is a setting that isn't one at its place: one level below it, where its value can be that one's, or a
    section of its own."""
    *above, name = (str(part) for part in location if part not in MARKERS)
    if not above:
        return ""
    fields = _model_around(location).model_fields.items()
    inner = {f.alias or n: model_in(f.annotation) for n, f in fields if not is_by_name(f.annotation)}
    candidates = [(field, field_of(model, name)) for field, model in inner.items() if model is not None]
    below = [(field, alias) for field, (alias, kind) in candidates if kind is not None and _may_be(value, kind)]
    if len(below) == 1:
        return f"it is `{place('.'.join([*above, *below[0]]))}`"
    if name not in StackConfig.model_fields:
        return ""
    right = such_as((name,))
    return f"it is a section of its own, `{PROJECT}:{name}`" + (f"; for example {right}" if right else "")


def _may_be(value: object, kind: Any) -> bool:  # noqa: ANN401 - annotations are any object
    """Whether a value may be meant for a setting of this type: a mapping without any of a section's names isn't."""
    model = None if is_by_name(kind) else model_in(kind)
    names = [str(name) for name in value] if isinstance(value, Mapping) else []
    return model is None or not names or any(field_of(model, name)[1] is not None for name in names)


def in_camel_case(name: str) -> str:
    """A word in snake_case, as programs and Pulumi's SDK have them, as files have it; any other as it is."""
    return to_camel(name) if _SNAKE.fullmatch(name) else name


def siblings(location: tuple[int | str, ...]) -> list[str]:
    """The settings of the section in which a location is."""
    return [f.alias or n for n, f in _model_around(location).model_fields.items()]


def _model_around(location: tuple[int | str, ...]) -> type[BaseModel]:
    """The section in which a location is."""
    model: type[BaseModel] = StackConfig
    for part in location[:-1]:
        _, below = field_of(model, str(part))
        if below is not None:
            model = model_in(below) or model
    return model


def field_of(model: Any, name: str) -> tuple[str, Any]:  # noqa: ANN401 - annotations are any object
    """A field by its name in a file or in a program: its name in a file, and its type; ``name`` and None where none is."""
    fields = model.model_fields if isinstance(model, type) and issubclass(model, BaseModel) else {}
    field = next(((f.alias or n, f.annotation) for n, f in fields.items() if name in (n, f.alias)), None)
    return field or (name, None)


def is_by_name(annotation: Any) -> bool:  # noqa: ANN401 - annotations are any object
    """Whether a type is a mapping of names that people choose, or a list."""
    return get_origin(annotation) in (dict, tuple, list) or any(map(is_by_name, get_args(annotation)))


def model_in(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 - annotations are any object
    """The section that a type holds, as one, or by name, or in a list; None where it holds none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in getattr(annotation, "__args__", ()) if (model := model_in(part)) is not None), None)
