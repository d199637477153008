"""The site: no warning, no dead link or anchor, nothing from another host, and no page that cuts a line or a name."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from lab import docs_site
from tests.browser.chromium import CONTRAST, DARK, browse


class Page(HTMLParser):
    """Links, anchors and loaded files of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in ("script", "img", "source") and found.get("src"):
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon"):
            self.loaded.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return docs_site.build(tmp_path_factory.mktemp("site") / "built").parent


@pytest.fixture(scope="module")
def read(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}


def dead(read: dict[Path, Page]) -> Iterator[tuple[str, str]]:
    for path, page in read.items():
        for link in {*page.links, *page.loaded}:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = there / "index.html" if there.is_dir() else there
            anchored = not parts.fragment or there not in read or unquote(parts.fragment) in read[there].anchors
            if not there.exists() or not anchored:
                yield path.name, link


def test_every_link_leads_somewhere(read: dict[Path, Page]) -> None:
    assert len(read) > 40
    assert list(dead(read)) == []


def test_a_page_loads_nothing_from_another_host(read: dict[Path, Page]) -> None:
    assert {link for page in read.values() for link in page.loaded if urlsplit(link).netloc} == set()


PROBE = (
    """<!doctype html><meta charset=utf-8><body><pre id=out></pre>
<iframe id=f style="border:0;width:%dpx;height:1200px"></iframe><script>
const pages = %s, found = {}, frame = document.getElementById('f');
"""
    + CONTRAST
    + """
// `broken`: runs of a name's characters in two lines, though one line would hold them.
const signed = (e, style) => e.offsetHeight - e.clientHeight > 3
  && (e.tagName === 'P' || /gradient/.test(style.backgroundImage));
const behind = (e, w) => { for (; e; e = e.parentElement) { const c = w.getComputedStyle(e).backgroundColor;
  if (!/, 0\\)$/.test(c) && c !== 'transparent') return rgb(c); } return [255, 255, 255]; };
const measure = (w, d) => {
  const article = d.querySelector('article'), edge = d.documentElement.clientWidth;
  const seen = {wide: d.scrollingElement.scrollWidth, spilt: [], unsigned: [], broken: [], low: [], scrolling: 0, words: 0,
                fits: null, page: rgb(w.getComputedStyle(d.body).backgroundColor)};
  const say = e => e.tagName + ' ' + e.textContent.trim().slice(0, 60);
  const scroller = e => { for (e = e.parentElement; e !== article; e = e.parentElement)
    if (/auto|scroll/.test(w.getComputedStyle(e).overflowX)) return e; return null; };
  for (const e of article.querySelectorAll('*')) {
    const style = w.getComputedStyle(e), box = e.getBoundingClientRect();
    if (!box.width || e.closest('svg, .md-code__nav, .headerlink')) continue;
    if (/auto|scroll/.test(style.overflowX)) {
      if (e.scrollWidth > e.clientWidth + 1) { seen.scrolling++; if (!signed(e, style)) seen.unsigned.push(say(e)); }
    } else if (e.clientWidth && e.scrollWidth > e.clientWidth + 1 || box.right > edge + 1 && !scroller(e))
      seen.spilt.push(say(e) + ' ' + e.scrollWidth + '>' + e.clientWidth);
  }
  const block = e => e.clientWidth ? e : block(e.parentElement);
  for (const code of article.querySelectorAll('code')) {
    if (code.closest('pre')) continue;
    const walker = d.createTreeWalker(code, NodeFilter.SHOW_TEXT), range = d.createRange();
    if (contrast(rgb(w.getComputedStyle(code).color), behind(code, w)) < 4.5) seen.low.push(say(code));
    for (let node = walker.nextNode(); node; node = walker.nextNode())
      for (const run of node.data.matchAll(/[\\w-]+/g)) {
        range.setStart(node, run.index); range.setEnd(node, run.index + run[0].length);
        const parts = [...range.getClientRects()].filter(r => r.width);
        const room = block(code.parentElement).clientWidth;
        seen.words++;
        const lower = parts.length > 1 && parts.at(-1).top - parts[0].top > 4;
        if (lower && parts.reduce((sum, r) => sum + r.width, 0) < room - 40) seen.broken.push(run[0]);
      }
  }
  const pre = article.querySelector('article > .highlight > pre > code');
  if (pre) {
    const line = d.createElement('span'), style = w.getComputedStyle(pre);
    const room = pre.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    line.textContent = '0'.repeat(100); pre.append(line);
    seen.fits = line.getBoundingClientRect().width < room;
    line.remove();
  }
  return seen;
};
const next = () => { const page = pages.shift();
  if (!page) { document.getElementById('out').textContent = JSON.stringify(found); return; }
  frame.onload = () => {
    try { found[page] = measure(frame.contentWindow, frame.contentDocument); }
    catch (error) { found[page] = {error: `${error}`}; }
    next(); };
  frame.src = page; };
next();
</script>"""
)
WIDTHS = (360, 1180, 1440)
"""A telephone, a window beside another, and a screen with both lists."""
AT_ONCE = 12


def measured(site: Path, folder: Path, pages: list[str], width: int, *flags: str) -> dict[str, Any]:
    """What the probe sees of pages, by page."""
    seen: dict[str, Any] = {}
    for at in range(0, len(pages), AT_ONCE):
        (site / "probe.html").write_text(PROBE % (width, json.dumps(pages[at : at + AT_ONCE])))
        more = ("--dump-dom", "--allow-file-access-from-files", "--virtual-time-budget=60000", *flags)
        dom = browse(folder, site / "probe.html", *more, width=max(width, 500), scroll_bars=True)
        found = re.search(r'<pre id="out">(.*?)</pre>', dom, re.DOTALL)
        assert found, "the probe has no answer"
        assert found[1], "the probe's script has not ended"
        seen |= json.loads(html.unescape(found[1]))
    assert set(seen) == set(pages)
    assert [each for each in seen.values() if "error" in each] == []
    return seen


@pytest.fixture(scope="module", params=WIDTHS)
def looks(
    site: Path, read: dict[Path, Page], tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> tuple[int, dict[str, Any]]:
    """A width, and what the probe sees of every page in it."""
    pages = sorted(path.relative_to(site).as_posix() for path in read)
    return request.param, measured(site, tmp_path_factory.mktemp("look"), pages, request.param)


def faults(seen: dict[str, Any], kind: str) -> dict[str, Any]:
    return {page: each[kind] for page, each in seen.items() if each[kind]}


def test_no_page_is_wider_than_the_window(looks: tuple[int, dict[str, Any]]) -> None:
    width, seen = looks
    assert {page: each["wide"] for page, each in seen.items() if each["wide"] > width} == {}


def test_nothing_is_wider_than_its_box_without_a_scroll_bar_and_a_sign(looks: tuple[int, dict[str, Any]]) -> None:
    width, seen = looks
    assert faults(seen, "spilt") == {}
    assert faults(seen, "unsigned") == {}
    assert sum(each["scrolling"] for each in seen.values()) > (100 if width == 360 else 5)


def test_no_word_of_inline_code_is_broken(looks: tuple[int, dict[str, Any]]) -> None:
    _, seen = looks
    assert faults(seen, "broken") == {}
    assert sum(each["words"] for each in seen.values()) > 10_000


def test_a_hundred_columns_fit_beside_both_lists(looks: tuple[int, dict[str, Any]]) -> None:
    width, seen = looks
    fits = {each["fits"] for each in seen.values() if each["fits"] is not None}
    assert fits == {width > 360}


@pytest.mark.parametrize("flags", [(), (DARK,)], ids=["light", "dark"])
def test_inline_code_can_be_read(site: Path, tmp_path: Path, flags: tuple[str, ...]) -> None:
    """WCAG 2.2 AA: 4.5 to 1 for text."""
    seen = measured(site, tmp_path, ["index.html", "docs/configuration.html", "docs/on-call.html"], 360, *flags)
    assert faults(seen, "low") == {}
    assert {sum(each["page"]) < 150 for each in seen.values()} == {bool(flags)}


FRONT = """<!doctype html><meta charset=utf-8><body style="margin:0"><pre id=out></pre>
<iframe id=f src="index.html" style="border:0;width:%dpx;height:800px"></iframe><script>
document.getElementById('f').onload = e => { const d = e.target.contentDocument, box = x => x.getBoundingClientRect();
  const image = d.querySelector('article img');
  document.getElementById('out').textContent = JSON.stringify({
    buttons: [...d.querySelectorAll('article .md-button')].map(b => [b.getAttribute('href'), box(b).bottom]),
    picture: image.naturalWidth, begins: box(image).top}); };
</script>"""


@pytest.mark.parametrize("width", [360, 1180])
def test_the_front_page_has_one_button_to_the_first_step_and_the_picture(site: Path, tmp_path: Path, width: int) -> None:
    """Both are there without scrolling."""
    (site / "probe.html").write_text(FRONT % width)
    more = ("--dump-dom", "--allow-file-access-from-files", "--virtual-time-budget=10000")
    dom = browse(tmp_path, site / "probe.html", *more, width=max(width, 500))
    seen = json.loads(html.unescape(re.search(r'<pre id="out">(.*?)</pre>', dom, re.DOTALL)[1]))  # type: ignore[index]
    ((link, bottom),) = seen["buttons"]
    assert link.endswith("docs/quick-start.html")
    assert bottom < seen["begins"] < 700
    assert seen["picture"] > 1000
