"""Every page that the code and the docs cite is in the repository, with the heading that is named."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

from tests.stacks import ROOT

LISTED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
PAGES = {path for path in LISTED if path.endswith(".md")}
ELSEWHERE = {
    *("network.md", "order.md"),  # a command writes them
    *("docs/installation.md", "docs/versioning.md", "docs/usage/nodeset-operations.md"),  # slurm-operator's own
}
CITING = [path for path in LISTED if path.endswith((".py", ".sh", ".go")) and path != "tests/contract/test_cited_sources.py"]
CITED = re.compile(r"(?<![\w./*-])((?:[\w-]+/)*[\w-]+\.md)(?:#([\w-]+))?")


@functools.cache
def headings(page: str) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    titles = re.findall(r"(?m)^#+ (.+)$", (ROOT / page).read_text())
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def found(cited: str, path: str) -> str | None:
    """The page that is meant: from the root, from docs/, or by its name alone."""
    folders = ("", "docs/", "docs/adr/", "docs/facts/", "docs/evidence/")
    places = (*(f"{folder}{cited}" for folder in folders), (Path(path).parent / cited).as_posix())
    return next((place for place in places if place in PAGES), None)


def missing(path: str) -> list[str]:
    """What a file cites and the repository hasn't."""
    text = (ROOT / path).read_text() if (ROOT / path).exists() else ""
    pages = [(cited, anchor, found(cited, path)) for cited, anchor in CITED.findall(text)]
    absent = [cited for cited, _, page in pages if not page and cited not in ELSEWHERE]
    return absent + [
        f"{cited}#{anchor}" for cited, anchor, page in pages if anchor and not (page and anchor in headings(page))
    ]


def test_a_cited_page_is_in_the_repository_with_its_heading() -> None:
    assert {path: cited for path in CITING if (cited := missing(path))} == {}
