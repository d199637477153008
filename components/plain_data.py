"""What isn't plain data in a program's settings: what it is, and what the setting takes. Pure, and no value is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from datetime import timedelta
from enum import Enum
from os import PathLike
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import pulumi
from pydantic import BaseModel
from pydantic.alias_generators import to_snake

from slinky_iac.config.outputs import IMAGE

_LITERALS: Final = (str, bool, int, float, type(None))
_OF_OUTPUT: Final = "Calling __str__ on an Output"
"""How the text begins that pulumi's SDK puts in the place of an Output in an f-string."""
_WORDS: Final = {str: "a text", bool: "True or False", int: "a whole number", float: "a number"}


def is_plain(value: object) -> bool:
    """Whether a value that isn't a mapping nor a list can be a setting's."""
    return isinstance(value, _LITERALS)


def is_of_output(text: str) -> bool:
    """Whether a text was made of an Output, by an f-string, ``+`` or ``str()``."""
    return _OF_OUTPUT in text


FORMATTED: Final = "is an f-string of an Output; give the Output itself"
"""What a message says of such a text."""


def formatted(kind: str) -> str:
    """The same of a setting that takes an Output; ``kind``: what it is taken for (:mod:`.takes`)."""
    if kind == IMAGE:
        return f"is an f-string of an Output; write {_IMAGE}"
    if kind == "host name":
        return f"{FORMATTED}, or slinky_iac.address(OUTPUT) of one that is an IP address"
    return f'{FORMATTED}, or pulumi.Output.format("{_FORMS.get(kind, "prefix-{0}")}", OUTPUT) for one with text around it'


_IMAGE: Final = 'pulumi.Output.format("reg/{0}:1", OUTPUT)'
_FORMS: Final = {"host": "{0}.example.org", "address of http or https": "https://{0}:6820", "network": "{0}/32"}


def in_python(name: str) -> str:
    """A setting's name as Python's types have it (:mod:`slinky_iac.settings`)."""
    return to_snake(name)


def got(value: object) -> str:
    """The word for what was given; what it is isn't shown."""
    kinds = {str: "a text", list: "a list", tuple: "a tuple", bool: "true or false", int: "a number", float: "a number"}
    if isinstance(value, Mapping):
        return "a mapping"
    return kinds.get(type(value)) or f"an object of class {type(value).__name__}"


def of_resource(value: pulumi.Resource, takes: str) -> str:
    """What a message says of a resource of the program in the place of a value."""
    return f"got a resource of class {type(value).__name__}; takes {takes}: give one of the resource's outputs"


def refused(value: object, annotation: Any, path: str) -> str:  # noqa: ANN401 - annotations are any object
    """What a message says of a value that isn't plain, in a setting of this type."""
    takes = _takes(annotation)
    name = path.rpartition(".")[2]
    if isinstance(value, pulumi.Resource):
        return of_resource(value, takes)
    if isinstance(value, timedelta):
        return 'got a timedelta; takes seconds, or a text as "2h"'
    if isinstance(value, PathLike):
        return f"got a path; takes {takes}: str(PATH)"
    if isinstance(value, Enum):
        return f"got an Enum of class {type(value).__name__}; takes {takes}: give its value"
    if isinstance(value, bytes | bytearray):
        return f"got bytes; takes {takes}: BYTES.decode()"
    if isinstance(value, Set):
        got = "a set"
    elif callable(value):
        got = "a class" if isinstance(value, type) else "a function"
    elif isinstance(value, Iterable) and hasattr(value, "__next__"):
        got = "a generator"
    else:
        got = f"an object of class {type(value).__name__}"
    example = f': {in_python(name)}=["a", "b"]' if takes == "a list of text" and not name.isdigit() else ""
    return f"got {got}; takes {takes}{example}"


def may_hold(value: object, annotation: Any) -> bool:  # noqa: ANN401
    """Whether a setting of this type can be a mapping, or a list, as the value is; one whose type isn't known can."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return may_hold(value, args[0])
    if origin in (Union, UnionType):
        return any(may_hold(value, part) for part in args)
    if annotation in (None, Any, object):
        return True
    if origin in (dict, Mapping) or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return isinstance(value, Mapping)
    return origin in (tuple, list) and not isinstance(value, Mapping)


def misplaced(value: object, annotation: Any, kind: str | None) -> str:  # noqa: ANN401
    """What a message says of a mapping or a list with an Output in it, in a setting that can't be one. ``kind``: what the
    setting takes an Output for; None where it takes none."""
    got = "a mapping" if isinstance(value, Mapping) else "a list"
    way = "" if kind is None else f": write {_IMAGE}" if kind == IMAGE else ": give the Output itself"
    return f"got {got} with an Output in it; takes {_takes(annotation)}{way}"


def is_by_name(annotation: Any) -> bool:  # noqa: ANN401
    """Whether a type is a mapping whose names people choose."""
    return get_origin(annotation) is dict or any(map(is_by_name, get_args(annotation)))


def element(annotation: Any) -> Any:  # noqa: ANN401
    """The type of what is in a list, or below a name of a mapping; None where it isn't known."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (tuple, list):
        return args[0]
    if origin in (dict, Mapping):
        return args[1]
    return next((kind for part in args if (kind := element(part)) is not None), None)


def _takes(annotation: Any) -> str:  # noqa: ANN401
    """The word for a type of settings."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (tuple, list):
        inside = _takes(args[0])
        return "a list of text" if inside == "a text" else "a list"
    if origin is Literal:
        return "a text"
    if origin is Annotated:
        return _takes(args[0])
    if origin in (Union, UnionType):
        return next((_takes(part) for part in args if part is not type(None)), _PLAIN)
    if origin in (dict, Mapping) or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return "a mapping"
    return _WORDS.get(annotation, _PLAIN)


_PLAIN: Final = "plain data: text, numbers, lists, mappings"
