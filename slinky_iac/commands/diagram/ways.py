"""The way of each arrow between placed boxes, and where its words stand.

Nodes join one bus into slurmctld, in the channel between columns 2 and 3, so that no line passes through a box: slurmctld
connects back to slurmd, and the bus says so. Login pods share a way beside it, and each outside host that isn't a node has
its own: at the right edge where slurmctld is outside, in the channel where it is inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from slinky_iac.commands.diagram.build import Arrow, Picture
from slinky_iac.commands.diagram.measure import wrapped
from slinky_iac.commands.diagram.shapes import (
    AREA_GAP,
    LANE,
    LANE_GAP,
    PADDING,
    REST_LANE,
    ROW_GAP,
    SMALL,
    SMALL_LINE,
    UPRIGHT,
    Label,
    Line,
    Placed,
    Point,
)

ENTRY_GAP = 20.0
"""Between two ways into slurmctld's box."""


def ways(picture: Picture, placed: Mapping[str, Placed]) -> Iterator[Line]:
    """All lines, in the order to draw them: a later one that crosses an earlier one is drawn as a bridge."""
    joining = [arrow for arrow in picture.arrows if arrow.head == "ctl" and placed[arrow.tail].box.row >= 2]
    bus = [arrow for arrow in joining if placed[arrow.tail].box.kind == "nodes"]
    pods = [arrow for arrow in joining if arrow not in bus and placed[arrow.tail].box.place == "kubernetes"]
    hosts = [arrow for arrow in joining if arrow not in bus and arrow not in pods]
    if bus:
        yield from _bus(bus, placed, beside=bool(pods))
    if pods:
        yield from _pods(pods, placed)
    yield from _hosts(hosts, placed, behind=len(pods[:1]))
    for arrow in picture.arrows:
        if arrow not in joining:
            yield _line(arrow, placed[arrow.tail], placed[arrow.head])


def crossings(line: Line, earlier: list[Line]) -> Iterator[tuple[Point, bool]]:
    """Where a line crosses those drawn before it, and whether it is upright there."""
    for (x1, y1), (x2, y2) in pairwise(line.points):
        for other in earlier:
            for (a1, b1), (a2, b2) in pairwise(other.points):
                if (x1 == x2) == (a1 == a2):
                    continue
                x, y = (x1, b1) if x1 == x2 else (a1, y1)
                across = min(x1, x2) < x < max(x1, x2) or min(y1, y2) < y < max(y1, y2)
                along = min(a1, a2) < x < max(a1, a2) or min(b1, b2) < y < max(b1, b2)
                if across and along:
                    yield (x, y), x1 == x2


def _inside(hub: Placed) -> bool:
    """Whether slurmctld stands to the left of the channel."""
    return hub.x < LANE


def _bus(arrows: list[Arrow], placed: Mapping[str, Placed], *, beside: bool) -> Iterator[Line]:
    """One trunk into slurmctld, and a branch from each box; where two boxes stand side by side their branches meet.

    ``beside``: login pods have their way, which enters below that of the nodes where both come from the left.
    """
    hub = placed["ctl"]
    inside = _inside(hub)
    entry = hub.y + hub.h - 18 - (ENTRY_GAP if beside and not inside else 0)
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


def _pods(arrows: list[Arrow], placed: Mapping[str, Placed]) -> Iterator[Line]:
    """Login pods: one trunk to the right of the bus, and the port beside each branch."""
    hub, lane = placed["ctl"], LANE + LANE_GAP
    starts = {arrow: (box := placed[arrow.tail]).y + box.h - 20 for arrow in arrows}
    entry = hub.y + hub.h - 18 - (ENTRY_GAP if _inside(hub) else 0)
    side = hub.x + hub.w if _inside(hub) else hub.x
    yield Line(Arrow("", "ctl"), ((lane, max(starts.values())), (lane, entry), (side, entry)), None)
    for arrow, y in starts.items():
        edge = placed[arrow.tail].x + placed[arrow.tail].w
        label = Label(edge + PADDING + 8, y - 6, (arrow.label,), "start")
        yield Line(arrow, ((edge, y), (lane, y)), label, head=False)


def _hosts(arrows: list[Arrow], placed: Mapping[str, Placed], behind: int) -> Iterator[Line]:
    """Outside hosts that aren't nodes, each on a way of its own, one around the other so that none crosses another.

    ``behind``: how many ways are between the bus and the first of them.
    """
    hub = placed["ctl"]
    for number, arrow in enumerate(sorted(arrows, key=lambda arrow: placed[arrow.tail].y, reverse=True), 1):
        box = placed[arrow.tail]
        start = box.y + box.h - 20
        if _inside(hub):
            lane, entry = LANE + LANE_GAP * (number + behind), hub.y + hub.h - 18 - ENTRY_GAP * (number + behind)
            label = Label(hub.x + hub.w + PADDING + 8, entry - 5, (arrow.label,), "start")
            yield Line(arrow, ((box.x, start), (lane, start), (lane, entry), (hub.x + hub.w, entry)), label)
            continue
        edge = box.x + box.w
        lane, entry = edge + 12 * (len(arrows) - number + 1), hub.y + 24 + ENTRY_GAP * (number - 1)
        label = Label(edge - 6, box.y - 7, (arrow.label,), "end")
        yield Line(arrow, ((edge, start), (lane, start), (lane, entry), (hub.x + hub.w, entry)), label)


def _line(arrow: Arrow, tail: Placed, head: Placed) -> Line:
    if tail.box.column == head.box.column:
        return _upright(arrow, tail, head)
    if tail.box.row == head.box.row:
        return _level(arrow, tail, head)
    if tail.box.column == 0:
        return _from_desk(arrow, tail, head)
    return _stepped(arrow, tail, head)


def _upright(arrow: Arrow, tail: Placed, head: Placed) -> Line:
    down = head.y > tail.y
    ends = (tail.y + tail.h, head.y) if down else (tail.y, head.y + head.h)
    if tail.box.column != 1:
        x = tail.x + tail.w / 2
        return Line(arrow, ((x, ends[0]), (x, ends[1])), Label(x + 8, sum(ends) / 2 + 4, (arrow.label,), "start"))
    x = tail.x + UPRIGHT
    apart = abs(ends[0] - ends[1]) > ROW_GAP
    baseline = (min(ends) + PADDING + AREA_GAP / 2 if apart else sum(ends) / 2) + 4
    return Line(arrow, ((x, ends[0]), (x, ends[1])), Label(x - 8, baseline, (arrow.label,), "end"))


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
