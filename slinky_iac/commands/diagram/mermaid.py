"""A picture as Mermaid, which GitHub and GitLab draw in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from slinky_iac.commands.diagram.build import Arrow, Box, Picture, in_namespace

_SHAPES: Final = {"database": ('[("', '")]'), "service": ('(["', '"])'), "nodes": ('[["', '"]]')}
_PLAIN: Final = ('["', '"]')


def mermaid(picture: Picture) -> str:
    """The picture's text, ending with a line break. It sets no colour, so light and dark both work."""
    return "\n".join(_lines(picture)) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    yield "flowchart LR"
    yield f"    accTitle: {_word(picture.title)}"
    yield f"    accDescr: {_word(picture.description)}"
    for box in picture.boxes:
        if box.place == "desk":
            yield f"    {_box(box, picture)}"
    inside = [box for box in picture.boxes if box.place in {"control plane", "kubernetes"}]
    yield '    subgraph kubernetes ["Kubernetes"]'
    yield from (f"        {_box(box, picture)}" for box in inside if box.place == "control plane")
    for number, namespace in enumerate(dict.fromkeys(box.namespace for box in inside if box.place == "kubernetes")):
        yield f'        subgraph namespace{number} ["{_text(in_namespace(namespace))}"]'
        own = (box for box in inside if box.place == "kubernetes" and box.namespace == namespace)
        yield from (f"            {_box(box, picture)}" for box in own)
        yield "        end"
    yield "    end"
    external = [box for box in picture.boxes if box.place == "outside"]
    if external:
        yield f'    subgraph outside ["{picture.caption("outside", "")}"]'
        yield from (f"        {_box(box, picture)}" for box in external)
        yield "    end"
    yield from (f"    {_arrow(arrow)}" for arrow in picture.arrows)


def _box(box: Box, picture: Picture) -> str:
    before, after = _SHAPES.get(box.kind, _PLAIN)
    lines = [f"<b>{_text(box.title)}</b>", *map(_text, box.lines)]
    held = [_text(key.name) for key in picture.keys if key.id in box.keys]
    if held:
        lines.append(f"<i>holds {', '.join(held)}</i>")
    return f"{_id(box.id)}{before}{'<br/>'.join(lines)}{after}"


def _arrow(arrow: Arrow) -> str:
    line = ("<-.->" if arrow.both else "-.->") if arrow.dashed else ("<-->" if arrow.both else "-->")
    label = f'|"{_text(arrow.label)}"|' if arrow.label else ""
    return f"{_id(arrow.tail)} {line}{label} {_id(arrow.head)}"


def _id(name: str) -> str:
    """An id that isn't a word of Mermaid's own (``end``, ``graph``, ``o--`` …)."""
    return "b_" + re.sub(r"\W", lambda match: f"_{ord(match[0]):x}_", name)


def _text(text: str) -> str:
    """A label's text: quotes, brackets and HTML as entities in Mermaid's own form."""
    return "".join(char if char.isalnum() or char in " .,:;-_/+*·?'=[]()" else f"#{ord(char)};" for char in text)


def _word(text: str) -> str:
    """Text of a line of its own (accTitle, accDescr), where nothing is quoted."""
    return " ".join(re.sub(r"[^\w .,:/\[\]-]", " ", text).split())
