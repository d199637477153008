"""The page of a change order in a real browser: where bars, lines and words end up; what a keyboard reaches; what runs.

A probe beside the page measures it: a second document that frames it. The page itself has no script, and its own policy
would stop one.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.commands.plan.build import change_order
from slinky_iac.commands.plan.limits import Limits, judge
from slinky_iac.commands.plan.render_html import page
from tests.browser.chromium import CONTRAST, DARK, browse
from tests.unit.plan.made import HOUR, NOW, digest, job, plan, scale_in, worked_example

PROBE = (
    """<!doctype html><meta charset=utf-8><body style="margin:0"><pre id=out></pre>
<iframe id=f src="page.html" style="border:0;width:%dpx;height:2400px"></iframe><script>
const boxes = (d, q) => [...d.querySelectorAll(q)].map(e => {
  const b = e.getBoundingClientRect();
  return {text: e.getAttribute('aria-label') || e.textContent, x: b.left, y: b.top, w: b.width, h: b.height,
          row: e.closest('.row') ? e.closest('.row').querySelector('.who').firstChild.textContent : ''};
});
"""
    + CONTRAST
    + """
const behind = (e, w) => { for (; e; e = e.parentElement) { const c = w.getComputedStyle(e).backgroundColor;
  if (!/, 0\\)$/.test(c) && c !== 'transparent') return rgb(c); } return [255, 255, 255]; };
document.getElementById('f').onload = () => {
  const w = document.getElementById('f').contentWindow, d = w.document, found = {};
  const asked = {bars: '.bar', gems: '.gem', due: '.lines .due', now: '.lines .now', tracks: '.track'};
  for (const [name, q] of Object.entries(asked)) found[name] = boxes(d, q);
  found.focused = [...d.querySelectorAll('[tabindex], summary')].map(e => { e.focus();
    const tip = e.querySelector('.tip'); return {label: e.getAttribute('aria-label') || e.textContent,
      here: d.activeElement === e, tip: tip ? w.getComputedStyle(tip).display : ''}; });
  found.wide = d.documentElement.scrollWidth - d.documentElement.clientWidth;
  const words = 'h1, h2, p, dt, dd, th, td, .bar b, .op, .verdict, .when, .who, .note, li.mark, li.tick';
  found.contrasts = [...d.querySelectorAll(words)].filter(e => e.textContent.trim()).map(e => [
    Math.round(contrast(rgb(w.getComputedStyle(e).color), behind(e, w)) * 100) / 100,
    e.className + ' ' + e.textContent.slice(0, 30)]);
  found.headings = [...d.querySelectorAll('h1, h2, h3')].map(e => e.tagName + ' ' + e.textContent);
  found.background = rgb(w.getComputedStyle(d.body).backgroundColor);
  found.ran = typeof w.ran;
  document.getElementById('out').textContent = JSON.stringify(found);
};</script>"""
)


def write(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "page.html").write_text(text)
    return folder


def measured(folder: Path, *flags: str, width: int = 1180) -> dict[str, Any]:
    """What the probe sees."""
    (folder / "probe.html").write_text(PROBE % width)
    more = ("--allow-file-access-from-files", "--virtual-time-budget=4000", "--dump-dom", *flags)
    shown = browse(folder, folder / "probe.html", *more, width=max(width, 500))
    found = re.search(r'<pre id="out">(.*?)</pre>', shown, re.DOTALL)
    assert found, "the probe has no answer"
    assert found[1], "the probe's script has not ended"
    return dict(json.loads(html.unescape(found[1])))


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    order = change_order(worked_example(), now=NOW)
    return write(tmp_path_factory.mktemp("example"), page(order, judge(order, Limits())))


@pytest.fixture(scope="module")
def light(example: Path) -> dict[str, Any]:
    return measured(example)


def test_bars_end_where_their_node_is_free_and_late_ones_cross_the_deadline(light: dict[str, Any]) -> None:
    due = light["due"][0]["x"]
    ends: dict[str, float] = {}
    for bar in light["bars"]:
        ends[bar["row"]] = max(ends.get(bar["row"], 0), bar["x"] + bar["w"])
        assert ("after the deadline" in bar["text"]) == (bar["x"] + bar["w"] > due + 1), bar
    gems = {gem["row"]: gem["x"] + gem["w"] / 2 for gem in light["gems"]}
    assert set(ends) == {"gpu-2", "gpu-3", "gpu-5", "gpu-6", "metal-1"}
    assert {row: gems[row] for row in ends} == pytest.approx(ends, abs=2)
    assert gems["gpu-4"] == pytest.approx(light["now"][0]["x"], abs=2), "an idle node is free now"


def test_bars_are_side_by_side_and_inside_their_track(light: dict[str, Any]) -> None:
    tracks = {track["row"]: track for track in light["tracks"]}
    for bar in light["bars"]:
        track = tracks[bar["row"]]
        assert track["x"] - 1 <= bar["x"] < bar["x"] + bar["w"] <= track["x"] + track["w"] + 1
        assert track["y"] - 1 <= bar["y"] < bar["y"] + bar["h"] <= track["y"] + track["h"] + 1
        for other in light["bars"]:
            apart = bar["y"] + bar["h"] <= other["y"] or other["y"] + other["h"] <= bar["y"]
            beside = bar["x"] + bar["w"] <= other["x"] or other["x"] + other["w"] <= bar["x"]
            assert bar is other or apart or beside, (bar, other)


def test_a_keyboard_reaches_every_job_and_every_table(light: dict[str, Any]) -> None:
    assert len(light["focused"]) == len(light["bars"]) + 2
    assert all(each["here"] for each in light["focused"])
    jobs = [each for each in light["focused"] if each["label"].startswith("Job ")]
    assert len(jobs) == 7
    assert {each["tip"] for each in jobs} == {"block"}, "a focused bar says what it is"
    assert all(
        re.match(r"Job \S+ of \w+\. partition \w+, running\. started .* ago\. ends by ", each["label"]) for each in jobs
    )


def test_headings_make_an_outline(light: dict[str, Any]) -> None:
    assert [text for text in light["headings"] if text.startswith("H1")] == ["H1 6 nodes drain, 6 jobs are waited for"]
    assert all(text.startswith("H2") for text in light["headings"][1:])


@pytest.mark.parametrize("flags", [(), (DARK,)], ids=["light", "dark"])
def test_every_word_can_be_read(example: Path, flags: tuple[str, ...]) -> None:
    """WCAG 2.2 AA: 4.5 to 1 for text."""
    found = measured(example, *flags)
    assert (sum(found["background"]) < 150) == bool(flags)
    assert [each for each in found["contrasts"] if each[0] < 4.5] == []
    assert len(found["contrasts"]) > 60


@pytest.mark.parametrize("width", [360, 760, 1600])
def test_no_width_makes_the_page_scroll_sideways(example: Path, width: int) -> None:
    found = measured(example, width=width)
    assert found["wide"] <= 0
    assert min(bar["w"] for bar in found["bars"]) > 4


def test_a_user_called_script_runs_nothing(tmp_path: Path) -> None:
    evil = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>'
    planned = plan({evil: [job(evil, evil, -HOUR, HOUR, partition=evil)]}, before=2, after=1, warnings=[evil], nodeset=evil)
    order = change_order(digest(scale_in(planned, before=2, after=1)), now=NOW)
    found = measured(write(tmp_path / "evil", page(order, judge(order, Limits()))))
    assert found["ran"] == "undefined"
    assert found["bars"][0]["row"] == evil


def test_the_page_itself_lets_no_script_run(tmp_path: Path) -> None:
    """Even where escaping failed, the page's policy stands before it."""
    order = change_order(worked_example(), now=NOW)
    broken = page(order, judge(order, Limits())).replace("</main>", "<script>window.ran=1</script></main>")
    assert measured(write(tmp_path / "broken", broken))["ran"] == "undefined"
