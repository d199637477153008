"""The smallest right YAML of a setting, for a message about a value of a wrong type: from the reference's examples, else of
the setting's own type. Pure."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Union, cast, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from slinky_iac import safe_yaml
from slinky_iac.config.chart.translation import in_one_line
from slinky_iac.config.fields import FilePath
from slinky_iac.config.paths import mapping
from slinky_iac.config.stack import PROJECT, StackConfig

_DEEPEST: Final = 4
_LONGEST: Final = 130
"""Characters of an example that a message has room for."""
_SCALARS: Final[Mapping[Any, Sequence[object]]] = {
    bool: (True,),
    int: (1, 300, 30000),
    float: (1,),
    str: ("name", "a.example.org", "/folder", "4Gi", "1", "25.11", "registry.example.org/image:1", "1h"),
}
"""Values of which one fits where a type has a rule of its own."""
_PATH: Final = "/folder/name"
"""Of a file or a folder: a bare name is right too, and doesn't show that a path is wanted."""
_OWN: Final[Mapping[str, object]] = {
    "drain": {"deadline": "2h"},
    "nodesets": {"cpu": {"replicas": 4}},
    "partitions": {"long": {"nodesets": ["cpu"]}},
    "logins": {"main": {"replicas": 1}},
    "acknowledged": {"outside-slurm-conf": "the lines are in its slurm.conf"},
    "raw": {"pod": {"runtimeClassName": "nvidia"}},
    "volumes": [{"name": "home", "mountPath": "/home", "source": {"nfs": {"server": "nfs.example.org", "path": "/home"}}}],
    "env": {"OMP_NUM_THREADS": "8"},
    "rootAuthorizedKeys": "ssh-ed25519 AAAA… alice@example.org",
    "controller.prolog": {"10-scratch.sh": "#!/bin/sh\nmkdir -p /scratch"},
    "controller.epilog": {"10-scratch.sh": "#!/bin/sh\nrm -rf /scratch/job"},
    "controller.configFiles": {"gres.conf": "AutoDetect=nvidia"},
}
"""Those that people get wrong and of which the reference has a larger example, or none."""
_ANYWHERE: Final = frozenset({"drain", "env", "raw", "rootAuthorizedKeys", "volumes"})
"""Of these the ones that are the same wherever they stand."""


def examples() -> dict[str, str]:
    """A piece of a stack's file for each section, by the section's path, in the order of the sections. Those of a part's own
    sections are in the part's folder."""
    library = Path(__file__).parents[2]
    files = (library / "config" / "reference.yaml", *sorted(library.glob("parts/*/reference.yaml")))
    read = (cast("dict[str, str]", safe_yaml.read(file.read_text(encoding="utf-8"))) for file in files)
    pieces = {path: text for document in read for path, text in document.items()}
    order = {field.alias or name: at for at, (name, field) in enumerate(StackConfig.model_fields.items())}
    return dict(sorted(pieces.items(), key=lambda piece: order.get(piece[0].partition(".")[0], len(order))))


def such_as(location: Sequence[int | str]) -> str:
    """``name: VALUE`` in one line for the setting at a location, ``- VALUE`` for an entry of a list, ``NAME: VALUE`` for
    what has a name of the user's, which may be a secret; empty where none is short enough, or there is no such setting."""
    path = tuple("*" if isinstance(part, int) else str(part) for part in location)
    annotation = _annotation(path)
    if annotation is None:
        return ""
    last = "NAME" if isinstance(location[-1], str) and _is_by_name(_annotation(path[:-1])) else location[-1]
    for value in (*_shown(path), *_made(annotation, 0)):
        line = _line(last, value)
        if len(line) <= _LONGEST and _is_right(annotation, value):
            return line
    return ""


def _is_right(annotation: Any, value: object) -> bool:  # noqa: ANN401 - annotations are any object
    try:
        TypeAdapter(annotation).validate_python(value)
    except ValidationError:
        return False
    return True


def _line(last: int | str, value: object) -> str:
    return f"- {in_one_line(value)}" if isinstance(last, int) else in_one_line({str(last): value})[1:-1]


def _annotation(path: Sequence[str]) -> Any:  # noqa: ANN401 - annotations are any object
    """The type of a setting; ``*``: an entry of a list. None where there is none."""
    annotation: Any = StackConfig
    for part in path:
        annotation = _below(annotation, part)
        if annotation is None:
            return None
    return annotation


def _whole(field: FieldInfo) -> Any:  # noqa: ANN401
    """A field's type with its rules."""
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def _below(annotation: Any, part: str) -> Any:  # noqa: ANN401
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return next((_whole(f) for n, f in annotation.model_fields.items() if part in (n, f.alias)), None)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is dict:
        return args[1]
    if origin in (tuple, list):
        return args[0] if part == "*" else None
    if origin is Annotated:
        return _below(args[0], part)
    if origin in (Union, types.UnionType):
        return next((inner_type for member in args if (inner_type := _below(member, part)) is not None), None)
    return None


@functools.cache
def _examples() -> tuple[Mapping[str, Any], ...]:
    read = (mapping(safe_yaml.read(text)) for text in examples().values())
    return tuple({name.removeprefix(f"{PROJECT}:"): example for name, example in one.items()} for one in read)


def _shown(path: Sequence[str]) -> list[object]:
    """The values that examples have at a place, where any name of a user's is as good as another; the shortest first."""
    if path[-1] == "*":
        return [example for value in _shown(path[:-1]) if isinstance(value, list) for example in value]
    own = _OWN.get(".".join(path), _OWN.get(path[-1]) if path[-1] in _ANYWHERE else None)
    every = (value for one in _examples() for value in _values(one, StackConfig, path) if value is not None)
    return [*([own] if own is not None else []), *sorted(every, key=lambda example: len(in_one_line(example)))]


def _values(value: Any, annotation: Any, path: Sequence[str]) -> Iterator[object]:  # noqa: ANN401
    """Values at a path. Names that users choose fit each other, as places in a list do."""
    if not path:
        yield value
        return
    part, below = path[0], _below(annotation, path[0])
    if below is None:
        return
    if isinstance(value, list) and part == "*":
        inside: Sequence[Any] = value
    elif isinstance(value, Mapping):
        inside = list(value.values()) if _is_by_name(annotation) else [value[part]] if part in value else []
    else:
        return
    for child in inside:
        yield from _values(child, below, path[1:])


def _is_by_name(annotation: Any) -> bool:  # noqa: ANN401
    return get_origin(annotation) is dict or any(map(_is_by_name, get_args(annotation)))


def _made(annotation: Any, depth: int) -> Iterator[object]:  # noqa: ANN401
    """Values of a type: what it requires, and one thing at least."""
    origin, args = get_origin(annotation), get_args(annotation)
    if depth > _DEEPEST:
        return
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from _sections(annotation, depth)
    elif origin is dict:
        yield from ({"NAME": example} for example in _made(args[1], depth + 1))
    elif origin in (tuple, list):
        yield from ([example] for example in _made(args[0], depth + 1))
    elif origin is Literal:
        yield args[0]
    elif annotation == FilePath:
        yield _PATH
    elif origin is Annotated:
        yield from _made(args[0], depth)
    elif origin in (Union, types.UnionType):
        for member in args:
            yield from _made(member, depth)
    elif annotation in _SCALARS:
        yield from _SCALARS[annotation]


def _sections(model: type[BaseModel], depth: int) -> Iterator[dict[str, object]]:
    """Sections with what they require, or with one field that isn't."""
    fields = {f.alias or n: f for n, f in model.model_fields.items()}
    if required := [name for name, f in fields.items() if f.is_required()]:
        own = {name: _right(_whole(fields[name]), depth + 1) for name in required}
        yield from [own] if all(example is not None for example in own.values()) else []
        return
    for name in sorted(fields, key=lambda field: field != "enabled"):
        value = _right(_whole(fields[name]), depth + 1)
        if value is not None:
            yield {name: value}


def _right(annotation: Any, depth: int) -> object:  # noqa: ANN401
    return next((example for example in _made(annotation, depth) if _is_right(annotation, example)), None)
