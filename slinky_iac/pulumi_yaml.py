"""How Pulumi reads a stack's file: ``resolve`` of yaml.v3, and then JSON. Each rule was asked of ``pulumi config --json``
(tests/integration/test_scalars.py asks again).

Values: ``0300`` and ``0o300`` are 192, ``1_000`` is 1000, ``1.0`` is 1, ``yes`` and ``1:30:00`` are texts, a date is the
text that Go's ``time.Time`` prints, and ``.inf`` is refused. Names are texts always: ``5:`` is ``"5"``, ``1.50:`` is
``"1.5"``.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from math import isfinite, isnan
from typing import Any, Final

import yaml

from slinky_iac.safe_yaml import GoLoader


def stack_of(name: str) -> str:
    """The stack of a file's name: ``prod`` of Pulumi.prod.yaml."""
    return name.removeprefix("Pulumi.").removesuffix(".yaml")


class StackLoader(GoLoader):
    """YAML as Pulumi has a stack's file."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        """A mapping, with the texts that Pulumi makes of its names."""
        self.flatten_mapping(node)
        mapping: dict[Any, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    "while constructing a mapping", node.start_mark, "found unhashable key", key.start_mark
                )
            mapping[text_of_key(key)] = self.construct_object(value, deep=deep)
        return mapping


_OF_GO: Final = {"tag:yaml.org,2002:null", "tag:yaml.org,2002:merge"}
"""Kinds of values of which PyYAML and yaml.v3 have the same forms."""
_WHOLE: Final = re.compile(
    r"[-+]?(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<two>[01]+)|0[oO]?(?P<eight>[0-7]+)|(?P<ten>0|[1-9][0-9]*))"
    r"|0o(?P<signed_eight>[-+][0-7]+)|0b(?P<signed_two>[-+][01]+)"
)
_BASES: Final = {"hex": 16, "two": 2, "eight": 8, "ten": 10, "signed_eight": 8, "signed_two": 2}
_DECIMAL: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_BETWEEN: Final = re.compile(r"(?<![0-9])_|_(?![0-9])")
"""``_`` that isn't between two digits."""
_OCTAL: Final = re.compile(r"[-+]?_*0_*[0-7][0-7_]*")
_DATE: Final = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(\.\d+)?(Z|[-+]\d\d:\d\d))"
    r"|(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(\.\d+)?))?"
)
"""``allowedTimestampFormats`` of yaml.v3's resolve.go."""
_PRINTED: Final = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) \+0000 UTC")
_LARGEST: Final = 2**63 - 1
_EXPONENT_FROM: Final = 1e21
"""Where Go's JSON begins to write numbers with an exponent."""
_PLAIN: Final = range(-4, 6)
"""Powers of ten that ``strconv.FormatFloat`` writes without one (``%g``)."""
_NUMBER: Final = "tag:yaml.org,2002:float"
_TRUTH: Final = "tag:yaml.org,2002:bool"
_NULL: Final = "tag:yaml.org,2002:null"
_TIME: Final = "tag:yaml.org,2002:timestamp"
StackLoader.yaml_implicit_resolvers = {
    first: kept
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    if (kept := [(tag, pattern) for tag, pattern in known if tag in _OF_GO])
}
StackLoader.add_implicit_resolver(_TRUTH, re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
StackLoader.add_implicit_resolver(_TIME, re.compile(rf"{_DATE.pattern}$"), list("0123456789"))
StackLoader.add_implicit_resolver(
    _NUMBER,
    re.compile(r"(?:[-+]?[0-9.][0-9a-fA-FxXoObB_.+-]*|[-+]_[0-9_.a-fA-F+-]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"),
    list("-+0123456789."),
)


def number(text: str) -> int | float | str:
    """The number that a word is to Pulumi, as its JSON has it; the word itself where it is none."""
    value = _of_go(text)
    if isinstance(value, int) and abs(value) > _LARGEST:
        value = float(value)
    if isinstance(value, float) and isfinite(value) and value.is_integer() and abs(value) < _EXPONENT_FROM:
        return int(Decimal(repr(value)))
    return value


def _of_go(text: str) -> int | float | str:
    """The same as yaml.v3 has it: whole numbers of 64 bits, and all others with 53 of them."""
    plain = text.replace("_", "")
    if text.startswith(".") and _NOT_BETWEEN.search(text):
        return text
    if whole := _WHOLE.fullmatch(plain):
        kind = whole.lastgroup or "ten"
        integer = int(whole[kind], _BASES[kind]) * (-1 if plain.startswith("-") else 1)
        if abs(integer) <= _LARGEST or (plain[0] not in "+-" and integer < 2**64):
            return integer
    if plain.lower().lstrip("+-") in (".inf", ".nan"):
        return float(plain.replace(".", "", 1))
    value = float(plain) if _DECIMAL.fullmatch(plain) else float("inf")
    return value if isfinite(value) else text


def time_of(text: str) -> str:
    """What Go's ``time.Time`` prints of a date; the text itself where it isn't a day or time that there is."""
    match = _DATE.fullmatch(text)
    if match is None:
        return text
    year, month, day, *clock = match.groups()
    hour, minute, second, rest = clock[:4] if clock[0] is not None else clock[5:9]
    zone = clock[4] or "Z"
    away = timedelta(0) if zone == "Z" else timedelta(hours=int(zone[:3]), minutes=int(zone[0] + zone[4:]))
    try:
        when = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=timezone(away)
        )
    except ValueError:
        return text
    named = "+0000 UTC" if zone == "Z" else f"{zone.replace(':', '')} {zone.replace(':', '')}"
    fraction = (rest or "").rstrip("0").removesuffix(".")
    return f"{when:%Y-%m-%d %H:%M:%S}{fraction} {named}" if int(year) > 999 else text


def written(text: str) -> str:
    """A date or a time as people write it, 2026-11-22 or 2026-11-22T10:00:00Z, of what Go prints of one; another text as it
    is."""
    if (match := _PRINTED.fullmatch(text)) is None:
        return text
    return match[1] if match[2] == "00:00:00" else f"{match[1]}T{match[2]}Z"


def text_of_key(key: yaml.Node) -> str:
    """The text that a name is to Pulumi: what Go's ``fmt.Sprint`` makes of its value."""
    text = str(key.value)
    known = {_TRUTH: text.lower(), _NULL: "<nil>", _TIME: time_of(text)}
    value = _of_go(text) if key.tag == _NUMBER else known.get(key.tag, text)
    return _printed(value) if isinstance(value, float) else str(value)


def _printed(value: float) -> str:
    """A number as ``strconv.FormatFloat`` writes it."""
    if not isfinite(value):
        return "NaN" if isnan(value) else f"{value:+}".replace("inf", "Inf")
    exact = Decimal(repr(value or 0.0)).normalize()  # -0 is 0
    if exact.adjusted() in _PLAIN:
        return f"{exact:f}"
    digits = "".join(map(str, exact.as_tuple().digits))
    point = "." if digits[1:] else ""
    return f"{'-' if value < 0 else ''}{digits[0]}{point}{digits[1:]}e{exact.adjusted():+03d}"


def misread(node: yaml.Node, name: str) -> str | None:
    """What Pulumi makes of a value that is written otherwise than it looks, below ``name``: of ``0300`` the number 192. An
    empty text for one over which it refuses the file; None for any other."""
    if node.tag != _NUMBER or not isinstance(node, yaml.ScalarNode) or node.style is not None:
        return None
    value = number(node.value)
    if isinstance(value, float) and not isfinite(value):
        return ""
    is_octal = _OCTAL.fullmatch(node.value) is not None and value != int(node.value.replace("_", ""))
    return str(value) if is_octal and not name.lower().endswith("mode") else None  # a file's mode is octal


def _number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int | float | str:
    return number(str(loader.construct_scalar(node)))


def _time(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    return time_of(str(loader.construct_scalar(node)))


StackLoader.add_constructor(_NUMBER, _number)
StackLoader.add_constructor(_TIME, _time)


class StackDumper(yaml.SafeDumper):
    """Writes YAML for Pulumi: a text that it would take for a number or a date, as 0E0, has quotes."""


StackDumper.add_implicit_resolver(
    _NUMBER,
    re.compile(r"(?:[-+]?(?:\.[0-9_]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?0[xXoObB][0-9a-fA-F_]+)$"),
    list("-+0123456789."),
)
StackDumper.add_implicit_resolver(_TIME, re.compile(rf"{_DATE.pattern}$"), list("0123456789"))
