"""Pictures in a real browser: words inside their boxes, readable in light and dark, also as an image in a page."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.commands.diagram.svg import svg
from tests.browser.chromium import CONTRAST, DARK, browse
from tests.unit.diagram.test_drawing import PICTURES

PROBE = (
    """<!doctype html><meta charset=utf-8><body style="margin:0"><pre id=out></pre>%s<script>
"""
    + CONTRAST
    + """
const inside = (t, r) => t.x >= r.x && t.y >= r.y && t.x + t.width <= r.x + r.width && t.y + t.height <= r.y + r.height;
const svg = document.querySelector('svg'), whole = {x: 0, y: 0, width: svg.viewBox.baseVal.width,
  height: svg.viewBox.baseVal.height}, rects = [...svg.querySelectorAll('rect')], found = {out: [], low: [], words: 0};
for (const text of svg.querySelectorAll('text')) {
  const box = text.getBBox(), card = text.closest('g') ? text.closest('g').querySelector('.card').getBBox() : whole;
  if (!inside(box, card)) found.out.push(text.textContent);
  const middle = {x: box.x + box.width / 2, y: box.y + box.height / 2, width: 0, height: 0};
  const behind = rects.filter(r => inside(middle, r.getBBox())).pop();
  const ratio = contrast(rgb(getComputedStyle(text).fill), rgb(getComputedStyle(behind).fill));
  if (ratio < 4.5) found.low.push([text.textContent, Math.round(ratio * 100) / 100]);
  found.words++;
}
found.page = rgb(getComputedStyle(rects[0]).fill);
document.getElementById('out').textContent = JSON.stringify(found);
</script>"""
)


def measured(folder: Path, name: str, *flags: str) -> dict[str, Any]:
    (folder / "probe.html").write_text(PROBE % svg(PICTURES[name]))
    shown = browse(folder, folder / "probe.html", "--virtual-time-budget=3000", "--dump-dom", *flags)
    found = re.search(r'<pre id="out">(.*?)</pre>', shown, re.DOTALL)
    assert found, "the probe has no answer"
    assert found[1], "the probe's script has not ended"
    return dict(json.loads(html.unescape(found[1])))


@pytest.mark.parametrize("name", PICTURES)
def test_words_stay_inside_and_can_be_read(name: str, tmp_path: Path) -> None:
    """WCAG 2.2 AA, 4.5 to 1 for text; nothing spills out of its box."""
    found = measured(tmp_path, name)
    assert (found["out"], found["low"]) == ([], [])
    assert found["words"] > 25
    assert sum(found["page"]) > 600


def test_dark_is_dark_and_can_be_read(tmp_path: Path) -> None:
    found = measured(tmp_path, "all-outside", DARK)
    assert (found["out"], found["low"]) == ([], [])
    assert sum(found["page"]) < 150
