"""docs/api.md: what a Python program can use, made from signatures and docstrings.

Why no library: pdoc and Sphinx write a site of their own; this page is one of the project's, and is in the wheel.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Final

import slinky_iac

HEAD: Final = """# Python reference

<!-- Made by `python -m slinky_iac reference api`; a test keeps it current. Change docstrings, not this page. -->

What a Pulumi program in Python can use. [Your own repository](own-repository.md#in-a-program-of-your-own) shows how, and
[examples/program](../examples/program) is a whole program. A section is a mapping with the names of the
[configuration](configuration.md). `settings` below is `slinky_iac.settings`, which has the type of each for a type
checker. `Hosts` is a name or an IP address, an Output of one, or `slinky_iac.address(…)`.

## Import from slinky_iac
"""
PARTS: Final = """
## Parts of a cluster

In `slinky_iac.components`, each with a class for its arguments. `HybridCluster` and `NodeSet` are here with arguments of
their own: the whole configuration, read and checked. Programs want those of `slinky_iac` above; these two say so where
they get anything else.
"""
OUTPUTS: Final = """
## Outputs of a stack

`HybridCluster` exports these as outputs of the whole program unless it is made with `export=False`, and has each as an
attribute. An empty text or mapping stands for what a stack doesn't have.

| Output | Attribute | What it is |
|---|---|---|
"""
TAKES: Final = """
## Settings that an Output can give

`*` stands for a name or a number of a list, `**` for all below a mapping; `nodesetDefaults` is as `nodesets.*`, and
`loginDefaults` as `logins.*`. Everything else has to be known before anything is made: the second table says why.

| It is | Settings |
|---|---|
"""
REASONS: Final = """
| Not an Output, because | Settings |
|---|---|
"""
WIDTH: Final = 100
"""Characters of a line of code on the page."""
_ROLE: Final = re.compile(r":[a-z]+:`~?(?:[\w.]+\.)?([\w]+)`")


def page() -> str:
    """The whole page, ending with a line break."""
    parts = import_module(slinky_iac.HybridCluster.__module__.rpartition(".")[0])
    top = "\n".join(_entry(getattr(slinky_iac, name)) for name in slinky_iac.FOR_PROGRAMS)
    names = [name for name in parts.__all__ if isinstance(getattr(parts, name), type) and not name.endswith("Args")]
    below = "\n".join(_component(parts, name) for name in names)
    takes = f"{TAKES}{''.join(_takes(import_module(f'{parts.__name__}.takes')))}"
    return f"{HEAD}\n{top}{PARTS}\n{below}{OUTPUTS}{''.join(_outputs(parts))}{takes}"


def _takes(takes: ModuleType) -> Iterator[str]:
    by_kind: dict[str, list[str]] = {}
    for setting, kind in takes.takes().items():
        by_kind.setdefault(kind, []).append(setting)
    yield from (_settings(kind, settings) for kind, settings in by_kind.items())
    yield REASONS
    yield f"| {takes.SWITCH} | switches, and settings with a choice of words |\n"
    yield f"| {takes.NUMBER} | numbers and quantities |\n"
    yield from (_settings(reason, settings) for reason, settings in takes.reasons().items())


def _settings(first: str, settings: Iterable[str]) -> str:
    own = [setting for setting in settings if not setting.startswith(("nodesetDefaults.", "loginDefaults."))]
    return f"| {first} | {', '.join(f'`{setting}`' for setting in own)} |\n"


def _entry(thing: Callable[..., Any]) -> str:
    """A class or function that programs call: its signature, then its docstrings."""
    made = thing.__init__ if isinstance(thing, type) else thing  # type: ignore[misc]
    texts = [_text(thing), _text(made)] if isinstance(thing, type) else [_text(thing)]
    shown = "\n\n".join(text for text in texts if text)
    return f"### {thing.__name__}\n\n```python\n{_signature(thing.__name__, made)}\n```\n\n{shown}\n"


def _component(parts: ModuleType, name: str) -> str:
    """A component of the package, with the fields of its arguments and its attributes."""
    component, args = getattr(parts, name), getattr(parts, f"{name}Args")
    lines = [f"### components.{name}\n", _text(component), ""]
    if is_dataclass(args):
        given = ", ".join(f"`{field.name}: {field.type}`" for field in fields(args))
        said = _text(args)
        lines += [f"`{name}Args`: {given}. {said}" if said else f"`{name}Args`: {given}.", ""]
    if name != "HybridCluster" and (has := inspect.get_annotations(component)):
        lines += [f"Attributes: {', '.join(f'`{attribute}: {kind}`' for attribute, kind in has.items())}.", ""]
    return "\n".join(lines)


def _outputs(parts: ModuleType) -> Iterator[str]:
    """A row for each output of a stack."""
    home = inspect.getmodule(parts.HybridCluster)
    exports: Mapping[str, str] = vars(home)["EXPORTS"]
    said = attribute_docs(parts.HybridCluster)
    for output, attribute in exports.items():
        yield f"| `{output}` | `{attribute}` | {_plain(said[attribute])} |\n"
    yield "| `outsideTopology` | | topology.yaml for an outside slurmctld, where the node table has a topology. |\n"


def attribute_docs(thing: type) -> dict[str, str]:
    """The docstring below each annotated attribute of a class, by the attribute's name."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    assert isinstance(body, ast.ClassDef)
    texts: dict[str, str] = {}
    for attribute, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(attribute, ast.AnnAssign) and isinstance(attribute.target, ast.Name) and isinstance(below, ast.Expr):
            value = below.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                texts[attribute.target.id] = value.value
    return texts


def _signature(name: str, function: Callable[..., Any]) -> str:
    """As it is called: without ``self``, one argument a line where they don't fit into one."""
    signature = inspect.signature(function)
    given = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
    shown: list[str] = []
    for parameter in given:
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        shown.append(str(parameter).replace(repr(parameter.annotation), str(parameter.annotation)))
    returns = "" if signature.return_annotation in (None, "None") else f" -> {signature.return_annotation}"
    line = f"{name}({', '.join(shown)}){returns}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {parameter},\n" for parameter in shown) + f"){returns}"


def _text(thing: object) -> str:
    return _plain(inspect.cleandoc(getattr(thing, "__doc__", None) or ""))


def _plain(text: str) -> str:
    """A docstring as Markdown: single backticks, names without their modules, paragraphs of one line."""
    paragraphs = re.split(r"\n\s*\n", _ROLE.sub(r"`\1`", text).replace("``", "`"))
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
