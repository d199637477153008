"""YAML that somebody else wrote, as plain values; what can't be read is never quoted, for it may be a secret.

All of it is written for programs in Go: Helm's values, kubeconfigs, stacks' files. So texts such as ``12:30:00`` and dates
are texts, as Go's libraries have them, where PyYAML reads the older standard, and numbers. Helm and kubectl read YAML 1.1,
to which ``yes`` and ``OFF`` are truth values; Pulumi reads YAML 1.2, to which they are texts (:class:`StackLoader`).

PyYAML takes a time that grows with the square of the nesting of brackets, and its errors quote the text: a tag such as
!!bool before a token raises whatever it likes, with the token in it.
"""

from __future__ import annotations

import re
from typing import Final

import yaml

DEEPEST: Final = 100
"""Brackets within brackets; no kubeconfig and no stack file has ten."""
TAB: Final = "a tab indents here, YAML takes spaces"
_INDENT: Final = re.compile(r"^ *\t", re.MULTILINE)
_BRACKET: Final = re.compile(r"[\[\]{}]")


class NotYamlError(ValueError):
    """The text isn't YAML, or nested deeper than any that a person writes. ``line``: where, from 1; 0: not known. ``why``:
    the reason, where it is known."""

    def __init__(self, line: int = 0, why: str = "", problem: yaml.MarkedYAMLError | None = None) -> None:
        """``problem``: what the parser said, which quotes the text."""
        self.line, self.why, self.problem = line, why, problem
        super().__init__(f"isn't YAML{f' at line {line}' if line else ''}{f': {why}' if why else ''}")


class Loader(yaml.SafeLoader):
    """YAML as Go's libraries have it."""


_BY_FORM: Final = {f"tag:yaml.org,2002:{kind}" for kind in ("timestamp", "int", "float")}
"""Kinds of values that PyYAML tells by more forms than Go's libraries."""
Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in known if tag not in _BY_FORM]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"[-+]?(?:0|[1-9][0-9_]*|0o?[0-7_]+|0x[0-9a-fA-F_]+)$"), list("-+0123456789")
)
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"(?:[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
    ),
    list("-+0123456789."),
)


class StackLoader(yaml.SafeLoader):
    """YAML as Pulumi has a stack's file: ``resolve`` of yaml.v3, and then JSON, which writes 1.0 and 1e3 as 1 and 1000 (run:
    ``pulumi config --json``)."""


_OF_GO: Final = {"tag:yaml.org,2002:null", "tag:yaml.org,2002:merge"}
"""Kinds of values of which PyYAML and yaml.v3 have the same forms."""
_WHOLE: Final = re.compile(
    r"[-+]?(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<two>[01]+)|0[oO]?(?P<eight>[0-7]+)|(?P<ten>0|[1-9][0-9]*))"
)
_BASES: Final = {"hex": 16, "two": 2, "eight": 8, "ten": 10}
_DECIMAL: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_EXPONENT_FROM: Final = 1e21
"""Where Go's JSON begins to write numbers with an exponent."""
_NUMBER: Final = "tag:yaml.org,2002:float"
StackLoader.yaml_implicit_resolvers = {
    first: kept
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    if (kept := [(tag, pattern) for tag, pattern in known if tag in _OF_GO])
}
StackLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
StackLoader.add_implicit_resolver(
    _NUMBER, re.compile(r"[-+]?(?:[0-9.][0-9a-fA-FxXoObB_.+-]*|\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"), list("-+0123456789.")
)


def _number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int | float | str:
    """The number of a scalar that may be one; the text of any other."""
    plain = node.value.replace("_", "")
    if whole := _WHOLE.fullmatch(plain):
        kind = whole.lastgroup or "ten"
        return int(whole[kind], _BASES[kind]) * (-1 if plain.startswith("-") else 1)
    if plain.lower().lstrip("+-") in (".inf", ".nan"):
        return float(plain.replace(".", "", 1))
    number = float(plain) if _DECIMAL.fullmatch(plain) else float("inf")
    if abs(number) == float("inf"):
        return str(loader.construct_scalar(node))
    return int(number) if number.is_integer() and abs(number) < _EXPONENT_FROM else number


StackLoader.add_constructor(_NUMBER, _number)


class StackDumper(yaml.SafeDumper):
    """Writes YAML for Pulumi: a text that it would take for a number, as 0E0, has quotes."""


StackDumper.add_implicit_resolver(
    _NUMBER,
    re.compile(r"(?:[-+]?(?:\.[0-9_]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?0[xXoObB][0-9a-fA-F_]+)$"),
    list("-+0123456789."),
)


def read(text: str, loader: type[yaml.SafeLoader] = Loader) -> object:
    """The value of a document. Raises :class:`NotYamlError`, and nothing else."""
    require_shallow(text)
    try:
        return yaml.load(text, loader)
    except Exception as error:  # see above
        if tab := tab_in(text, getattr(error, "problem", None) or ""):
            raise NotYamlError(text.count("\n", 0, tab.start()) + 1, TAB) from None
        mark = getattr(error, "problem_mark", None)
        marked = error if isinstance(error, yaml.MarkedYAMLError) else None
        raise NotYamlError(mark.line + 1 if mark is not None else 0, problem=marked) from None


def tab_in(text: str, problem: str | None) -> re.Match[str] | None:
    """The first tab that indents a line, where it is PyYAML's ``problem`` with a text; without a problem, wherever it is."""
    return _INDENT.search(text) if problem is None or "\\t" in problem else None


def require_shallow(text: str) -> None:
    """Raises :class:`NotYamlError` for brackets within more brackets than PyYAML reads in a time that anybody waits."""
    depth = 0
    for found in _BRACKET.finditer(text):
        depth = depth + 1 if found[0] in "[{" else max(depth - 1, 0)
        if depth > DEEPEST:
            raise NotYamlError(text.count("\n", 0, found.start()) + 1)
