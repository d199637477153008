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

from slinky_iac.config.chart_words import Advice, advice, switched
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.nodes import applied
from slinky_iac.config.shown import SHORT, Refused, hidden, place, shown, unknown_word
from slinky_iac.config.stack import PROJECT, SECRET_KEYS, StackConfig
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
_LARGE = 10**SHORT
"""Longer numbers aren't shown: no setting has one, it may be a key, and Python makes no text of 4,300 digits."""
_CLUSTER = f"{PROJECT}:cluster:\n  name: NAME # ClusterName of slurm.conf\n"
_VERSION = f'{PROJECT}:operator:\n  version: "1.2.1"\n'
_WHOLE = frozenset({"tuple_type", "dict_type", "model_type", "model_attributes_type", "missing"})
"""Faults that show nothing of what is there: where a whole section is meant, a single text may be a pasted secret."""
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
    config, faults = examined(data)
    if config is None or faults:
        raise ConfigError(tuple(map(str, faults)))
    return config


def examined(data: Mapping[str, object]) -> tuple[StackConfig | None, tuple[Finding, ...]]:
    """The configuration, where its shape is right, and every fault of it as a finding with what to paste."""
    misplaced = tuple(at(name).error(in_plain_text(name)) for name in SECRET_KEYS if name in data)
    rest = {str(k): v for k, v in data.items() if k not in SECRET_KEYS}
    try:
        return applied(StackConfig.model_validate(rest, by_alias=True, by_name=False)), misplaced
    except ValidationError as invalid:
        found = tuple(dict.fromkeys(_fault(e) for e in invalid.errors(include_url=False)))
        return None, misplaced + found
    except RecursionError:
        return None, (*misplaced, at("config").error("is nested too deeply to be a configuration"))


def _path(location: tuple[int | str, ...]) -> str:
    parts = [str(p) for p in location if p not in {"[key]", "function-before", "function-after"}]
    return place(".".join(parts)) or "config"


def _fault(invalid: ErrorDetails) -> Finding:
    where, kind, context = _path(invalid["loc"]), invalid["type"], invalid.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown(invalid["loc"], where, invalid["input"])
    if kind.startswith("model_") and isinstance(invalid["input"], bool):
        known = switched(where, on=invalid["input"])
        if known:
            return _advised(where, f"got {_yaml(invalid['input'])}", known)
    cause = context.get("error")
    if isinstance(cause, Refused) and hidden(where):
        return at(where).error(f"got a text of {len(cause.value)} characters (never shown here){cause.words}")
    if kind == "string_type" and isinstance(invalid["input"], bool | int | float) and not hidden(where):
        return _unquoted(where, invalid["input"])
    bound, words = _BOUNDS.get(kind, ("", ""))
    if bound:
        said = f"{words} {context.get(bound)}".strip()
        return at(where).error(said if kind == "value_error" else said + _got(where, invalid["input"]))
    got = "" if kind in _WHOLE else _got(where, invalid["input"])
    paste = _CLUSTER if (kind, where) == ("missing", "cluster") else ""
    return at(where).error(_KINDS.get(kind, "has the wrong type or form") + got, paste)


def _unknown(location: tuple[int | str, ...], where: str, value: object) -> Finding:
    """A key that is no setting: a word of a chart, a secret that belongs elsewhere, or a word that is shown in part only."""
    name = str(location[-1])
    if (secret := secret_of(where)) is not None:
        return at(where).error(in_plain_text(secret))
    if known := advice(where, value):
        return _advised(where, "is not a setting", known)
    near = _near(location)
    if near.endswith("?"):
        return at(where).error(f"is not a setting{near}")
    return at(".".join([*where.split(".")[:-1], unknown_word(name)])).error(f"is not a setting{near}")


def secret_of(where: str) -> str | None:
    """Which secret of this program an unknown setting is meant for; None where it is none."""
    section, _, name = where.rpartition(".")
    name = name.lower().replace("_", "").replace("-", "")
    if section.startswith("accounting") and name in {"password", "passwd", "databasepassword", "storagepass"}:
        return "databasePassword"
    return next((each for each in SECRET_KEYS if each.lower() == name), None)


def in_plain_text(name: str) -> str:
    """What to do about a secret that is in a stack's file as plain text."""
    return (
        f"is a secret in plain text. Remove it, and treat it as leaked: it is in the file, its history and what was shown of"
        f" it. Give a new one by `pulumi config set --secret {name}`"
    )


def _advised(where: str, got: str, known: Advice) -> Finding:
    return at(where).error(f"{got}; {known.words}", known.paste)


def _unquoted(where: str, value: float) -> Finding:
    """A number or a truth value where a text is meant: YAML takes 26.05 for a number, and 26.10 for 26.1."""
    leaf = where.rsplit(".", 1)[-1]
    if isinstance(value, bool):
        return at(where).error(f"got {_yaml(value)}, which YAML reads as a truth value; quote a text")
    if not -_LARGE < value < _LARGE:
        return at(where).error("got a number of many digits (not shown); it must be a text")
    if where == "operator.version":
        return at(where).error(f'got the number {value}; give all three numbers, quoted: {leaf}: "1.2.1"', _VERSION)
    text = f"{value:05.2f}" if where == "cluster.slurmVersion" and abs(value) < 100 else str(value)
    return at(where).error(f'got the number {value}; quote it: {leaf}: "{text}"', _quoted(where, text))


def _quoted(where: str, text: str) -> str:
    section, *inner = where.split(".")
    if any(not part.isidentifier() and not part.replace("-", "").isalnum() for part in inner):
        return ""
    lines = [f"{PROJECT}:{section}:", *(f"{'  ' * at}{part}:" for at, part in enumerate(inner, 1))]
    return "\n".join(lines) + f' "{text}"\n'


def _got(where: str, value: object) -> str:
    """What stands there, where it is one short value that may be shown."""
    if isinstance(value, bool | int | float) and not hidden(where):
        return f", got {_yaml(value)}"
    return f", got {shown(value)}" if isinstance(value, str) and not hidden(where) else ""


def _yaml(value: float) -> str:
    if not isinstance(value, bool) and not -_LARGE < value < _LARGE:
        return "a number of many digits (not shown)"
    return str(value).lower() if isinstance(value, bool) else str(value)


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
