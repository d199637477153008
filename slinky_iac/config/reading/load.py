"""From plain data to a :class:`StackConfig`: all faults at once, each with its path, and never a value in a message.

pydantic's own texts show inputs, which may be secrets that stand where they shouldn't; so faults are made from the
error's kind and context here, and only our own validators' texts pass through, which show what :mod:`.shown` allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from slinky_iac.config.chart.translation import Advice, advice, as_yaml, masked, switched
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.kubernetes.types import is_word
from slinky_iac.config.leaked import given_again
from slinky_iac.config.paths import value_at
from slinky_iac.config.reading.levels import MARKERS, begun_by, elsewhere, in_camel_case, meant_by, siblings
from slinky_iac.config.reading.mistakes import nested, of_any_word, of_pods, requested, unknown, wrong_value
from slinky_iac.config.reading.pasted import entries_of, items_of, of_text, parameter
from slinky_iac.config.reading.such_as import such_as
from slinky_iac.config.shown import SHORT, Refused, has_token, hidden, name_of, place, shown, unknown_word
from slinky_iac.config.slurm.node_gres import with_gres_conf
from slinky_iac.config.stack import PROJECT, SECRET_KEYS, StackConfig
from slinky_iac.errors import ConfigError
from slinky_iac.parts.registry import applied
from slinky_iac.releases import MINIMUM_SLURM, too_old

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
_DEEPEST = 40
"""Levels of nesting that a setting has at the most."""
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
    fault of the shape; rules across sections are :func:`slinky_iac.config.rules.sections.findings`.
    """
    config, faults = examined(data)
    if config is None or faults:
        raise ConfigError(tuple(map(str, faults)))
    return config


def examined(data: Mapping[str, object]) -> tuple[StackConfig | None, tuple[Finding, ...]]:
    """The configuration, where its shape is right, and every fault of it as a finding with what to paste."""
    misplaced = tuple(at(name).exposed(in_plain_text(name)) for name in SECRET_KEYS if name in data)
    rest = {str(k): v for k, v in data.items() if k not in SECRET_KEYS}
    misplaced += tuple(at(path).exposed(_A_TOKEN) for path in tokens_in(rest))
    try:
        config = StackConfig.model_validate(resolved(rest), by_alias=True, by_name=False)
        every_host = {"external": config.external.expanded()}
        return with_gres_conf(applied(config.model_copy(update=every_host))), misplaced
    except ValidationError as invalid:
        every = invalid.errors(include_url=False)
        sizes = requested(rest)
        errors = [error for error in every if not _of_defaults(error, every) and _above(error["loc"]) not in sizes]
        faults = tuple(dict.fromkeys(_fault(e) for e in errors if not _follows(e, errors)))
        sized = tuple(_advised(path, of, "has requests and limits, as Kubernetes writes them") for path, of in sizes.items())
        return None, misplaced + sized + faults
    except RecursionError:
        return None, (
            *misplaced,
            at("config").error(
                "is nested too deeply to be a configuration: remove levels, or a YAML alias that is in itself"
            ),
        )


_DEFAULTS = {"nodesets": "nodesetDefaults", "logins": "loginDefaults"}
"""Sections that have one part for each name, and where the defaults of the parts are."""


def resolved(data: Mapping[str, object]) -> dict[str, object]:
    """The sections with defaults laid under each NodeSet and login set; what isn't a mapping is the schema's to refuse."""
    sections = dict(data)
    for section, defaults in _DEFAULTS.items():
        parts, under = sections.get(section), sections.get(defaults)
        if isinstance(parts, Mapping) and isinstance(under, Mapping):
            sections[section] = {
                name: _laid(under, part) if isinstance(part, Mapping) else part for name, part in parts.items()
            }
    return sections


def _laid(under: Mapping[str, object], over: Mapping[str, object], depth: int = 0) -> dict[str, object]:
    """``over`` laid over ``under``, mapping by mapping."""
    if depth > _DEEPEST:
        raise RecursionError
    both = {
        name: _laid(lower, upper, depth + 1)
        for name, upper in over.items()
        if isinstance(upper, Mapping) and isinstance(lower := under.get(name), Mapping)
    }
    return {**under, **over, **both}


def _above(location: tuple[int | str, ...]) -> str:
    """The path of what holds a key `limits` or `requests`; empty for another."""
    return _path(location[:-1]) if location[-1] in ("limits", "requests") else ""


def _of_defaults(invalid: ErrorDetails, errors: Sequence[ErrorDetails]) -> bool:
    """Whether an error of a NodeSet or login set is that of the defaults, which names the place where it stands."""
    section, *rest = invalid["loc"]
    defaults = _DEFAULTS.get(str(section))
    return defaults is not None and any(error["loc"] == (defaults, *rest[1:]) for error in errors)


def _path(location: tuple[int | str, ...]) -> str:
    parts = [str(p) for p in location if p not in MARKERS]
    return place(".".join(parts)) or "config"


def _follows(invalid: ErrorDetails, errors: Sequence[ErrorDetails]) -> bool:
    """Whether an error only follows from another one: what is missing is there, misspelt."""
    if invalid["type"] != "missing":
        return False
    *above, name = invalid["loc"]
    beside = (error for error in errors if error["type"] == "extra_forbidden" and list(error["loc"][:-1]) == above)
    bare = name == "source" and "volumes" in above  # of a volume: nfs: {…} in the place of source: {nfs: {…}}
    return any(bare or meant_by(error["loc"]) == name or _gives(error, invalid["loc"]) for error in beside)


def _gives(error: ErrorDetails, location: tuple[int | str, ...]) -> bool:
    """Whether a word of the chart stands for what is missing."""
    where, typed = tuple(part for part in error["loc"] if part not in MARKERS), error["input"]
    known = unknown(where, typed) or advice(_path(where), typed)
    return value_at(known.settings if known else {}, location) is not None


def _fault(invalid: ErrorDetails) -> Finding:  # noqa: PLR0911 - one return a kind of fault
    where, kind, context = _path(invalid["loc"]), invalid["type"], invalid.get("ctx", {})
    value = invalid["input"]
    if kind == "extra_forbidden":
        return _unknown(invalid["loc"], where, value)
    if kind != "missing" and (known := wrong_value(tuple(p for p in invalid["loc"] if p not in MARKERS), value)) is not None:
        return at(where).error(known.words, known.paste, known.instead)
    if kind.startswith("model_") and isinstance(value, bool):
        known = switched(where, on=value)
        if known:
            return _advised(where, known, f"got {_yaml(value)}")
    own = kind == "value_error" and isinstance(value, Mapping)  # says what is wrong inside, where the place is right
    if (
        kind != "missing"
        and not own
        and isinstance(value, Mapping | list)
        and (known := advice(where, value))
        and known.settings
        and value_at(known.settings, where.split(".")) != value  # no advice is to write what is there
    ):
        got = f"{_KINDS.get(kind, 'has the wrong type')}, got {_kind_of(value)}"
        if known.words == f"it is `{where}`":  # the place is right, and the form isn't
            return at(where).error(f"{got}{_instead(invalid['loc'], kind, value)}", known.paste, known.instead)
        return _advised(where, known, got)
    if kind in _WHOLE and isinstance(value, str) and (known := of_text(where, value)) is not None:
        return _advised(where, known, f"{_KINDS[kind]}, got a text")
    cause = context.get("error")
    if isinstance(cause, Refused) and hidden(where):
        return at(where).error(f"got a text of {len(cause.value)} characters (never shown here){cause.words}")
    if kind == "string_type" and isinstance(invalid["input"], bool | int | float) and not hidden(where):
        return _unquoted(where, value, invalid["loc"])
    return _of_bounds(invalid, where) if kind in _BOUNDS else _of_type(invalid, where)


def _of_bounds(invalid: ErrorDetails, where: str) -> Finding:
    """A value of the right type that a rule of its own refuses."""
    kind, value, context = invalid["type"], invalid["input"], invalid.get("ctx", {})
    bound, words = _BOUNDS[kind]
    said = f"{words} {context.get(bound)}".strip()
    if where.endswith(".maxShare") and isinstance(value, float):
        said, value = "must be at most 100%" if bound == "le" else "must be above 0%", f"{value:.0%}"
    right = such_as(_bare(invalid["loc"])) if kind == "string_pattern_mismatch" else ""
    said += "" if kind == "value_error" else _got(where, value) + (f": for example {right}" if right else "")
    return at(where).error(said)


def _of_type(invalid: ErrorDetails, where: str) -> Finding:
    """What is missing, or has another type."""
    kind, value, location = invalid["type"], invalid["input"], invalid["loc"]
    right = such_as(_bare(location))
    if kind == "missing":
        got = f": write, for example, {right}" if right and where != "cluster" else ""
    elif kind in _WHOLE or isinstance(value, Mapping | list):
        got = f", got {_kind_of(value)}{_instead(location, kind, value)}"
    elif value is None:
        got = f", got nothing: give it a value{f', for example {right},' if right else ''} or leave it out"
    else:
        got = _got(where, value)
    paste = _CLUSTER if (kind, where) == ("missing", "cluster") else ""
    items = entries_of(where, value) if kind == "tuple_type" else []
    return at(where).error(
        _KINDS.get(kind, "has the wrong type or form") + got,
        paste or _empty_nodeset(location, value),
        nested(location, items) or None if items else None,
    )


def _instead(location: tuple[int | str, ...], kind: str, value: object) -> str:
    """What to write where a list or a mapping is meant."""
    where, parts = _path(location), _bare(location)
    if kind == "tuple_type" and (items := items_of(where, value)):
        return f": write {parts[-1]}: [{', '.join(items)}]"
    if isinstance(value, bool) and "enabled" in siblings((*parts, "")):
        return f": write {parts[-1]}: {{enabled: {_yaml(value)}}}"
    right = such_as(parts)
    return f": write, for example, {f'{PROJECT}:' if len(parts) == 1 else ''}{right}" if right else ""


def _bare(location: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """A location without what isn't a part of the path."""
    return tuple(part for part in location if part not in MARKERS)


def _kind_of(value: object) -> str:
    """What stands where a mapping or a list is meant; a single text may be a pasted secret, and isn't shown."""
    if value is None:
        return "nothing"
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list", dict: "a mapping"}
    return kinds.get(type(value), "another value")


def _empty_nodeset(location: tuple[int | str, ...], value: object) -> str:
    """What a NodeSet needs at least, where a name stands alone."""
    alone = value is None and len(location) == 2 and location[0] == "nodesets"
    return as_yaml(nested((*location, "replicas"), 1)) if alone else ""


def _unknown(location: tuple[int | str, ...], where: str, value: object) -> Finding:  # noqa: PLR0911 - one a kind of word
    """A key that isn't a setting: a word of a chart, a secret that belongs elsewhere, or a word that is shown in part."""
    if (secret := secret_of(where)) is not None:
        return at(where).exposed(in_plain_text(secret))
    bare, word = _bare(location), str(location[-1])
    named = in_camel_case(word)  # a word in snake_case is looked up as a file has it
    typed = (*bare[:-1], named)
    own = unknown(bare, value) or unknown(typed, value)
    meant = meant_by(location)
    spelt = meant.lower() == word.lower()  # the same word: all below it goes with it
    if known := own or (None if spelt else advice(_path(typed), value) or of_pods(bare, value)):
        in_part = None if own or is_word(named) else of_any_word(typed, value, known)
        return _advised(*(in_part or (where, known)), got="is not a setting")
    if where == "config":
        return at(where).error("is a second `config:` inside the first: move its lines up to the first one")
    if not spelt and (other := elsewhere(location, value)):
        return at(where).error(f"is not a setting; {other}")
    if meant:
        instead = nested((*location[:-1], meant), value)
        paste = as_yaml(masked(instead)) if instead else ""
        return at(where).error(f"is not a setting; did you mean {meant}?", paste, instead or None)
    if (said := parameter(where, str(location[-1]))) is not None:
        return at(where).error(said)
    allowed = siblings(location)
    begun = begun_by(word, allowed)
    near = f"; did you mean {begun}?" if begun else f"; allowed here: {', '.join(allowed)}" if allowed else ""
    return at(".".join([*map(str, bare[:-1]), word if is_word(named) else unknown_word(word)])).error(
        f"is not a setting{near}"
    )


_A_TOKEN = (
    "has a token in plain text. Remove it, and treat it as leaked: it is in the file, its history and what was shown of it."
    " Anyone who has one of Slurm acts as its user until it ends"
)


def tokens_in(data: Mapping[str, object]) -> Iterator[str]:
    """Paths of all JSON web tokens in a configuration, in names as in values: no setting has one."""
    left: list[tuple[str, object, int]] = [("", data, 0)]
    while left:
        path, value, depth = left.pop()
        if isinstance(value, str) and has_token(value):
            yield place(path)
        parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list | tuple) else ()
        for name, part in parts if depth < _DEEPEST else ():
            below = f"{path}.{name}".lstrip(".")
            if has_token(str(name)):
                yield place(below)
            left.append((below, part, depth + 1))


def secret_of(where: str) -> str | None:
    """Which secret of this program an unknown setting is meant for; None where it is none."""
    section, _, name = where.rpartition(".")
    name = name.lower().replace("_", "").replace("-", "")
    if section.startswith("accounting") and name in {"password", "passwd", "databasepassword", "storagepass"}:
        return "databasePassword"
    return next((key for key in SECRET_KEYS if key.lower() == name), None)


def in_plain_text(name: str) -> str:
    """What to do about a secret that is in a stack's file as plain text."""
    return (
        "is a secret in plain text. Remove it, and treat it as leaked: it is in the file, its history and what was shown of"
        f" it. {given_again(name)}"
    )


def _advised(where: str, known: Advice, got: str) -> Finding:
    return at(where).error(f"{got}; {known.words}", known.paste, known.instead)


def _unquoted(where: str, value: float, location: tuple[int | str, ...]) -> Finding:  # noqa: PLR0911 - one a kind
    """A number or a truth value where a text is meant: YAML takes 26.05 for a number, and 26.10 for 26.1."""
    leaf = str(_bare(location)[-1])
    leaf = leaf if name_of(leaf) == leaf else "NAME"
    if isinstance(value, bool):
        return at(where).error(f'got {_yaml(value)}, a truth value and no text: write "{_yaml(value)}", with the quotes')
    if not -_LARGE < value < _LARGE:
        return at(where).error("got a number of many digits (not shown); it must be a text")
    if where == "cluster.slurmVersion" and 1 < value < float(".".join(map(str, MINIMUM_SLURM))):
        return at(where).error(too_old(_release(value) or str(value)))
    if where == "operator.version":
        return at(where).error(f'got the number {value}; give all three numbers, quoted: {leaf}: "1.2.1"', _VERSION)
    text = _release(value) if where == "cluster.slurmVersion" and abs(value) < 100 else str(value)
    if not text:
        return at(where).error(f'got the number {value}, and Slurm has no such release; quote one: {leaf}: "26.05"')
    if location[0] == "controller" and location[1] in _FILES:
        return at(where).error(
            f"got the number {value}, and holds the text of a file: write `{leaf}: |`, and the text below it"
        )
    # 1.10 and 1.1 are one number: only a release, of which the form is known, and whole numbers are sure.
    sure = where == "cluster.slurmVersion" or isinstance(value, int)
    instead = nested(location, text) or None if sure else None
    of_list = isinstance(_bare(location)[-1], int)
    right = f'- "{text}"' if of_list else f'{leaf}: "{text}"'
    return at(where).error(f"got the number {value}; quote it: {right}", _quoted(location, text), instead)


_MONTHS = ("02", "05", "08", "11")
"""Of Slurm's releases since 20.02."""


def _release(value: float) -> str:
    """The release that a number is, to which 26.05 with a 0 left out is 26.5; empty where none is."""
    year, month = f"{value:05.2f}".split(".")
    meant = (month, f"0{month[0]}" if month[1] == "0" else month)
    return next((f"{year}.{spelling}" for spelling in meant if spelling in _MONTHS), "")


_FILES = frozenset({"prolog", "epilog", "configFiles"})


def _quoted(location: tuple[int | str, ...], text: str) -> str:
    section, *inner = (str(part) for part in location if part not in MARKERS)
    if any(isinstance(part, int) for part in location) or any(
        not part.isidentifier() and not part.replace("-", "").isalnum() for part in inner
    ):
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
