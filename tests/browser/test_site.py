"""The site: no warning, no dead link or anchor, nothing from another host, no page wider than the window."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from lab import docs_site
from tests.browser.chromium import browse


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


PROBE = """<!doctype html><meta charset=utf-8><body><pre id=out></pre><script>
const pages = %s, found = {};
for (const page of pages) {
  const frame = document.createElement('iframe');
  frame.src = page; frame.style = 'border:0;width:%dpx;height:1200px';
  frame.onload = () => {
    const d = frame.contentWindow.document;
    found[page] = {wide: d.scrollingElement.scrollWidth, title: d.querySelector('h1').textContent,
                   dark: getComputedStyle(d.body).backgroundColor};
    if (Object.keys(found).length === pages.length) document.getElementById('out').textContent = JSON.stringify(found);
  };
  document.body.append(frame);
}
</script>"""
PAGES = ("index.html", "docs/drains.html", "docs/configuration.html")


@pytest.mark.parametrize("width", [500, 1180])
def test_no_page_is_wider_than_the_window(site: Path, tmp_path: Path, width: int) -> None:
    (site / "probe.html").write_text(PROBE % (json.dumps(PAGES), width))
    dom = browse(
        tmp_path, site / "probe.html", "--dump-dom", "--allow-file-access-from-files", "--virtual-time-budget=20000"
    )
    seen = json.loads(html.unescape(re.search(r'<pre id="out">(.*?)</pre>', dom, re.DOTALL)[1]))  # type: ignore[index]
    assert set(seen) == set(PAGES)
    assert {page: each["wide"] for page, each in seen.items() if each["wide"] > width} == {}
