"""What a drawing consists of, and its measures in pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from slinky_iac.commands.diagram.build import Arrow, Box, Key, Picture, Place

Point = tuple[float, float]

LEFTS: Final = (20.0, 262.0, 548.0, 976.0)
WIDTHS: Final = (118.0, 176.0, 216.0, 216.0)
TOTAL: Final = 1248.0
LANE: Final = 892.0
"""Where the bus of the nodes goes up: to the left of it is room for words."""
LANE_GAP: Final = 16.0
"""From the bus to the way of login pods, and on to that of each outside host that isn't a node."""
REST_LANE: Final = 488.0
TOP: Final = 64.0
MARGIN: Final = 20.0
PADDING: Final = 18.0
CAPTION: Final = 40.0
"""From the top of an area to its first box."""
AREA_GAP: Final = 26.0
"""Between two areas, one above the other: as high as the words beside the line that joins them."""
CAPTION_TEXT: Final = 13.0
HEADING: Final = 19.0
ROW_GAP: Final = 40.0
NODE_GAP: Final = 22.0
"""Between rows that no upright line joins."""
APART: Final = PADDING + AREA_GAP + CAPTION
"""Between rows of two areas."""
UPRIGHT: Final = 152.0
"""Where an upright line of column 1 stands, from a box's left edge: behind the caption that it passes."""
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
    """What encloses the boxes of one namespace, of the control plane, or of the hosts outside."""

    place: Place
    namespace: str
    caption: str
    at: Point
    """Where the caption begins, on its baseline."""
    outline: tuple[Point, ...]
    """Corner by corner, clockwise."""


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
