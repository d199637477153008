"""Where everything stands: four columns, rows as high as they must be, lines in the channels between. Pixels, no drawing.

Words are measured without a browser, by the widest of the common interface fonts, so that they fit in every one.
Column 0 is the desk, 1 the control plane, 2 Slurm in Kubernetes, 3 outside. What has slurmctld for a hub joins one bus in
the channel between 2 and 3, so that no line passes through a box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from slinky_iac.commands.diagram.build import Arrow, Box, Key, Picture

_NARROW: Final = {0.28: "ijl|'", 0.34: " .,:;/![]", 0.40: "-()frt·", 0.53: "csz?_", 0.60: "vxyka"}
_WIDE: Final = {0.64: "0123456789", 0.75: "ABCDEFGHKNPQRSTUVXYZ&", 0.98: "mMWw%@…"}
_EM: Final = {char: em for table in (_NARROW, _WIDE) for em, chars in table.items() for char in chars}
"""DejaVu Sans, in em, rounded up; it is wider than Arial, Segoe UI, Roboto and San Francisco."""
_OTHER: Final = 0.66
_ASIAN: Final = 1.05
_BOLD: Final = 1.13


def width(text: str, size: float, *, bold: bool = False) -> float:
    """At most so many pixels wide in letters of ``size`` pixels."""
    ems = sum(_EM.get(char, _OTHER if ord(char) < 0x2E80 else _ASIAN) for char in text)
    return ems * size * (_BOLD if bold else 1.0)


def wrapped(text: str, size: float, room: float, most: int, *, bold: bool = False) -> tuple[str, ...]:
    """``text`` in at most ``most`` lines no wider than ``room``: broken at blanks, else behind ``-./:,``, else anywhere.
    What is too much ends in an ellipsis."""
    lines: list[str] = []
    left = text.strip()
    while left and len(lines) < most:
        if width(left, size, bold=bold) <= room:
            return (*lines, left)
        if len(lines) == most - 1:
            return (*lines, _cut(left, size, room, bold=bold))
        end = _break(left, size, room, bold=bold)
        lines.append(left[:end].strip())
        left = left[end:].strip()
    return tuple(lines)


def _fits(text: str, size: float, room: float, *, bold: bool) -> int:
    """How many characters from the beginning fit; at least one."""
    end = 1
    while end < len(text) and width(text[: end + 1], size, bold=bold) <= room:
        end += 1
    return end


def _break(text: str, size: float, room: float, *, bold: bool) -> int:
    end = _fits(text, size, room, bold=bold)
    blank = text.rfind(" ", 0, end + 1)
    if blank > 0:
        return blank
    marks = [at + 1 for at in range(end) if text[at] in "-./:,"]
    return marks[-1] if marks and marks[-1] > end // 3 else end


def _cut(text: str, size: float, room: float, *, bold: bool) -> str:
    return text[: _fits(text, size, room - width("…", size, bold=bold), bold=bold)].rstrip() + "…"


Point = tuple[float, float]

LEFTS: Final = (20.0, 262.0, 536.0, 938.0)
WIDTHS: Final = (118.0, 176.0, 216.0, 216.0)
TOTAL: Final = 1194.0
LANE: Final = 880.0
"""Where the bus goes up: to the left of it is room for words."""
REST_LANE: Final = 487.0
TOP: Final = 64.0
MARGIN: Final = 20.0
PADDING: Final = 18.0
CAPTION: Final = 34.0
CAPTION_TEXT: Final = 13.0
HEADING: Final = 19.0
ROW_GAP: Final = 40.0
NODE_GAP: Final = 22.0
"""Between rows that no upright line joins."""
TITLE: Final = 15.0
TEXT: Final = 12.5
SMALL: Final = 11.5
SMALL_LINE: Final = 14.0
LINE: Final = 17.0
TAG: Final = 19.0
TAG_GAP: Final = 6.0
TAG_ROW: Final = TAG + 4


@dataclass(frozen=True)
class Placed:
    """A box with its place and its words, line by line."""

    box: Box
    x: float
    y: float
    w: float
    h: float
    title: tuple[str, ...]
    lines: tuple[str, ...]
    tags: tuple[tuple[Key, ...], ...] = ()
    """The keys that it holds, row by row."""

    @property
    def middle(self) -> Point:
        return self.x + self.w / 2, self.y + self.h / 2


@dataclass(frozen=True)
class Label:
    """Words beside a line. ``x`` is where they begin, or end for ``end``, or their middle; ``y`` is the last baseline."""

    x: float
    y: float
    lines: tuple[str, ...]
    anchor: str = "middle"


@dataclass(frozen=True)
class Line:
    """The way of one arrow, corner by corner."""

    arrow: Arrow
    points: tuple[Point, ...]
    label: Label | None
    head: bool = True
    tail: bool = False
    """Whether there is a point at that end."""


@dataclass(frozen=True)
class Area:
    """What encloses boxes of one place."""

    caption: str
    x: float
    y: float
    w: float
    h: float


@dataclass(frozen=True)
class Drawing:
    """The whole picture, placed."""

    picture: Picture
    heading: str
    w: float
    h: float
    boxes: tuple[Placed, ...]
    areas: tuple[Area, ...]
    lines: tuple[Line, ...]
    legend: tuple[tuple[str, tuple[str, ...]], ...]
    """Id of a key, and the lines about it."""
    legend_y: float


def lay_out(picture: Picture) -> Drawing:
    """Place everything."""
    rows = sorted({box.row for box in picture.boxes})
    sized = [_sized(box, picture.keys) for box in picture.boxes]
    tops: dict[int, float] = {}
    y = TOP + CAPTION + 6
    for row in rows:
        tops[row] = y
        y += max(each.h for each in sized if each.box.row == row) + (ROW_GAP if row < 2 else NODE_GAP)
    boxes = tuple(replace(each, y=tops[each.box.row]) for each in sized)
    end = y - (NODE_GAP if rows[-1] >= 2 else ROW_GAP) + PADDING
    legend = tuple((key.id, wrapped(key.text, TEXT, TOTAL - 2 * MARGIN - 130, 2)) for key in picture.keys)
    height = end + 26 + sum(max(len(lines), 1) * LINE + 8 for _, lines in legend) + LINE + 14
    placed = {each.box.id: each for each in boxes}
    lines = tuple(_lines(picture, placed))
    heading = " ".join(wrapped(picture.title, HEADING, TOTAL - 2 * MARGIN, 1, bold=True))
    return Drawing(picture, heading, TOTAL, height, boxes, tuple(_areas(picture, boxes, end)), lines, legend, end + 26)


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
        if rows and sum(tag_width(each) + TAG_GAP for each in rows[-1]) + tag_width(key) <= room:
            rows[-1] = (*rows[-1], key)
        else:
            rows.append((key,))
    return tuple(rows)


def tag_width(key: Key) -> float:
    """How wide the sign of a key is."""
    return width(key.name, 11, bold=True) + 14


def _areas(picture: Picture, boxes: tuple[Placed, ...], end: float) -> Iterator[Area]:
    for place, caption in (("kubernetes", picture.kubernetes), ("outside", picture.external)):
        inside = [each for each in boxes if each.box.place == place]
        if inside:
            left = min(each.x for each in inside) - PADDING
            right = max(each.x + each.w for each in inside) + PADDING
            (shown,) = wrapped(caption, CAPTION_TEXT, right - left - 32, 1, bold=True)
            yield Area(shown, left, TOP, right - left, end - TOP)


def _lines(picture: Picture, placed: Mapping[str, Placed]) -> Iterator[Line]:
    bus = [arrow for arrow in picture.arrows if arrow.head == "ctl" and placed[arrow.tail].box.row >= 2]
    if bus:  # first: who crosses it is drawn above it
        yield from _bus(bus, placed)
    for arrow in picture.arrows:
        if arrow not in bus:
            yield _line(arrow, placed[arrow.tail], placed[arrow.head])


def _bus(arrows: list[Arrow], placed: Mapping[str, Placed]) -> Iterator[Line]:
    """One trunk into slurmctld, and a branch from each box; where two boxes stand side by side their branches meet."""
    hub = placed["ctl"]
    inside = hub.x < LANE
    entry = hub.y + hub.h - 18
    starts = {arrow: (box := placed[arrow.tail]).y + box.h - 20 for arrow in arrows}
    low = max(starts.values())
    side = hub.x + hub.w if inside else hub.x
    back = [arrow.label.partition(", ")[2] for arrow in arrows if arrow.both]
    words = (arrows[0].label.partition(",")[0], *back[:1])
    baseline = entry + 14 + SMALL_LINE * len(words) if inside else entry + 4 + SMALL_LINE * (len(words) - 1)
    label = Label(LANE - 8, baseline, words, "end")
    yield Line(Arrow("", "ctl", both=bool(back)), ((LANE, low), (LANE, entry), (side, entry)), label)
    for arrow in arrows:
        box, y = placed[arrow.tail], starts[arrow]
        edge = box.x + box.w if box.x < LANE else box.x
        yield Line(arrow, ((edge, y), (LANE, y)), None, head=False, tail=arrow.both)


def _line(arrow: Arrow, tail: Placed, head: Placed) -> Line:
    if tail.box.column == head.box.column:
        return _upright(arrow, tail, head)
    if tail.box.row == head.box.row:
        return _level(arrow, tail, head)
    if tail.box.column == 0:
        return _from_desk(arrow, tail, head)
    return _stepped(arrow, tail, head)


def _upright(arrow: Arrow, tail: Placed, head: Placed) -> Line:
    x = tail.x + tail.w / 2
    down = head.y > tail.y
    ends = (tail.y + tail.h, head.y) if down else (tail.y, head.y + head.h)
    label = Label(x + 8, sum(ends) / 2 + 4, (arrow.label,), "start")
    return Line(arrow, ((x, ends[0]), (x, ends[1])), label, tail=arrow.both)


def _level(arrow: Arrow, tail: Placed, head: Placed) -> Line:
    top, bottom = max(tail.y, head.y), min(tail.y + tail.h, head.y + head.h)
    y = top + (bottom - top) * (0.3 if arrow.both else 0.42)
    left, right = tail.x + tail.w, head.x
    room = (LANE - 12 if head.box.column == 3 else right - (PADDING if tail.box.column == 0 else 0)) - left
    if head.box.column == 3 and tail.box.column == 2:
        left += PADDING
        room -= PADDING
    words = wrapped(arrow.label, SMALL, room - 6, 2)
    at = left + room / 2 if head.box.column == 3 and tail.box.column == 2 else left + min(room, 96) / 2
    return Line(arrow, ((tail.x + tail.w, y), (right, y)), Label(at, y - 6, words), tail=arrow.both)


def _from_desk(arrow: Arrow, tail: Placed, head: Placed) -> Line:
    x, y = tail.x + tail.w / 2, head.y + head.h * 0.42
    room = head.x - PADDING - x - 14
    words = wrapped(arrow.label, SMALL, room, 2)
    return Line(arrow, ((x, tail.y), (x, y), (head.x, y)), Label(x + 8 + room / 2, y - 6, words))


def _stepped(arrow: Arrow, tail: Placed, head: Placed) -> Line:
    """From the lower part of one box's side through a channel into another row; leftwards too."""
    right = head.x > tail.x
    start = (tail.x + tail.w if right else tail.x, tail.y + tail.h - 18)
    far = head.box.column == 3 or tail.box.column == 3
    lane = LANE + 26 if far else REST_LANE
    y = head.y + head.h * 0.42
    end = (head.x if right else head.x + head.w, y)
    words = (arrow.label,)
    label = Label((lane + end[0]) / 2, y - 6, words) if not far else Label(lane - 34, y - 6, words, "end")
    return Line(arrow, (start, (lane, start[1]), (lane, y), end), label)


def crosses_bus(line: Line) -> bool:
    """Whether a line goes from one side of the bus to the other: it is drawn as a bridge."""
    (left, _), (right, _) = line.points[0], line.points[-1]
    return len(line.points) == 2 and left < LANE - 1 and right > LANE + 1
