"""What a stack's file has that Pulumi reads otherwise than it looks: octal numbers, names that aren't texts, numbers that
have no end. Pure; how Pulumi reads a word is :mod:`slinky_iac.pulumi_yaml`'s."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from slinky_iac import pulumi_yaml
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.shown import hidden, name_of


def misread(node: yaml.Node, path: str) -> Iterator[tuple[int, Finding]]:
    """Every such word below a node, with its line."""
    yield from _misread(node, path, set())


def _misread(node: yaml.Node, path: str, seen: set[int]) -> Iterator[tuple[int, Finding]]:
    if id(node) in seen:  # an alias: it was judged at its anchor
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for number, child in enumerate(node.value):
            yield from _misread(child, f"{path}.{number}", seen)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = pulumi_yaml.text_of_key(key)
            below = path if key.value == "<<" else f"{path}.{name}"
            if isinstance(key, yaml.ScalarNode) and key.value not in (name, "<<"):
                said = (
                    f"is written {_shown(key.value)}, and Pulumi reads the name {_shown(name)}: put quotes around the name"
                )
                yield key.start_mark.line + 1, at(below).error(f"{said} that you mean")
            yield from _misread(value, below, seen)
    elif (read := pulumi_yaml.misread(node, path.rpartition(".")[2])) is not None:
        yield node.start_mark.line + 1, _of_value(str(node.value), read, path)


def _of_value(word: str, read: str, path: str) -> Finding:
    name = path.rpartition(".")[2]
    if hidden(name):
        return at(path).error("has a number that Pulumi reads otherwise than it looks (never shown here): put it in quotes")
    if not read:
        return at(path).error(f"is {word}, which isn't a number to JSON, and pulumi refuses the file. Give a number")
    meant = word.replace("_", "").lstrip("+-0") or "0"
    sign = "-" if word.startswith("-") else ""
    return at(path).error(
        f"is written {_shown(word)}, which is octal, and Pulumi reads {_shown(read)}: write {_shown(sign + meant)} or"
        f" {_shown(read)}, whichever you mean, without a 0 before it"
    )


def _shown(text: str) -> str:
    return name_of(text) or "nothing"
