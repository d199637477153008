"""Pages by kind: each is in the site's navigation once, and what a recipe says to write is sound."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from lab import docs_site
from slinky_iac.commands.check import judge
from slinky_iac.commands.drift.compare import CHECKS
from slinky_iac.config.findings import Level
from slinky_iac.preflight.check_resources import Kind
from tests.stacks import FORMS, ROOT, merged, read_yaml, yaml_of
from tests.tree import tracked

NAV: list[Any] = tomllib.loads((ROOT / docs_site.CONFIG).read_text())["project"]["nav"]
BY_LINK = ("docs/adr/", "docs/reading-the-code.md")
"""Pages that others lead to, and one that is for who changes the code."""
RECIPES = [
    pytest.param(text, id=title)
    for title, text in re.findall(
        r"^## (.*?)$.*?^```yaml\n(.*?)^```$", (ROOT / "docs" / "recipes.md").read_text(), re.MULTILINE | re.DOTALL
    )
]
BASE = {
    "slinky-iac:cluster": {"name": "atlas", "maxNodeCount": 2048},
    "slinky-iac:keys": {"source": "imported"},
    "slinky-iac:controller": {"external": {"host": "slurmctld.example.org"}},
    "slinky-iac:accounting": {"external": {"host": "slurmdbd.example.org"}},
    "slinky-iac:nodesets": {"cpu": {"replicas": 1}},
}


def pages(entry: Any) -> Iterator[str]:
    """Pages below an entry of the navigation."""
    if isinstance(entry, str):
        yield entry
    else:
        for each in entry.values() if isinstance(entry, dict) else entry:
            yield from pages(each)


def test_every_page_is_in_the_navigation_once() -> None:
    """Add a new page to `nav` of docs/zensical.toml, under its kind."""
    have = {path.relative_to(ROOT).as_posix() for path in tracked() if path.suffix == ".md"}
    shown = {page for page in have if page.startswith("docs/") and not page.startswith(BY_LINK)}
    listed = Counter(pages(NAV))
    assert (shown - set(listed), set(listed) - have) == (set(), set())
    assert {page for page, times in listed.items() if times > 1} == set()


def test_the_index_leads_to_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link).resolve() for link in re.findall(r"\]\(([^)#]+\.md)", index.read_text())}
    assert {path for path in tracked() if path.suffix == ".md" and path.is_relative_to(index.parent)} - linked == {index}


@pytest.mark.parametrize("text", RECIPES)
def test_a_recipe_is_sound(text: str) -> None:
    whole = merged(BASE, read_yaml(text))
    _, found = judge(yaml_of({"config": whole}))
    assert [str(place.finding) for place in found if place.finding.level is Level.ERROR] == []


def test_there_are_recipes() -> None:
    assert len(RECIPES) > 5


@pytest.mark.parametrize("page", ["on-call.md", "ci.md"])
def test_each_finding_of_drift_has_its_row(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    rows = set(re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE))
    assert {*CHECKS, *get_args(Kind)} - rows == set()


def test_a_diagram_of_an_example_becomes_its_picture() -> None:
    page = (ROOT / "docs" / "forms.md").read_text()
    drawn: list[str] = []

    def draw(example: str) -> str:
        drawn.append(example)
        return "picture.svg"

    shown = docs_site.with_pictures(page, draw)
    assert drawn == [f"examples/Pulumi.{form}.yaml" for form in FORMS]
    assert "mermaid" not in shown
    assert shown.count("(picture.svg)") == len(FORMS)


def test_a_link_that_the_site_can_not_follow_leaves_its_words() -> None:
    files = frozenset({"docs/glossary.md", "docs/recipes.md"})
    text = "[b](recipes.md), [code](../slinky_iac/config), ![picture](images/none.png), [web](https://example.org)"
    shown = docs_site.without_dead_links(text, "docs/glossary.md", files)
    assert shown == "[b](recipes.md), code, ![picture](images/none.png), [web](https://example.org)"


def test_a_heading_with_a_chosen_name_has_the_anchor_that_github_gives_it() -> None:
    text = "## `nodesets.<name>.pod`\n\n## `keys`\n\n```sh\n# `a <b>`\n```\n"
    shown = docs_site.with_anchors(text)
    assert shown == text.replace("pod`\n", "pod` { #nodesetsnamepod }\n")


def test_the_front_page_has_one_button_before_its_picture() -> None:
    readme = (ROOT / docs_site.FRONT).read_text()
    shown = docs_site.with_button(readme)
    assert shown.replace(f"{docs_site.BUTTON}\n\n", "") == readme
    assert shown.index(docs_site.BUTTON) < shown.index("![") < shown.index("\n## ")


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("slurmctld", ["slurmctld"]),
        ("pulumi up", ["pulumi up"]),
        ("--out FILE", ['<span class="whole">--out</span> FILE']),
        ("a-b &lt;c&gt;", ['<span class="whole">a-b</span> <span class="whole">&lt;c&gt;</span>']),
        ("nodesetDefaults.ssh.sssdConfFrom", ["nodesetDefaults.", "ssh.", "sssdConfFrom"]),
        ("docker.io/library/nginx:1.28-alpine", ["docker.", "io/", "library/", "nginx:", "1.28-alpine"]),
    ],
)
def test_inline_code_breaks_between_words_and_long_words_between_names(code: str, shown: list[str]) -> None:
    if len(shown) > 1:
        shown = ["<wbr>".join(f'<span class="whole">{part}</span>' for part in shown)]
    assert docs_site.with_whole_words(f"<p><code>{code}</code></p>") == f"<p><code>{shown[0]}</code></p>"


def test_a_name_longer_than_a_line_may_break_and_blocks_stay_as_they_are() -> None:
    assert docs_site.with_whole_words(f"<code>{'f' * 40}</code>") == f'<code><span class="long">{"f" * 40}</span></code>'
    block = "<pre><span></span><code>a-b c-d\n</code></pre>"
    assert docs_site.with_whole_words(block) == block
