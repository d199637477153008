"""Words fit their boxes, boxes and lines keep out of each other's way, and nobody's text becomes markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise, permutations
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.commands.diagram.build import Picture, picture
from slinky_iac.commands.diagram.layout import lay_out, tag_width
from slinky_iac.commands.diagram.measure import width, wrapped
from slinky_iac.commands.diagram.mermaid import mermaid
from slinky_iac.commands.diagram.shapes import (
    CAPTION_TEXT,
    MARGIN,
    PADDING,
    SMALL,
    SMALL_LINE,
    TAG_GAP,
    Area,
    Drawing,
    Label,
    Line,
    Placed,
)
from slinky_iac.commands.diagram.svg import svg
from slinky_iac.config.reading.load import load
from tests.clusters import MUNGE, stack_sections
from tests.stacks import FORMS, ROOT, form, outside, sections

LONG = "a-very-long-host-name-of-some-department.another-long-part.example.org"
ONE = {"a": {"replicas": 1}}
SSSD = {"sssdConfFrom": {"secret": "sssd"}}


def extent(label: Label) -> tuple[float, float, float, float]:
    """Left, top, right, bottom of words beside a line."""
    wide = max((width(line, SMALL) for line in label.lines), default=0.0)
    left = {"start": label.x, "middle": label.x - wide / 2, "end": label.x - wide}[label.anchor]
    return left, label.y - SMALL_LINE * (len(label.lines) - 1) - 10, left + wide, label.y + 3


def hard() -> Picture:
    """Everything at once, with long names."""
    data = outside(
        cluster={"name": "x" * 40, "namespace": "n" * 60, "resourceName": "r" * 40},
        controller={"external": {"host": "192.0.2.1", "port": 16817}},
        accounting={"external": {"host": LONG}},
        nodesets={f"{'n' * 27}{n}": {"replicas": 1000, "gres": ["gpu:a100:8"]} for n in range(6)},
        logins={f"{'l' * 30}{n}": SSSD for n in range(6)},
        external={
            "slurmrestd": {"url": f"https://{LONG}:6820/a/long/path"},
            "slurmdHosts": [{"name": f"{'m' * 50}{n}"} for n in range(3)],
            "loginHosts": [{"name": f"login{n}{'x' * n}"} for n in range(9)],
        },
    )
    return picture(load(data))


PICTURES = {
    **{name: picture(form(name)) for name in FORMS},
    "munge": picture(load(stack_sections(MUNGE))),
    "hard": hard(),
    "prepared": picture(form("all-outside", keys={"tokens": "prepared"})),
    "inside-with-hosts": picture(
        form(
            "slurmdbd-outside",
            logins={"main": SSSD, "more": SSSD},
            external=sections(ROOT / "examples" / "Pulumi.all-outside.yaml")["external"],
        )
    ),
    "operator-beside": picture(load(outside(operator={"install": False, "namespace": "slurm"}, nodesets=ONE))),
    "no-nodes": picture(load(outside(operator={"install": False}, nodesets={}))),
    "rs256": picture(form("controller-outside", keys={"tokens": "rs256"})),
}
every_picture = pytest.mark.parametrize("name", PICTURES)


def drawing(name: str) -> Drawing:
    return lay_out(PICTURES[name])


def overlap(a: Placed, b: Placed) -> bool:
    return a.x < b.x + b.w and b.x < a.x + a.w and a.y < b.y + b.h and b.y < a.y + a.h


def within(area: Area, x: float, y: float) -> bool:
    """Whether a point is inside the outline: a ray to the right crosses it an odd number of times."""
    sides = zip(area.outline, (*area.outline[1:], area.outline[0]), strict=True)
    crossed = [(x1, y1, y2) for (x1, y1), (_, y2) in sides if min(y1, y2) <= y < max(y1, y2) and x1 > x]
    return len(crossed) % 2 == 1


def corners(box: Placed) -> list[tuple[float, float]]:
    return [(x, y) for x in (box.x, box.x + box.w) for y in (box.y, box.y + box.h)]


@every_picture
def test_no_two_boxes_overlap_and_all_are_inside_the_picture(name: str) -> None:
    found = drawing(name)
    assert [(a.box.id, b.box.id) for a, b in combinations(found.boxes, 2) if overlap(a, b)] == []
    for each in found.boxes:
        assert MARGIN <= each.x < each.x + each.w <= found.w - MARGIN
        assert each.y + each.h < found.legend_y < found.h


@every_picture
def test_each_box_is_in_the_area_of_its_namespace_and_in_no_other(name: str) -> None:
    found = drawing(name)
    assert len({area.caption for area in found.areas}) == len(found.areas)
    for each in found.boxes:
        around = [area for area in found.areas if all(within(area, *corner) for corner in corners(each))]
        touched = [area for area in found.areas if any(within(area, *corner) for corner in corners(each))]
        assert around == touched
        assert [(area.place, area.namespace) for area in around] == (
            [] if each.box.place == "desk" else [(each.box.place, each.box.namespace)]
        )


@every_picture
def test_no_two_areas_overlap_and_captions_have_their_line(name: str) -> None:
    found = drawing(name)
    for one, other in permutations(found.areas, 2):
        assert [corner for corner in one.outline if within(other, *corner)] == []
    for area in found.areas:
        x, y = area.at
        ends = (x, y - CAPTION_TEXT), (x + width(area.caption, CAPTION_TEXT, bold=True), y + 3)
        assert all(within(area, *end) for end in ends)
        for line in found.lines:
            for (x1, y1), (x2, y2) in pairwise(line.points):
                beside = max(x1, x2) < ends[0][0] or min(x1, x2) > ends[1][0]
                assert beside or max(y1, y2) < ends[0][1] or min(y1, y2) > ends[1][1], (area.caption, line.arrow)


@every_picture
def test_an_area_ends_with_its_boxes_so_that_none_has_an_empty_corner(name: str) -> None:
    """Below the last box of each column, an area has its padding and no more."""
    found = drawing(name)
    for area in found.areas:
        own = [each for each in found.boxes if (each.box.place, each.box.namespace) == (area.place, area.namespace)]
        for column in {each.box.column for each in own}:
            last = max((each for each in own if each.box.column == column), key=lambda each: each.y)
            x, y = last.x + 1, last.y + last.h
            assert within(area, x, y + PADDING - 1)
            assert not within(area, x, y + PADDING + 1)


Segment = tuple[bool, float, float, float]
"""Whether it is upright, where it is across, and from where to where along."""


def segments(line: Line) -> Iterator[Segment]:
    for (x1, y1), (x2, y2) in pairwise(line.points):
        if x1 == x2:
            yield True, x1, min(y1, y2), max(y1, y2)
        else:
            assert y1 == y2
            yield False, y1, min(x1, x2), max(x1, x2)


def shared(one: Segment, other: Segment) -> bool:
    return one[0] == other[0] and abs(one[1] - other[1]) < 3 and one[2] < other[3] and other[2] < one[3]


@every_picture
def test_hosts_that_are_no_nodes_have_a_way_of_their_own(name: str) -> None:
    """slurmctld connects back to slurmd alone: what stands beside the nodes' way to it is true for nodes alone."""
    found = drawing(name)
    sides = {box.id: box.place for box in found.picture.boxes}
    alone = [line for line in found.lines if line.arrow.tail in {"login-hosts", "users-rest"}]
    assert ("login-hosts" in {box.id for box in found.picture.boxes}) == bool(alone)
    for line in alone:
        assert line.head
        outside = [area for area in found.areas if area.place == "outside"]
        if sides["ctl"] == "outside":
            assert all(within(outside[0], *point) for point in line.points)
        assert line.label is not None
        assert line.label.lines == (line.arrow.label,)
        others = [part for other in found.lines if other is not line for part in segments(other)]
        assert [part for part in others if any(shared(part, mine) for mine in segments(line))] == []


@every_picture
def test_login_pods_are_not_on_the_nodes_way(name: str) -> None:
    found = drawing(name)
    kinds = {box.id: box.kind for box in found.picture.boxes}
    pods = [line for line in found.lines if kinds.get(line.arrow.tail) == "login" and line.arrow.head == "ctl"]
    nodes = [line for line in found.lines if kinds.get(line.arrow.tail) == "nodes" or "back" in str(line.label)]
    for line in pods:
        assert line.label is not None
        assert line.label.lines == (line.arrow.label,)
        assert [part for other in nodes for part in segments(other) if any(shared(part, it) for it in segments(line))] == []


@every_picture
def test_the_signs_of_the_keys_fit_their_boxes_and_none_is_left_out(name: str) -> None:
    for each in drawing(name).boxes:
        assert sorted(key.id for row in each.tags for key in row) == sorted(each.box.keys)
        for row in each.tags:
            assert sum(map(tag_width, row)) + TAG_GAP * (len(row) - 1) <= each.w - 20


@every_picture
def test_words_fit_their_boxes_in_the_widest_font(name: str) -> None:
    for each in drawing(name).boxes:
        assert max((width(text, 15, bold=True) for text in each.title), default=0) <= each.w - 24
        assert max((width(text, 12.5) for text in each.lines), default=0) <= each.w - 24


@every_picture
def test_no_line_passes_through_a_box(name: str) -> None:
    found = drawing(name)
    for line in found.lines:
        for (x1, y1), (x2, y2) in pairwise(line.points):
            left, right, top, bottom = min(x1, x2), max(x1, x2), min(y1, y2), max(y1, y2)
            for box in found.boxes:
                inside = left < box.x + box.w - 1 and right > box.x + 1 and top < box.y + box.h - 1 and bottom > box.y + 1
                assert not inside, (line.arrow, box.box.id)


@every_picture
def test_words_beside_lines_are_on_no_box_and_on_no_other_words(name: str) -> None:
    found = drawing(name)
    labels = [(line.arrow, extent(line.label)) for line in found.lines if line.label is not None]
    for arrow, (left, top, right, bottom) in labels:
        for box in found.boxes:
            assert not (left < box.x + box.w and box.x < right and top < box.y + box.h and box.y < bottom), (
                arrow,
                box.box.id,
            )
    for (one, a), (other, b) in combinations(labels, 2):
        assert not (a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]), (one, other)


@every_picture
def test_every_arrow_is_drawn(name: str) -> None:
    found = drawing(name)
    drawn = [line.arrow for line in found.lines if line.arrow.tail]
    assert sorted(map(repr, drawn)) == sorted(map(repr, found.picture.arrows))


@every_picture
def test_the_svg_is_whole_and_speaks(name: str) -> None:
    text = svg(PICTURES[name])
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "title desc"
    assert root.findtext(f"{space}title") == PICTURES[name].title
    assert root.findtext(f"{space}desc") == PICTURES[name].description
    ids = [each.get("id") for each in root.iter() if each.get("id")]
    assert len(set(ids)) == len(ids)
    assert "prefers-color-scheme:dark" in text


@every_picture
def test_the_svg_needs_nothing_else(name: str) -> None:
    text = svg(PICTURES[name]).replace('xmlns="http://www.w3.org/2000/svg"', "")
    text = re.sub(r">[^<]*<", "><", text)  # words may be addresses
    assert not re.search(r"https?:|href|<script|<image|@import|url\((?!#)", text)


@every_picture
def test_colours_are_the_same_in_name_in_light_and_dark(name: str) -> None:
    light, dark = re.findall(r"svg\{(.*?)\}", svg(PICTURES[name]))[:2]
    used = set(re.findall(r"var\(--(\w+)\)", svg(PICTURES[name])))
    for scheme in (light, dark):
        assert used <= set(re.findall(r"--(\w+):", scheme))


@every_picture
def test_mermaid_has_every_box_and_every_arrow(name: str) -> None:
    shown = PICTURES[name]
    text = mermaid(shown)
    boxes = re.findall(r"^\s+(b_\w+)[\[(]", text, flags=re.MULTILINE)
    assert len(boxes) == len(set(boxes)) == len(shown.boxes)
    arrows = re.findall(r"^\s+(b_\w+) <?-[-.]+>(?:\|[^|]*\|)? (b_\w+)$", text, flags=re.MULTILINE)
    assert len(arrows) == len(shown.arrows)
    assert {end for pair in arrows for end in pair} == set(boxes)


EVIL = '</text><script>x</script> "quoted" [x] --> end %% `{}|'


def test_nobodys_words_become_markup() -> None:
    shown = picture(load(outside(nodesets={"a": {"replicas": 1}})), EVIL)
    root = ElementTree.fromstring(svg(shown))
    assert [each.tag for each in root.iter() if each.tag.endswith("script")] == []
    text = mermaid(shown)
    assert "<script" not in text
    assert '"quoted"' not in text
    assert len(re.findall("(?<!<)-->", text)) == len([a for a in shown.arrows if not a.dashed and not a.both])


WORDS = st.text(st.characters(min_codepoint=32, max_codepoint=0x3000, exclude_categories=("Cs", "Cc")), max_size=120)


@given(WORDS, st.integers(1, 4), st.floats(40, 300))
def test_wrapped_words_fit_and_lose_nothing_but_what_an_ellipsis_stands_for(text: str, most: int, room: float) -> None:
    lines = wrapped(text, 12.5, room, most)
    assert len(lines) <= most
    assert all(width(line, 12.5) <= room for line in lines)
    whole = "".join("".join(lines).split())
    if whole.endswith("…") and not text.endswith("…"):
        assert "".join(text.split()).startswith(whole[:-1])
    else:
        assert whole == "".join(text.split())
