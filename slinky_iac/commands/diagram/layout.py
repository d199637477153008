"""Where everything stands: four columns, rows as high as they must be, lines in the channels between. Pixels, no drawing.

Column 0 is the desk, 1 slurmrestd, the operator and the API server, 2 Slurm in Kubernetes, 3 outside. Columns 0 and 1 have
rows of their own height; those of 2 and 3 are common, so that a line between them is level. Each area is as high as
its boxes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slinky_iac.commands.diagram.build import Box, Key, Picture, in_namespace
from slinky_iac.commands.diagram.measure import width, wrapped
from slinky_iac.commands.diagram.shapes import (
    APART,
    CAPTION,
    CAPTION_TEXT,
    HEADING,
    LEFTS,
    LINE,
    MARGIN,
    NODE_GAP,
    PADDING,
    REST_LANE,
    ROW_GAP,
    TAG_GAP,
    TAG_ROW,
    TEXT,
    TITLE,
    TOP,
    TOTAL,
    UPRIGHT,
    WIDTHS,
    Area,
    Drawing,
    Line,
    Placed,
    Point,
)
from slinky_iac.commands.diagram.ways import ways


def lay_out(picture: Picture) -> Drawing:
    """Place everything."""
    sized = [_sized(box, picture.keys) for box in picture.boxes]
    placed = {**_common_rows(sized), **_own_rows(sized)}
    boxes = tuple(placed[box.id] for box in picture.boxes)
    lines = tuple(ways(picture, placed))
    areas = tuple(_areas(picture, boxes, _far(lines, placed)))
    end = max(y for area in areas for _, y in area.outline)
    end = max(end, *(placed_box.y + placed_box.h for placed_box in boxes if placed_box.box.place == "desk"))
    legend = tuple((key.id, wrapped(key.text, TEXT, TOTAL - 2 * MARGIN - 130, 2)) for key in picture.keys)
    height = end + 26 + sum(max(len(lines), 1) * LINE + 8 for _, lines in legend) + LINE + 14
    heading = " ".join(wrapped(picture.title, HEADING, TOTAL - 2 * MARGIN, 1, bold=True))
    return Drawing(picture, heading, TOTAL, height, boxes, areas, lines, legend, end + 26)


def _common_rows(sized: list[Placed]) -> dict[str, Placed]:
    """Columns 2 and 3, and row 0 of column 1, whose lines lead into them."""
    placed: dict[str, Placed] = {}
    y = TOP + CAPTION
    for row in sorted({sized_box.box.row for sized_box in sized if sized_box.box.column > 1}):
        here = [sized_box for sized_box in sized if sized_box.box.row == row and sized_box.box.column > 1]
        placed |= {sized_box.box.id: replace(sized_box, y=y) for sized_box in here}
        y += max(sized_box.h for sized_box in here) + (ROW_GAP if row < 2 else NODE_GAP)
    return placed


def _own_rows(sized: list[Placed]) -> dict[str, Placed]:
    """Column 1, where each namespace begins an area, and the desk beside the API server."""
    placed: dict[str, Placed] = {}
    above: Placed | None = None
    for placed_box in sorted(
        (sized_box for sized_box in sized if sized_box.box.column == 1), key=lambda sized_box: sized_box.box.row
    ):
        y = TOP + CAPTION if above is None else above.y + above.h + (ROW_GAP if _together(above, placed_box) else APART)
        above = placed[placed_box.box.id] = replace(placed_box, y=y)
    tops = {placed_box.box.row: placed_box.y for placed_box in placed.values()}
    return placed | {
        sized_box.box.id: replace(sized_box, y=tops[sized_box.box.row]) for sized_box in sized if sized_box.box.column == 0
    }


def _together(one: Placed, other: Placed) -> bool:
    """Whether they are in one area."""
    return (one.box.place, one.box.namespace) == (other.box.place, other.box.namespace)


def _sized(box: Box, keys: tuple[Key, ...]) -> Placed:
    wide = WIDTHS[box.column]
    room = wide - 26
    title = wrapped(box.title, TITLE, room, 2, bold=True)
    lines = tuple(line for text in box.lines for line in wrapped(text, TEXT, room, 2))
    tags = _rows(tuple(key for key in keys if key.id in box.keys), wide - 20)
    high = 14 + len(title) * 18 + len(lines) * LINE + (len(tags) * TAG_ROW + 3 if tags else 0) + 8
    return Placed(box, LEFTS[box.column], 0, wide, high, title, lines, tags)


def _rows(keys: tuple[Key, ...], room: float) -> tuple[tuple[Key, ...], ...]:
    """As many to a row as fit."""
    rows: list[tuple[Key, ...]] = []
    for key in keys:
        if rows and sum(tag_width(tag) + TAG_GAP for tag in rows[-1]) + tag_width(key) <= room:
            rows[-1] = (*rows[-1], key)
        else:
            rows.append((key,))
    return tuple(rows)


def tag_width(key: Key) -> float:
    """How wide the sign of a key is."""
    return width(key.name, 11, bold=True) + 14


def _far(lines: tuple[Line, ...], placed: dict[str, Placed]) -> float:
    """How far to the right the ways between hosts outside go; 0 where there are none."""
    own = [line for line in lines if line.arrow.tail and placed[line.arrow.tail].box.place == "outside"]
    return max((x for line in own if placed[line.arrow.head].box.place == "outside" for x, _ in line.points), default=0.0)


def _areas(picture: Picture, boxes: tuple[Placed, ...], far: float) -> Iterator[Area]:
    """``far``: how far to the right the area outside has to go for the ways in it."""
    for place, namespace in dict.fromkeys((placed_box.box.place, placed_box.box.namespace) for placed_box in boxes):
        if place == "desk":
            continue
        inside = [
            placed_box for placed_box in boxes if (placed_box.box.place, placed_box.box.namespace) == (place, namespace)
        ]
        outline = _outline(inside, far + 12 if place == "outside" else 0)
        (x, y), (right, _) = outline[:2]
        passed = min(placed_box.x for placed_box in inside) + UPRIGHT - 8 if y > TOP and inside[0].box.column == 1 else right
        caption = picture.caption(place, namespace)
        room = min(passed, right - 16) - x - 16
        if width(caption, CAPTION_TEXT, bold=True) > room:
            caption = in_namespace(namespace)
        (shown,) = wrapped(caption, CAPTION_TEXT, room, 1, bold=True)
        yield Area(place, namespace, shown, (x + 16, y + 23), outline)


def _outline(boxes: list[Placed], least: float) -> tuple[Point, ...]:
    """A rectangle around boxes of one column, and around those of two an L: each column ends with its last box.

    ``least``: how far to the right it goes at least.
    """
    parts: list[tuple[float, float, float]] = []
    top = min(placed_box.y for placed_box in boxes) - CAPTION
    for column in sorted({placed_box.box.column for placed_box in boxes}):
        own = [placed_box for placed_box in boxes if placed_box.box.column == column]
        right = max(own[0].x + own[0].w + PADDING, least)
        parts.append((own[0].x - PADDING, right, max(placed_box.y + placed_box.h for placed_box in own) + PADDING))
    (left, right, end), *more = parts
    if not more:
        return (left, top), (right, top), (right, end), (left, end)
    _, far, low = more[0]
    step = REST_LANE - PADDING if low > end else right
    return (left, top), (far, top), (far, low), (step, low), (step, end), (left, end)
