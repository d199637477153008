"""YAML that somebody else wrote, as plain values; what can't be read is never quoted, for it may be a secret.

All of it is written for programs in Go: Helm's values, kubeconfigs, stacks' files. So texts such as ``12:30:00`` and dates
are texts, as Go's libraries have them, where PyYAML reads the older standard, and numbers. Helm and kubectl read YAML 1.1,
to which ``yes`` and ``OFF`` are truth values; Pulumi reads YAML 1.2, to which they are texts (:mod:`.pulumi_yaml`).

PyYAML takes a time that grows with the square of the nesting of brackets, and its errors quote the text: a tag such as
!!bool before a token raises whatever it likes, with the token in it. It bounds no aliases, where Go's libraries do.
"""

from __future__ import annotations

import re
from typing import ClassVar, Final

import yaml

DEEPEST: Final = 100
"""Brackets within brackets; no kubeconfig and no stack file has ten."""
MOST: Final = 100_000
"""Values that stand for aliases; Go's libraries read 400,000, and a thousand NodeSets of one anchor have 20,000."""
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


class GoLoader(yaml.SafeLoader):
    """What PyYAML refuses and Go's libraries read: tabs between words of a line (``yaml_parser_scan_to_next_token`` and
    ``yaml_parser_scan_plain_scalar`` of go-yaml)."""

    def scan_to_next_token(self) -> None:
        """Pass over blanks, comments and line breaks; a tab too, where no line's first word can be."""
        super().scan_to_next_token()
        while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
            while self.peek() in " \t":
                self.forward()
            super().scan_to_next_token()

    def scan_plain_spaces(self, indent: int, start_mark: yaml.Mark) -> list[str] | None:
        """The blanks within a text without quotes; tabs belong to it where more of it follows on the line."""
        length = 0
        while self.peek(length) in " \t":
            length += 1
        blanks = str(self.prefix(length))
        if "\t" not in blanks:
            return super().scan_plain_spaces(indent, start_mark)
        self.forward(length)
        if self.peek() in "\r\n\x85\u2028\u2029":
            return super().scan_plain_spaces(indent, start_mark)
        return [blanks]


class Loader(GoLoader):
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


class HelmLoader(Loader):
    """Helm's values: ``y`` and ``n`` are truth values in them (go-yaml's ``resolve.go``; run with Helm 3 and 4)."""

    bool_values: ClassVar[dict[str, bool]] = {**yaml.SafeLoader.bool_values, "y": True, "n": False}


HelmLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"[yYnN]$"), list("yYnN"))


def read(text: str, loader: type[yaml.SafeLoader] = Loader) -> object:
    """The value of a document. Raises :class:`NotYamlError`, and nothing else."""
    require_shallow(text)
    try:
        return _value(text, loader)
    except NotYamlError:
        raise
    except Exception as error:  # see above
        if tab := tab_in(text, getattr(error, "problem", None) or ""):
            raise NotYamlError(text.count("\n", 0, tab.start()) + 1, TAB) from None
        mark = getattr(error, "problem_mark", None)
        marked = error if isinstance(error, yaml.MarkedYAMLError) else None
        raise NotYamlError(mark.line + 1 if mark is not None else 0, problem=marked) from None


def _value(text: str, loader: type[yaml.SafeLoader]) -> object:
    reader = loader(text)
    try:
        root = reader.get_single_node()
        require_bounded(root)
        return None if root is None else reader.construct_document(root)
    finally:
        reader.dispose()


def pairs(node: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node]]:
    """Keys and values of a mapping; none of anything else."""
    return node.value if isinstance(node, yaml.MappingNode) else []


def tab_in(text: str, problem: str | None) -> re.Match[str] | None:
    """The first tab that indents a line, where it is PyYAML's ``problem`` with a text; without a problem, wherever it is."""
    return _INDENT.search(text) if problem is None or "\\t" in problem else None


def require_shallow(text: str) -> None:
    """Raises :class:`NotYamlError` for brackets within more brackets than PyYAML reads in a time that anybody waits."""
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth = depth + 1 if bracket[0] in "[{" else max(depth - 1, 0)
        if depth > DEEPEST:
            raise NotYamlError(text.count("\n", 0, bracket.start()) + 1)


def require_bounded(root: yaml.Node | None) -> None:
    """Raises :class:`NotYamlError` for an alias within its own anchor, and for aliases that multiply to more values than
    Go's libraries read (``unmarshal`` and ``allowedAliasRatio`` of go-yaml's decode.go)."""
    _Counted().visit(root)


class _Counted:
    """Values of a document, each alias with all that it stands for."""

    def __init__(self) -> None:
        self.all = self.of_aliases = self.depth = 0
        self.seen: set[int] = set()
        self.open: set[int] = set()

    def visit(self, node: yaml.Node | None) -> None:
        if not isinstance(node, yaml.Node):
            return
        line = node.start_mark.line + 1
        if id(node) in self.open:
            raise NotYamlError(line, "the value of an anchor has an alias of the same anchor in it")
        again = id(node) in self.seen
        self._count(line, 1 + again)
        if not isinstance(node, yaml.CollectionNode):
            self.seen.add(id(node))
            return
        self.open.add(id(node))
        self.depth += again
        for child in node.value:
            for inner in child if isinstance(child, tuple) else (child,):
                self.visit(inner)
        self.depth -= again
        self.open.remove(id(node))
        self.seen.add(id(node))

    def _count(self, line: int, more: int) -> None:
        self.all += more
        self.of_aliases += more if self.depth else more - 1
        if self.of_aliases > MOST:
            raise NotYamlError(line, "its aliases stand for more values than any configuration has")
        if self.of_aliases > 100 and self.all > 1000 and self.of_aliases > 0.99 * self.all:
            raise NotYamlError(line, "its aliases stand for a hundred times of what is written")
