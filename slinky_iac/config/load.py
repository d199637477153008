"""From plain data to a :class:`StackConfig`: all faults at once, each with its path, and never a value in a message.

pydantic's own texts show inputs, which may be secrets that stand where they shouldn't; so faults are made from the
error's kind and context here, and only our own validators' texts pass through, which show what :mod:`.shown` allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from slinky_iac.config.shown import Refused, hidden, name_of
from slinky_iac.config.stack import SECRET_KEYS, StackConfig
from slinky_iac.errors import ConfigError

_KINDS = {
    "missing": "is missing and has no default",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be a text",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping of names to settings",
    "model_type": "must be a mapping of settings",
    "model_attributes_type": "must be a mapping of settings",
    "recursion_loop": "refers to itself",
}
_BOUNDS = {
    "value_error": ("error", ""),
    "literal_error": ("expected", "must be one of"),
    "greater_than_equal": ("ge", "must be at least"),
    "less_than_equal": ("le", "must be at most"),
    "greater_than": ("gt", "must be above"),
    "less_than": ("lt", "must be below"),
    "string_pattern_mismatch": ("pattern", "must have the form"),
    "too_short": ("min_length", "must have this many elements or more:"),
    "string_too_short": ("min_length", "must have this many characters or more:"),
}


def load(data: Mapping[str, object]) -> StackConfig:
    """The configuration as one frozen value.

    ``data`` maps section names (``cluster``, ``nodesets``, …) to plain data. Raises :class:`ConfigError` with every
    fault of the shape; rules across sections are :func:`slinky_iac.config.rules.findings`.
    """
    misplaced = tuple(
        f"{name}: is a secret and must not stand in plain text; run `pulumi config set --secret {name}`"
        for name in SECRET_KEYS
        if name in data
    )
    rest = {str(k): v for k, v in data.items() if k not in SECRET_KEYS}
    try:
        config = StackConfig.model_validate(rest)
    except ValidationError as error:
        found = tuple(dict.fromkeys(_fault(e) for e in error.errors(include_input=False, include_url=False)))
        raise ConfigError(misplaced + found) from None
    except RecursionError:
        raise ConfigError((*misplaced, "config: is nested too deeply to be a configuration")) from None
    if misplaced:
        raise ConfigError(misplaced)
    return config


def _path(location: tuple[int | str, ...]) -> str:
    parts = [str(p) for p in location if p not in {"[key]", "function-before", "function-after"}]
    return ".".join(name_of(part) for part in parts) or "config"


def _fault(error: ErrorDetails) -> str:
    where, kind, context = _path(error["loc"]), error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return f"{where}: is not a setting{_near(error['loc'])}"
    cause = context.get("error")
    if isinstance(cause, Refused) and hidden(where):
        return f"{where}: got a text of {len(cause.value)} characters (never shown here){cause.words}"
    bound, words = _BOUNDS.get(kind, ("", ""))
    if bound:
        return f"{where}: {words} {context.get(bound)}".replace(":  ", ": ")
    return f"{where}: {_KINDS.get(kind, 'has the wrong type or form')}"


def _near(location: tuple[int | str, ...]) -> str:
    """The settings allowed beside an unknown one, the nearest first in words a person can act on."""
    allowed = _siblings(location)
    close = get_close_matches(str(location[-1]), allowed, n=1)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; allowed here: {', '.join(allowed)}" if allowed else ""


def _siblings(location: tuple[int | str, ...]) -> list[str]:
    model: Any = StackConfig
    for part in location[:-1]:
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            return []
        field = next((f for n, f in model.model_fields.items() if (f.alias or n) == part), None)
        if field is None:
            continue
        model = _model_in(field.annotation) or model
    return [f.alias or n for n, f in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 - annotations are any object
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for part in getattr(annotation, "__args__", ()):
        found = _model_in(part)
        if found is not None:
            return found
    return None
