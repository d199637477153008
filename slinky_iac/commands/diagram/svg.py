"""A drawing as one SVG that needs nothing else: light and dark by the reader's setting, words for who can't see it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Final

from slinky_iac.commands.diagram.build import Key, Picture, in_namespace
from slinky_iac.commands.diagram.layout import lay_out, tag_width
from slinky_iac.commands.diagram.shapes import (
    CAPTION_TEXT,
    HEADING,
    LINE,
    MARGIN,
    SMALL,
    SMALL_LINE,
    TAG,
    TAG_GAP,
    TAG_ROW,
    TEXT,
    TITLE,
    Area,
    Drawing,
    Label,
    Line,
    Placed,
    Point,
)
from slinky_iac.commands.diagram.ways import crossings
from slinky_iac.keys.registry import BY_NAME
from slinky_iac.text import page

_CSS: Final = Template("".join((Path(__file__).with_name("diagram.css")).read_text().splitlines())).substitute(
    heading=HEADING, title=TITLE, text=TEXT, small=SMALL, caption=CAPTION_TEXT
)
"""Letters as high as :mod:`.layout` measures them."""
_KEY_CLASS: Final = {name: str(number) for number, name in enumerate((*BY_NAME, "public"), 1)}


def svg(picture: Picture) -> str:
    """The picture, ending with a line break."""
    return "\n".join(_document(lay_out(picture))) + "\n"


def _document(drawing: Drawing) -> Iterator[str]:
    picture, wide, high = drawing.picture, _n(drawing.w), _n(drawing.h)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img"'
        ' aria-labelledby="title desc">'
    )
    yield f'<title id="title">{page(picture.title)}</title>'
    yield f'<desc id="desc">{page(picture.description, len(picture.description))}</desc>'
    yield f"<style>{_CSS}</style>"
    yield (
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"'
        ' orient="auto-start-reverse"><path class="tip" d="M0 0 10 5 0 10z"/></marker></defs>'
    )
    yield f'<rect width="{wide}" height="{high}" rx="14" fill="var(--bg)"/>'
    yield f'<text class="h" x="{_n(MARGIN)}" y="40">{page(drawing.heading)}</text>'
    for area in drawing.areas:
        yield _area(area)
    for number, line in enumerate(drawing.lines):
        yield from _line(line, list(drawing.lines[:number]))
    for placed in drawing.boxes:
        yield from _box(placed)
    for line in drawing.lines:
        if line.label is not None:
            yield from _label(line.label)
    yield from _legend(drawing)
    yield "</svg>"


def _area(area: Area) -> str:
    kind = "out" if area.place == "outside" else "kube"
    (x, y) = area.at
    return (
        f'<path d="{_closed(area.outline, 12)}" fill="var(--{kind})" stroke="var(--{kind}edge)"/>'
        f'<text class="c" x="{_n(x)}" y="{_n(y)}">{page(area.caption)}</text>'
    )


def _line(line: Line, earlier: list[Line]) -> Iterator[str]:
    ends = (' marker-end="url(#tip)"' if line.head else "") + (' marker-start="url(#tip)"' if line.tail else "")
    dash = " dash" if line.arrow.dashed else ""
    for (x, y), upright in crossings(line, earlier):
        yield (
            f'<path class="halo" d="M{_n(x)} {_n(y - 7)}v14"/>'
            if upright
            else f'<path class="halo" d="M{_n(x - 7)} {_n(y)}h14"/>'
        )
    yield f'<path class="wire{dash}" d="{_way(line)}"{ends}/>'


def _closed(corners: tuple[Point, ...], radius: float) -> str:
    """An outline with rounded corners."""
    parts = list[str]()
    for at, here in enumerate(corners):
        into = _toward(here, corners[at - 1], radius)
        out = _toward(here, corners[(at + 1) % len(corners)], radius)
        parts.append(
            f"{'L' if parts else 'M'}{_n(into[0])} {_n(into[1])}Q{_n(here[0])} {_n(here[1])} {_n(out[0])} {_n(out[1])}"
        )
    return "".join(parts) + "Z"


def _way(line: Line) -> str:
    """Straight parts with rounded corners."""
    (x, y), *rest = line.points
    parts = [f"M{_n(x)} {_n(y)}"]
    for at, (here, there) in enumerate(zip(rest, [*rest[1:], None], strict=True)):
        if there is None:
            parts.append(f"L{_n(here[0])} {_n(here[1])}")
            continue
        before = line.points[at]
        radius = min(8.0, _far(before, here) / 2, _far(here, there) / 2)
        into, out = _toward(here, before, radius), _toward(here, there, radius)
        parts.append(f"L{_n(into[0])} {_n(into[1])}Q{_n(here[0])} {_n(here[1])} {_n(out[0])} {_n(out[1])}")
    return "".join(parts)


def _far(a: Point, b: Point) -> float:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def _toward(point: Point, other: Point, by: float) -> Point:
    far = _far(point, other) or 1.0
    return point[0] + (other[0] - point[0]) / far * by, point[1] + (other[1] - point[1]) / far * by


def _box(placed: Placed) -> Iterator[str]:
    box, x, y = placed.box, placed.x, placed.y
    where = [in_namespace(box.namespace)] if box.namespace else []
    yield f'<g id="{page(box.id)}"><title>{page(". ".join((box.title, *box.lines, *where)))}</title>'
    dash = ' stroke-dasharray="5 4"' if box.kind == "service" else ""
    yield f'<rect class="card" x="{_n(x)}" y="{_n(y)}" width="{_n(placed.w)}" height="{_n(placed.h)}" rx="9"{dash}/>'
    yield f'<rect x="{_n(x)}" y="{_n(y + 9)}" width="4" height="{_n(placed.h - 18)}" rx="2" fill="var(--{box.kind})"/>'
    at = y + 26
    for text in placed.title:
        yield f'<text class="t" x="{_n(x + 14)}" y="{_n(at)}">{page(text)}</text>'
        at += 18
    for text in placed.lines:
        yield f'<text class="l" x="{_n(x + 14)}" y="{_n(at)}">{page(text)}</text>'
        at += LINE
    for row in placed.tags:
        left = x + 14
        for key in row:
            yield from _tag(key, left, at - 8)
            left += tag_width(key) + TAG_GAP
        at += TAG_ROW
    yield "</g>"


def _tag(key: Key, x: float, y: float) -> Iterator[str]:
    which = _KEY_CLASS.get(key.id, "1")
    yield f'<rect class="k{which}" x="{_n(x)}" y="{_n(y)}" width="{_n(tag_width(key))}" height="{_n(TAG)}" rx="9.5"/>'
    yield f'<text class="n{which}" x="{_n(x + 7)}" y="{_n(y + 13.5)}">{page(key.name)}</text>'


def _label(label: Label) -> Iterator[str]:
    for number, text in enumerate(label.lines):
        y = label.y - SMALL_LINE * (len(label.lines) - 1 - number)
        yield f'<text class="s" x="{_n(label.x)}" y="{_n(y)}" text-anchor="{label.anchor}">{page(text)}</text>'


def _legend(drawing: Drawing) -> Iterator[str]:
    y = drawing.legend_y
    keys = {key.id: key for key in drawing.picture.keys}
    for key, lines in drawing.legend:
        yield from _tag(keys[key], MARGIN, y - 13)
        for text in lines:
            yield f'<text class="l" x="{_n(MARGIN + 110)}" y="{_n(y)}">{page(text)}</text>'
            y += LINE
        y += 8
    yield f'<path class="wire" d="M{_n(MARGIN)} {_n(y - 4)}h46" marker-end="url(#tip)"/>'
    yield f'<text class="l" x="{_n(MARGIN + 58)}" y="{_n(y)}">opens the connection, to this port</text>'
    if not any(arrow.dashed for arrow in drawing.picture.arrows):
        return
    yield f'<path class="wire dash" d="M{_n(MARGIN + 320)} {_n(y - 4)}h46" marker-end="url(#tip)"/>'
    yield f'<text class="l" x="{_n(MARGIN + 378)}" y="{_n(y)}">through the API server\'s service proxy</text>'


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
