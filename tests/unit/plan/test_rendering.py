"""Whatever users call themselves and their jobs, a page stays a page, a comment a comment, a terminal a terminal."""

from __future__ import annotations

import itertools
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.commands.plan.build import change_order
from slinky_iac.commands.plan.cli import as_json
from slinky_iac.commands.plan.limits import Exit, Limits, Verdict, judge
from slinky_iac.commands.plan.model import ChangeOrder
from slinky_iac.commands.plan.render_html import axis, chart, page, ticks
from slinky_iac.commands.plan.render_markdown import LONGEST, markdown
from slinky_iac.commands.plan.render_table import table
from slinky_iac.text import markdown as safe_markdown
from slinky_iac.text import plain
from tests.unit.plan.made import HOUR, MINUTE, NOW, digest, events, job, node, plan, policy, scale_in, worked_example

HOSTILE = (
    "<script>alert(1)</script>",
    '" onmouseover="alert(1)',
    "' autofocus onfocus='x",
    "](https://evil.example) ![x](https://evil.example/p.png)",
    "| a | b |\n\n# heading\n<details>",
    "@everyone #1 https://evil.example www.evil.example",
    "\x1b[2J\x1b]0;owned\x07\x9b31m",
    "\u202egnp.exe\u2066",
    "`code` **bold** $x$ \\",
)
OK = Verdict(Exit.OK, ())


def hostile(text: str) -> ChangeOrder:
    bad = job("7", text, -HOUR, HOUR, partition=text, state=text)
    bad["job"] = text
    planned = plan({text: [bad]}, before=4, after=3, nodeset=text, warnings=[text], blocks=[text])
    said = [policy(text, text, text), {"diagnosticEvent": {"severity": "warning", "message": text}}]
    return change_order(events(scale_in(planned, before=4, after=3), said=said), now=NOW)


class Elements(HTMLParser):
    """Tags, attributes and texts as a browser's parser has them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes another element"


def parsed(text: str) -> Elements:
    found = Elements()
    found.feed(text)
    assert found.open == []
    return found


KNOWN = parsed(page(change_order(worked_example(), now=NOW), OK))


@pytest.mark.parametrize("text", HOSTILE)
def test_no_name_becomes_markup_on_the_page(text: str) -> None:
    found = parsed(page(hostile(text), OK))
    assert found.tags - KNOWN.tags == set()
    assert found.attributes - KNOWN.attributes == set()


def test_the_page_fetches_and_runs_nothing() -> None:
    text = page(change_order(worked_example(), now=NOW), OK)
    assert KNOWN.tags & {"script", "link", "img", "iframe", "object", "a", "form", "base"} == set()
    assert not [name for name in KNOWN.attributes if name.startswith("on") or name in ("src", "href", "srcset")]
    assert "default-src 'none'" in text
    assert re.search(r"url\(|@import|https?://", text) is None


@pytest.mark.parametrize("text", HOSTILE)
def test_no_name_becomes_markup_in_a_comment(text: str) -> None:
    shown = safe_markdown(text)
    assert "\n" not in shown
    assert re.search(r"(?<!\\)[`*_\[\]|<>#@]", re.sub(r"&#?\w+;", "", shown)) is None
    assert "://" not in shown
    assert re.search(r"\bwww\.", shown) is None
    rows = [line for line in markdown(hostile(text), OK).splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}


@pytest.mark.parametrize("text", HOSTILE)
def test_no_name_moves_the_cursor_of_a_terminal(text: str) -> None:
    shown = table(hostile(text), OK, colour=False)
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown) is None


@given(st.text())
def test_a_plain_text_is_one_harmless_line(text: str) -> None:
    assert re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", plain(text)) is None
    assert len(plain(text)) <= 400


@pytest.mark.parametrize("text", HOSTILE)
def test_json_stays_ascii(text: str) -> None:
    assert as_json(hostile(text), OK).isascii()


def test_colours_are_only_where_they_are_asked_for() -> None:
    order = change_order(worked_example(), now=NOW)
    assert "\x1b[" in table(order, OK, colour=True)
    assert re.sub(r"\x1b\[\d+m", "", table(order, OK, colour=True)) == table(order, OK, colour=False)


def test_every_rendering_says_who_is_waited_for_and_what_the_deadline_does() -> None:
    order = change_order(worked_example(), now=NOW)
    verdict = judge(order, Limits(max_jobs=1))
    for shown in (table(order, verdict), markdown(order, verdict).replace("\\", ""), page(order, verdict)):
        for word in (
            "gpu-3",
            "48102_7",
            "chandra",
            "after the deadline",
            "metal-1",
            "images-pinned",
            "LoginSet",
            "More than",
        ):
            assert word in shown


def test_a_comment_is_never_too_long_for_github() -> None:
    jobs = {f"gpu-{at}": [job(str(at), "alice", 0, HOUR)] for at in range(3000)}
    order = change_order(digest(scale_in(plan(jobs, before=4000, after=1000), before=4000, after=1000)), now=NOW)
    shown = markdown(order, OK)
    assert len(shown) < LONGEST + 200
    assert shown.count("<details>") == shown.count("</details>")


@pytest.mark.parametrize("seconds", [1, 59, 60, HOUR, 24 * HOUR, 30 * 24 * HOUR])
def test_the_axis_holds_now_every_end_and_a_near_deadline(seconds: int) -> None:
    planned = plan({"gpu-2": [job("7", "alice", -10 * seconds, seconds)]}, before=4, after=3)
    order = change_order(digest(scale_in(planned, before=4, after=3, deadline=2 * seconds)), now=NOW)
    window, (drain,) = axis(order), order.drains
    assert window.begin < NOW < NOW + seconds < window.end
    assert 1 <= len(ticks(window)) <= 8
    drawn = chart(drain, window)
    assert drawn.deadline is not None or drawn.deadline_beyond
    (row,) = drawn.rows
    assert row.free == round(row.bars[0].left + row.bars[0].width, 2) or row.bars[0].width == 1.2


def test_a_far_deadline_does_not_squeeze_the_jobs() -> None:
    planned = plan({"gpu-2": [job("7", "alice", -MINUTE, 20 * MINUTE)]}, before=4, after=3)
    order = change_order(digest(scale_in(planned, before=4, after=3, deadline=48 * HOUR)), now=NOW)
    drawn = chart(order.drains[0], axis(order))
    assert drawn.deadline is None
    assert drawn.deadline_beyond
    assert drawn.rows[0].bars[0].width > 50


@given(st.lists(st.tuples(st.integers(-(10**5), 0), st.none() | st.integers(1, 10**5)), min_size=1, max_size=8))
def test_bars_of_one_node_never_cover_each_other(spans: list[tuple[int, int | None]]) -> None:
    jobs = [job(str(at), "alice", start, end) for at, (start, end) in enumerate(spans)]
    order = change_order(digest(scale_in(plan({"n": jobs}, before=2, after=1), before=2, after=1)), now=NOW)
    (row,) = chart(order.drains[0], axis(order)).rows
    lanes: dict[int, list[tuple[float, float]]] = {}
    for bar in row.bars:
        assert 0 <= bar.left < bar.left + bar.width <= 100.01
        lanes.setdefault(bar.lane, []).append((bar.left, bar.left + bar.width))
    for spans_of in lanes.values():
        spans_of.sort()
        assert all(before[1] <= after[0] + 0.01 for before, after in itertools.pairwise(spans_of))


def test_a_thousand_nodes_are_drawn_in_part_and_listed_in_full() -> None:
    nodes = [node(f"gpu-{at}") for at in range(1000)]
    planned = plan({}, before=2000, after=1000) | {"nodes": nodes}
    order = change_order(digest(scale_in(planned, before=2000, after=1000)), now=NOW)
    text = page(order, OK)
    assert text.count('class="row"') == 60
    assert "and 940 nodes more" in text
    assert text.count('<th scope="row">gpu-') == 1000
